"""Rules in common use, as dated policies: what they say, where it stands, and what they do not cover.

A preset is a number and its source. Whether a release is lawful is nobody's to compute: what can be said of it is that it meets the
numeric part of a rule as of a date.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from sfumato.errors import ParameterError, did_you_mean

if TYPE_CHECKING:
    from sfumato.policy.policy import Policy


@cache
def names() -> tuple[str, ...]:
    """The names of all presets."""
    files = resources.files(__name__).iterdir()
    return tuple(sorted(f.name.removesuffix(".json") for f in files if f.name.endswith(".json")))


@cache
def preset(name: str) -> Policy:
    """A preset by its name.

    >>> rule = preset("cms_minimum_cell").rule
    >>> rule.title, rule.as_of.year
    ('the CMS minimum cell size', 2020)
    """
    from sfumato.policy.dialects.known import parse_policy

    if name not in names():
        raise ParameterError(f"there is no preset {name!r}.{did_you_mean(name, names())}")
    policy, findings = parse_policy((resources.files(__name__) / f"{name}.json").read_text(encoding="utf-8"), name=name)
    findings.raise_errors()
    return policy
