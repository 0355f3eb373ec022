"""Privacy languages, one a file: how each is recognised, read and written. A new one is added here
and nowhere else, or by the entry point ``sfumato.policy_languages`` of another package.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

from sfumato.core.parameters import ExtensibleMembers
from sfumato.errors import InternalError
from sfumato.policy.documents import ROOT, Document, Findings, TreeView, read_json

if TYPE_CHECKING:
    from sfumato.policy.dialects.special import Concept
    from sfumato.policy.dialects.usages import Usage
    from sfumato.policy.policy import Policy


@dataclasses.dataclass(frozen=True)
class PermittedUses:
    """What a policy permits: a concept, or uses. ``parents`` and ``apart`` are the classes it adds
    to the vocabulary.
    """

    document: Concept | tuple[Usage, ...]
    parents: Mapping[str, Iterable[str]] = dataclasses.field(default_factory=dict)
    apart: Iterable[Iterable[str]] = ()


class Dialect:
    """What a privacy language says about itself. It tells ``policy`` where it prescribes,
    ``permission`` where it permits.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    prescribes: ClassVar[bool] = True
    """Whether a policy says how columns are treated, so that a recipe can be compiled of it."""
    permits: ClassVar[bool] = False
    """Whether a policy says what may be done with data, so that a release is compared with it as a
    use.
    """
    writable: ClassVar[bool] = False
    """Whether we write it."""
    openings: ClassVar[tuple[str, ...]] = ()
    """How a text starts that is in this language and no JSON."""

    def speaks(self, tree: TreeView) -> bool:
        """Whether the tree of a JSON document is in this language."""
        return False

    def document(self, text: str, name: str, findings: Findings) -> Document:
        """The tree of a text in this language."""
        return read_json(text, name, findings)

    def policy(self, document: Document, findings: Findings) -> Policy:
        """How columns are treated."""
        problem = f"{self.title} policies say what is permitted, not how columns are treated"
        findings.fail(
            "not_a_column_policy", ROOT, f"{problem}; use them with comply, not with compile"
        )

    def permission(self, document: Document, findings: Findings) -> PermittedUses:
        """What may be done with data."""
        problem = f"a policy in {self.name} prescribes columns"
        findings.fail(
            "not_a_usage_policy", ROOT, f"{problem}; compile it, or give it to comply as it is"
        )

    def source_path(self, path: str) -> str:
        """Where a part of our own form stands in a document of this language."""
        return path

    def text(self, policy: Policy) -> str:
        """A policy in this language."""
        raise InternalError(f"{self.name} is not written")


def _is_dialect(value: object) -> bool:
    return (
        isinstance(value, type)
        and issubclass(value, Dialect)
        and isinstance(getattr(value, "name", None), str)
    )


# The languages in the order they are asked whether a document is theirs: one with ``@context`` is
# linked data even where it has a ``purposeList``. Those of plug-ins are asked last.
ALL = ExtensibleMembers(
    __name__,
    {
        "ours": "own_format:Ours",
        "dpv": "dpv:Dpv",
        "odrl": "dpv:Odrl",
        "lpl-a": "lpl:LplA",
        "lpl-b": "lpl:LplB",
        "lpl-xml": "lpl_xml:LplXml",
        "special": "special:Special",
        "special-functional": "special:SpecialFunctional",
    },
    kind="policy_languages",
    noun="policy language",
    belongs=_is_dialect,
)
