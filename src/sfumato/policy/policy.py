"""The nouns of a privacy policy, after the Layered Privacy Language: who may use which data for
what, and how coarse.

Reference: Gerl, Bennani, Kosch & Brunie 2018, *LPL, Towards a GDPR-Compliant Privacy Language*,
doi:10.1007/978-3-662-57932-9_2. No schema of the language is published; ours
is :func:`sfumato.policy.dialects.own_format.json_schema`.
"""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from sfumato.core import registry
from sfumato.core.data_files import read_data_file
from sfumato.core.fields import Document
from sfumato.errors import SfumatoError, did_you_mean
from sfumato.policy import VERBS

if TYPE_CHECKING:
    from sfumato.core.model import Model
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table
    from sfumato.policy.comply import Compliance
    from sfumato.policy.enforce import EnforcedRelease
    from sfumato.policy.people import Policies

# How documents of ours are read: nothing unknown, and no value in an error.
STRICT = {"extra": "forbid", "hide_input_in_errors": True}

# The purpose of rules that hold whatever data are used for.
ANY = "any"


class Group(StrEnum):
    """The privacy group of a datum: explicit identifier, quasi-identifier, sensitive, not
    sensitive.
    """

    EI = "EI"
    QID = "QID"
    SD = "SD"
    NSD = "NSD"


