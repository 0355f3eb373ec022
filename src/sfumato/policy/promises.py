"""Privacy models as policies name them, and the models of ours they stand for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfumato import registry
from sfumato.errors import SfumatoError, did_you_mean
from sfumato.policy.policy import PrivacyModel

if TYPE_CHECKING:
    from sfumato.core.model import Model

# plain name in policies → our name and the fields that the name itself settles
NAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "kanonymity": ("k_anonymity", {}),
    "ldiversity": ("l_diversity", {}),
    "distinctldiversity": ("l_diversity", {"kind": "distinct"}),
    "entropyldiversity": ("l_diversity", {"kind": "entropy"}),
    "recursiveldiversity": ("l_diversity", {"kind": "recursive"}),
    "recursivecldiversity": ("l_diversity", {"kind": "recursive"}),
    "tcloseness": ("t_closeness", {}),
    "betalikeness": ("beta_likeness", {}),
    "basicbetalikeness": ("beta_likeness", {"kind": "basic"}),
    "enhancedbetalikeness": ("beta_likeness", {"kind": "enhanced"}),
    "deltadisclosure": ("delta_disclosure", {}),
    "deltadisclosureprivacy": ("delta_disclosure", {}),
    "psensitivity": ("p_sensitive", {}),
    "psensitivekanonymity": ("p_sensitive", {}),
    "alphakanonymity": ("alpha_k_anonymity", {}),
}
GREEK = {"ℓ": "l", "α": "alpha", "β": "beta", "δ": "delta", "ε": "epsilon"}
DIFFERENTIAL = ("differentialprivacy", "epsilondifferentialprivacy", "dp", "epsilondeltadifferentialprivacy")
SHORT = {"b": "beta", "d": "delta", "a": "alpha"}


class UnknownPromise(ValueError):
    """A policy names a model or a parameter that we do not have; the message says which."""


def models_of(promise: PrivacyModel, sensitive: Sequence[str]) -> list[Model]:
    """Our models for one of a policy's; one per sensitive column where the model is about such.

    Data that the policy names narrow the sensitive columns. Quasi-identifiers it names do not narrow anything: the
    promise is kept on all of them, which keeps it on each part of them.

    >>> models_of(PrivacyModel("k-Anonymity", (), (("K_ANONYMITY_K", "3"),)), ())
    [KAnonymity(k=3)]
    """
    name, settled = _our_name(promise.name)
    cls = registry.family("models")[name]
    fields = dict(_field(cls, key, value) for key, value in promise.parameters)
    given = {**settled, **fields}
    try:
        if "sensitive" not in cls.__dataclass_fields__:  # type: ignore[attr-defined]
            return [registry.build("models", {name: given})]
        columns = [c for c in sensitive if c in promise.data] or list(sensitive)
        if not columns:
            raise UnknownPromise(f"{promise.name} protects sensitive data (SD), but the purpose has none")
        return [registry.build("models", {name: {"sensitive": column, **given}}) for column in columns]
    except SfumatoError as error:
        raise UnknownPromise(f"{promise.name}: {error}") from None


def _our_name(said: str) -> tuple[str, dict[str, Any]]:
    plain = said.lower()
    for sign, letters in GREEK.items():
        plain = plain.replace(sign, letters)
    plain = re.sub(r"[^a-z]", "", plain)
    if plain in DIFFERENTIAL:
        raise UnknownPromise(
            f"{said} answers questions and is not kept by recoding a table; no other model can stand for it"
        )
    known = registry.family("models")
    ours: dict[str, tuple[str, dict[str, Any]]] = {name.replace("_", ""): (name, {}) for name in known}
    found: tuple[str, dict[str, Any]] | None = NAMES.get(plain) or ours.get(plain)
    if found is None:
        raise UnknownPromise(f"{said!r} is not a model we know.{did_you_mean(said, known)}")
    return found


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
    """The models that no other implies, in their order, and the dropped ones with the one that stands for them."""
    kept: list[Model] = []
    dropped: list[tuple[Model, Model]] = []
    for model in models:
        stronger = next((k for k in kept if k.implies(model)), None)
        if stronger is not None:
            dropped.append((model, stronger))
            continue
        implied = [k for k in kept if model.implies(k)]
        dropped += [(k, model) for k in implied]
        kept = [k for k in kept if k not in implied] + [model]
    return kept, dropped


# Pseudonymization methods as policies name them, from the strongest to the weakest.

RANDOM, KEYED, COUNTER, UNKEYED = "random table", "keyed hash", "counter", "unkeyed hash"
STRENGTH = (RANDOM, KEYED, COUNTER, UNKEYED)
"""Random tables say nothing about the value; keyed hashes nothing without the key; counters the order; unkeyed
hashes of few values everything."""
WORDS = (
    (RANDOM, ("random", "table", "uuid", "mapping", "tokenization")),
    (KEYED, ("hmac", "keyed", "mac", "aes", "encryption", "pid")),
    (COUNTER, ("counter", "sequence", "serial", "number")),
    (UNKEYED, ("sha", "md5", "hash", "blake", "crc")),
)


def strength_of(name: str) -> str:
    """The class of a method; one that is not known is held for the weakest.

    >>> strength_of("HMAC-SHA-256"), strength_of("SHA-1"), strength_of("Random table")
    ('keyed hash', 'unkeyed hash', 'random table')
    """
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    return next((kind for kind, words in WORDS if any(word in plain for word in words)), UNKEYED)


def unkeyed(name: str) -> bool:
    """Whether a method can be undone by whoever tries all values."""
    return strength_of(name) == UNKEYED


def instead_of_unkeyed(*, key: bool) -> str:
    """The method that takes the place of a hash without a key: one with the key, where there is one.

    >>> instead_of_unkeyed(key=True), instead_of_unkeyed(key=False)
    ('keyed', 'random_table')
    """
    return "keyed" if key else "random_table"


def told_of_unkeyed(who: str, *, key: bool | None) -> str:
    """What is said about a hash without a key, by whoever meets it; ``key`` is None where it is not known whether there is one.

    >>> told_of_unkeyed("SHA-1", key=None)
    'SHA-1: a hash without a key can be undone by trying all values; random_table is used in its place, or keyed where a key is given'
    """
    if key is None:
        used = f"{instead_of_unkeyed(key=False)} is used in its place, or {instead_of_unkeyed(key=True)} where a key is given"
    else:
        used = f"{instead_of_unkeyed(key=key)} is used in its place"
    return f"{who}: a hash without a key can be undone by trying all values; {used}"
