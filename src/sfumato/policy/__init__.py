"""Privacy languages: a policy is read, checked, compiled into a recipe, and compared with a
release.
"""

from __future__ import annotations

from sfumato.core.parameters import Members

# What can be done with policies, and where that is. The nouns offer it and ask here, since whatever
# does it is built on them.
VERBS = Members(
    __name__,
    {
        "load": "dialects.dialect_detection:load_policy",
        "policies": "people:Policies",
        "compile": "compile:compile_policies",
        "enforce": "enforce:enforce",
        "enforce_all": "batch:enforce_all",
        "comply": "comply:comply",
        "use": "compile:Use",
    },
)