@dataclasses.dataclass(frozen=True)
class Anonymization:
    """How a datum is made coarser: the method, the levels it must and may have, and its hierarchy.

    ``method`` is one of :data:`METHOD_NAMES`; :func:`demand_of` says what it asks of the released
    column. ``hierarchy`` has one row per value, from the value (level 0) to its coarsest form; a
    person's own policy has one row, that of the person's value. ``minimum`` protects, ``maximum``
    bounds what may be lost.
    """

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    method: str = "Generalization"
    minimum: int | None = None
    maximum: int | None = None
    hierarchy: tuple[tuple[str, ...], ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class Datum:
    """One column as the policy sees it."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    name: str
    group: Group
    type: str = "other"
    required: bool = False
    categories: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    anonymization: Anonymization | None = None


@dataclasses.dataclass(frozen=True)
class PrivacyModel:
    """A promise as the policy names it: ``k-Anonymity`` with its attributes, on some of the
    data.
    """

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    name: str
    data: tuple[str, ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class Pseudonymization:
    """A way to replace identifiers, on some of the data. ``target`` names the column of the
    pseudonyms.
    """

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    name: str
    data: tuple[str, ...] = ()
    target: str = ""
    parameters: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class Entity:
    """A person, a legal entity or a public authority that has a part in the policy."""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    name: str
    classification: str = ""
    type: str = ""


@dataclasses.dataclass(frozen=True)
class Recipient:
    """Who may receive the data; a transfer to a third country needs an adequacy decision or
    safeguards.
    """

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    name: str
    classification: str = ""
    required: bool = False
    third_country: bool = False
    country: str = ""
    adequacy_decision: bool = False
    safeguards: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Retention:
    """How long data may be kept: without limit, until a date, or for a while after the purpose has
    ended.
    """

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    kind: Literal["indefinite", "after_purpose", "fixed_date"] = "indefinite"
    date: datetime.date | None = None
    amount: int | None = None
    unit: Literal["day", "month", "year"] = "day"


@dataclasses.dataclass(frozen=True)
class LegalBasis:
    """What makes the processing lawful: consent, contract, legal obligation …"""

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    name: str
    category: str = ""


@dataclasses.dataclass(frozen=True)
class Purpose:
    """What data are used for, and under which conditions.

    ``accepted`` is the person's answer; None where the document does not say, as in policies that
    list only what was accepted. ``any_data`` marks rules for tables in general, whose columns are
    not listed: they keep their own roles.
    """

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
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

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
    title: str
    text: str
    source: str
    as_of: datetime.date
    limit: str
    checks: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Policy:
    """A privacy policy: purposes, their hierarchy as (super-purpose, sub-purpose) pairs, and who
    answers for them.
    """

    __pydantic_config__: ClassVar[Mapping[str, object]] = STRICT
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
        """The purpose of a name, the nearest of its super-purposes, or the one for any purpose;
        None without any.
        """
        purposes = {p.name: p for p in self.purposes}
        for candidate in (name, *self.above(name), ANY):
            if candidate in purposes:
                return purposes[candidate]
        return None

    def above(self, purpose: str) -> Iterator[str]:
        """The super-purposes of a purpose, nearest first; ends where a circle closes."""
        parents = {sub: sup for sup, sub in self.hierarchy}
        visited = {purpose}
        while (purpose := parents.get(purpose, "")) and purpose not in visited:
            visited.add(purpose)
            yield purpose

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a policy in any dialect; what is wrong with it is raised at once. ``preset:NAME`` is
        one of ours.
        """
        policy: Policy = VERBS["load"](path)
        return policy

    def compile(
        self, dataset: Table, *, purpose: str, recipient: str | None = None, **options: Any
    ) -> Recipe:
        """The recipe that enforces this policy on a table, to read and to edit.

        The options are those of :func:`sfumato.policy.compile.compile_policies`.
        """
        return self._for_everybody().compile(
            dataset, purpose=purpose, recipient=recipient, **options
        )

    def enforce(
        self, dataset: Table, *, purpose: str, recipient: str | None = None, **options: Any
    ) -> EnforcedRelease:
        """A release under this policy with its compliance record;
        see :func:`sfumato.policy.enforce.enforce`.
        """
        return self._for_everybody().enforce(
            dataset, purpose=purpose, recipient=recipient, **options
        )

    def comply(
        self, folder: str | Path, *, purpose: str, recipient: str | None = None, **options: Any
    ) -> Compliance:
        """Whether a release keeps this policy; see :func:`sfumato.policy.comply.comply`."""
        return self._for_everybody().comply(folder, purpose=purpose, recipient=recipient, **options)

    def _for_everybody(self) -> Policies:
        policies: Policies = VERBS["policies"].one(self)
        return policies


# Privacy models as policies name them, and the models of ours they stand for.

GREEK = {"ℓ": "l", "α": "alpha", "β": "beta", "δ": "delta", "ε": "epsilon"}
DIFFERENTIAL = (
    "differentialprivacy",
    "epsilondifferentialprivacy",
    "dp",
    "epsilondeltadifferentialprivacy",
)
SHORT = {"b": "beta", "d": "delta", "a": "alpha"}


class UnknownPromise(ValueError):
    """A policy names a model or a parameter that we do not have; the message says which."""


def models_of(promise: PrivacyModel, sensitive: Sequence[str]) -> list[Model]:
    """Our models for one of a policy's; one per sensitive column where the model is about such.

    Data that the policy names narrow the sensitive columns. Quasi-identifiers it names do not
    narrow anything: the promise is kept on all of them, which keeps it on each part of them.

    >>> models_of(PrivacyModel("k-Anonymity", (), (("K_ANONYMITY_K", "3"),)), ())
    [KAnonymity(k=3)]
    """
    name, settled = _our_name(promise.name)
    cls = registry.family("models")[name]
    fields = dict(_field(cls, key, value) for key, value in promise.parameters)
    parameters = {**settled, **fields}
    try:
        if "sensitive" not in cls.__dataclass_fields__:
            return [registry.build("models", {name: parameters})]
        columns = [c for c in sensitive if c in promise.data] or list(sensitive)
        if not columns:
            raise UnknownPromise(
                f"{promise.name} protects sensitive data (SD), but the purpose has none"
            )
        return [
            registry.build("models", {name: {"sensitive": column, **parameters}})
            for column in columns
        ]
    except SfumatoError as error:
        raise UnknownPromise(f"{promise.name}: {error}") from None


def _our_name(policy_name: str) -> tuple[str, Document]:
    plain = policy_name.lower()
    for sign, letters in GREEK.items():
        plain = plain.replace(sign, letters)
    plain = re.sub(r"[^a-z]", "", plain)
    if plain in DIFFERENTIAL:
        raise UnknownPromise(
            f"{policy_name} is about answers to questions and cannot be reached by recoding a "
            "table; no other model can replace it"
        )
    models = registry.family("models")
    own_names: dict[str, tuple[str, Document]] = {
        name.replace("_", ""): (name, {}) for name in models
    }
    # plain name in policies → our name and the fields that the name itself settles
    names = {**own_names, **read_data_file(__package__, "model_names")}
    match: tuple[str, Document] | None = names.get(plain)
    if match is None:
        raise UnknownPromise(
            f"{policy_name!r} is not a known model.{did_you_mean(policy_name, models)}"
        )
    return match


def _field(cls: Any, key: str, value: str) -> tuple[str, Any]:
    """The field that a parameter fills: ``k``, ``K_ANONYMITY_K`` and ``ℓ`` are all understood."""
    fields = [name for name in cls.__dataclass_fields__ if name != "sensitive"]
    plain = key.strip().lower()
    for sign, letters in GREEK.items():
        plain = plain.replace(sign, letters)
    last = re.split(r"[_\s]", plain)[-1]
    for candidate in (plain, last, SHORT.get(last, last)):
        if candidate in fields:
            return candidate, re.sub(r"^(\d+),(\d+)$", r"\1.\2", value.strip())
    raise UnknownPromise(f"{cls.name} has no parameter {key!r}.{did_you_mean(key, fields)}")


def strongest(models: Sequence[Model]) -> tuple[list[Model], list[tuple[Model, Model]]]:
    """The models that no other implies, in their order, and the dropped ones with the one that
    stands for them.
    """
    strong: list[Model] = []
    dropped: list[tuple[Model, Model]] = []
    for model in models:
        stronger = next((k for k in strong if k.implies(model)), None)
        if stronger is not None:
            dropped.append((model, stronger))
            continue
        implied = [k for k in strong if model.implies(k)]
        dropped += [(k, model) for k in implied]
        strong = [k for k in strong if k not in implied] + [model]
    return strong, dropped


# Anonymization methods as policies name them, and what each asks of the released column.

GENERALIZATION, SUPPRESSION, DELETION = "Generalization", "Suppression", "Deletion"
# Plain name in policies → the method. Every other name is refused, since nothing could be done for
# it.
METHOD_NAMES = {
    "generalization": GENERALIZATION,
    "generalisation": GENERALIZATION,
    "suppression": SUPPRESSION,
    "deletion": DELETION,
}


class UnknownMethod(ValueError):
    """A policy names a method or an attribute of one that we cannot carry out; the message says
    which.
    """


def demand_of(method: Anonymization) -> Literal["nothing", "level", "withheld"]:
    """What a method asks of its column: no value at all, at least the minimum level, or nothing.

    Deletion asks for no value, whatever levels stand beside it. Suppression does too, unless it
    names a minimum level of 1 or
    more: then the hierarchy says what is left of a value, as with Generalization. Generalization
    asks for its minimum level.

    >>> (
    ...     demand_of(Anonymization("Deletion")),
    ...     demand_of(Anonymization(minimum=2)),
    ...     demand_of(Anonymization(minimum=0)),
    ... )
    ('withheld', 'level', 'nothing')
    >>> demand_of(Anonymization("Noise"))
    Traceback (most recent call last):
    ...
    sfumato.policy.policy.UnknownMethod: 'Noise' is not a supported method. There are:
    Generalization, Suppression, Deletion.
    """
    name = METHOD_NAMES.get(re.sub(r"[^a-z]", "", method.method.lower()))
    if name is None:
        near = did_you_mean(method.method, (GENERALIZATION, SUPPRESSION, DELETION))
        raise UnknownMethod(f"{method.method!r} is not a supported method.{near}")
    if method.parameters:
        keys = ", ".join(repr(key) for key, _ in method.parameters)
        raise UnknownMethod(f"{name} has no attribute {keys}; it has a minimum and a maximum level")
    if name == DELETION:
        return "withheld"
    if name == SUPPRESSION:
        if method.minimum:
            return "level"
        if method.minimum is None and method.maximum is None:
            return "withheld"
        raise UnknownMethod(
            "Suppression with a minimum level of 0 or none suppresses nothing; leave the levels "
            "out to withhold the whole value, or ask for a minimum level of 1 or more"
        )
    return "level" if method.minimum else "nothing"


# Pseudonymization methods as policies name them, from the strongest to the weakest.

RANDOM, KEYED, COUNTER, UNKEYED = "random table", "keyed hash", "counter", "unkeyed hash"
# Random tables say nothing about the value; keyed hashes nothing without the key; counters the
# order; unkeyed hashes of few values everything.
STRENGTH = (RANDOM, KEYED, COUNTER, UNKEYED)
WORDS = (
    (RANDOM, ("random", "table", "uuid", "mapping", "tokenization")),
    (KEYED, ("hmac", "keyed", "mac", "aes", "encryption", "pid")),
    (COUNTER, ("counter", "sequence", "serial", "number")),
    (UNKEYED, ("sha", "md5", "hash", "blake", "crc")),
)


def names_pseudonyms(name: str) -> bool:
    """Whether a method is one that makes pseudonyms, or just asks for some.

    >>> names_pseudonyms("HMAC"), names_pseudonyms("Pseudonymisation"), names_pseudonyms("Deletion")
    (True, True, False)
    """
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    return "pseudonym" in plain or any(word in plain for _, words in WORDS for word in words)


def strength_of(name: str) -> str:
    """The class of a method; one that is not known is held for the weakest.

    >>> strength_of("HMAC-SHA-256"), strength_of("SHA-1"), strength_of("Random table")
    ('keyed hash', 'unkeyed hash', 'random table')
    """
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    return next((kind for kind, words in WORDS if any(word in plain for word in words)), UNKEYED)


def is_unkeyed(name: str) -> bool:
    """Whether a method can be undone by whoever tries all values."""
    return strength_of(name) == UNKEYED


def instead_of_unkeyed(*, key: bool) -> str:
    """The method that takes the place of a hash without a key: one with the key, where there is
    one.

    >>> instead_of_unkeyed(key=True), instead_of_unkeyed(key=False)
    ('keyed', 'random_table')
    """
    return "keyed" if key else "random_table"


def told_of_unkeyed(subject: str, *, key: bool | None) -> str:
    """What is said about a hash without a key, by whoever meets it; ``key`` is None where it is not
    known whether there is one.

    >>> told_of_unkeyed("SHA-1", key=None)
    'SHA-1: a hash without a key can be undone by trying all values; random_table is used in its
    place, or keyed where a key is given'
    """
    if key is None:
        used = (
            f"{instead_of_unkeyed(key=False)} is used in its place, or"
            f" {instead_of_unkeyed(key=True)} where a key is given"
        )
    else:
        used = f"{instead_of_unkeyed(key=key)} is used in its place"
    return f"{subject}: a hash without a key can be undone by trying all values; {used}"
