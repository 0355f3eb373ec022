"""The nouns of a privacy policy, after the Layered Privacy Language: who may use which data for what, and how coarse.

Reference: Gerl, Bennani, Kosch & Brunie 2018, *LPL, Towards a GDPR-Compliant Privacy Language*,
doi:10.1007/978-3-662-57932-9_2. No schema of the language is published; ours is :func:`sfumato.policy.dialects.ours.json_schema`.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.core.recipe import Recipe
    from sfumato.policy.enforcing.comply import Compliance
    from sfumato.policy.enforcing.enforce import Enforced
    from sfumato.policy.enforcing.people import Policies

STRICT = {"extra": "forbid", "hide_input_in_errors": True}
"""How documents of ours are read: nothing unknown, and no value in an error."""

ANY = "any"
"""The purpose of rules that hold whatever data are used for."""


class Group(StrEnum):
    """The privacy group of a datum: explicit identifier, quasi-identifier, sensitive, not sensitive."""

    EI = "EI"
    QID = "QID"
    SD = "SD"
    NSD = "NSD"


@dataclasses.dataclass(frozen=True)
class Anonymization:
    """How a datum is made coarser: the levels it must and may have, and its hierarchy.

    ``hierarchy`` has one row per value, from the value (level 0) to its coarsest form; a person's own policy has one
    row, that of the person's value. ``minimum`` protects, ``maximum`` bounds what may be lost.
    """

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    method: str = "Generalization"
    minimum: int | None = None
    maximum: int | None = None
    hierarchy: tuple[tuple[str, ...], ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class Datum:
    """One column as the policy sees it."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    name: str
    group: Group
    type: str = "other"
    required: bool = False
    categories: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    anonymization: Anonymization | None = None


@dataclasses.dataclass(frozen=True)
class PrivacyModel:
    """A promise as the policy names it: ``k-Anonymity`` with its attributes, on some of the data."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    name: str
    data: tuple[str, ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class Pseudonymization:
    """A way to replace identifiers, on some of the data. ``target`` names the column of the pseudonyms."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    name: str
    data: tuple[str, ...] = ()
    target: str = ""
    parameters: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class Entity:
    """A person, a legal entity or a public authority that has a part in the policy."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    name: str
    classification: str = ""
    type: str = ""


@dataclasses.dataclass(frozen=True)
class Recipient:
    """Who may receive the data; a transfer to a third country needs an adequacy decision or safeguards."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    name: str
    classification: str = ""
    required: bool = False
    third_country: bool = False
    country: str = ""
    adequacy_decision: bool = False
    safeguards: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Retention:
    """How long data may be kept: without limit, until a date, or for a while after the purpose has ended."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    kind: Literal["indefinite", "after_purpose", "fixed_date"] = "indefinite"
    date: datetime.date | None = None
    amount: int | None = None
    unit: Literal["day", "month", "year"] = "day"


@dataclasses.dataclass(frozen=True)
class LegalBasis:
    """What makes the processing lawful: consent, contract, legal obligation …"""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    name: str
    category: str = ""


@dataclasses.dataclass(frozen=True)
class Purpose:
    """What data are used for, and under which conditions.

    ``accepted`` is the person's answer; None where the document does not say, as in policies that list only what was
    accepted. ``any_data`` marks rules for tables in general, whose columns are not listed: they keep their own roles.
    """

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    name: str
    required: bool = False
    opt_out: bool = False
    accepted: bool | None = None
    point_of_acceptance: str = ""
    data: tuple[Datum, ...] = ()
    any_data: bool = False
    recipients: tuple[Recipient, ...] = ()
    retention: Retention = dataclasses.field(default_factory=Retention)
    models: tuple[PrivacyModel, ...] = ()
    pseudonymizations: tuple[Pseudonymization, ...] = ()
    legal_bases: tuple[LegalBasis, ...] = ()
    automated_decisions: tuple[str, ...] = ()
    title: tuple[tuple[str, str], ...] = ()
    description: tuple[tuple[str, str], ...] = ()

    def datum(self, name: str) -> Datum | None:
        """The datum of a name, or None."""
        return next((d for d in self.data if d.name == name), None)


@dataclasses.dataclass(frozen=True)
class Rule:
    """Where a rule comes from: what it says, its source, its date, and what it does not cover."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    title: str
    text: str
    source: str
    as_of: datetime.date
    limit: str
    checks: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Policy:
    """A privacy policy: purposes, their hierarchy as (super-purpose, sub-purpose) pairs, and who answers for them."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = STRICT
    name: str
    version: str = ""
    language: str = ""
    uri: str = ""
    purposes: tuple[Purpose, ...] = ()
    hierarchy: tuple[tuple[str, str], ...] = ()
    controllers: tuple[Entity, ...] = ()
    officers: tuple[Entity, ...] = ()
    rights: tuple[str, ...] = ()
    complaint: Entity | None = None
    source: str = ""
    underlying: str = ""
    title: tuple[tuple[str, str], ...] = ()
    description: tuple[tuple[str, str], ...] = ()
    rule: Rule | None = None

    def purpose(self, name: str) -> Purpose | None:
        """The purpose of a name, the nearest of its super-purposes, or the one for any purpose; None without any."""
        known = {p.name: p for p in self.purposes}
        for candidate in (name, *self.above(name), ANY):
            if candidate in known:
                return known[candidate]
        return None

    def above(self, purpose: str) -> Iterator[str]:
        """The super-purposes of a purpose, nearest first; ends where a circle closes."""
        parents = {sub: sup for sup, sub in self.hierarchy}
        seen = {purpose}
        while (purpose := parents.get(purpose, "")) and purpose not in seen:
            seen.add(purpose)
            yield purpose

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a policy in any dialect; what is wrong with it is raised at once. ``preset:NAME`` is one of ours."""
        from sfumato.policy.dialects.known import load_policy

        return load_policy(path)

    def compile(self, dataset: Dataset, *, purpose: str, recipient: str | None = None, **options: Any) -> Recipe:
        """The recipe that enforces this policy on a table, to read and to edit.

        The options are those of :func:`sfumato.policy.enforcing.compile.compile_policies`.
        """
        return self._for_everybody().compile(dataset, purpose=purpose, recipient=recipient, **options)

    def enforce(self, dataset: Dataset, *, purpose: str, recipient: str | None = None, **options: Any) -> Enforced:
        """A release under this policy with its compliance record; see :func:`sfumato.policy.enforcing.enforce.enforce`."""
        return self._for_everybody().enforce(dataset, purpose=purpose, recipient=recipient, **options)

    def comply(self, folder: str | Path, *, purpose: str, recipient: str | None = None, **options: Any) -> Compliance:
        """Whether a release keeps this policy; see :func:`sfumato.policy.enforcing.comply.comply`."""
        return self._for_everybody().comply(folder, purpose=purpose, recipient=recipient, **options)

    def _for_everybody(self) -> Policies:
        from sfumato.policy.enforcing.people import Policies

        return Policies.one(self)
