"""From a step's settings to pseudonyms: the one place that knows all methods."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from sfumato.core.encoding import SEPARATOR
from sfumato.core.keys import derived, digests
from sfumato.errors import ParameterError, require
from sfumato.methods.steps.pseudonyms.format_preserving import (
    BITS,
    Encoding,
    PseudonymRequest,
    encode_digests,
    format_preserving,
    refuse_shared,
)
from sfumato.methods.steps.pseudonyms.vault import parts_of_identity

if TYPE_CHECKING:
    from sfumato.methods.steps.pseudonyms.pseudonyms import Pseudonymize


Fake = Literal[
    "name",
    "first_name",
    "last_name",
    "user_name",
    "email",
    "phone_number",
    "street_address",
    "city",
    "company",
]
ATTEMPTS = 200
SAFE = {"email": "safe_email"}  # at domains that are reserved: nobody gets mail
TABLE_ATTEMPTS = 100
FULLEST = 0.5
"""Share of all codes of a length that may be in use."""
Algorithm = Literal["sha256", "sha1", "md5"]
LENGTHS: dict[Algorithm, int] = {"sha256": 64, "sha1": 40, "md5": 32}
WARNING = (
    "{algorithm} without a key gives no protection: anyone with a list of names or numbers hashes "
    "the list and compares (billions of guesses a second), and recognises everyone in it. Use "
    "'method: keyed', or drop the column"
)
Method = Literal["keyed", "counter", "random_table", "format_preserving", "fake", "unkeyed_hash"]
KEYED = frozenset({"keyed", "format_preserving", "fake"})
CODED = frozenset({"keyed", "random_table"})
LENGTH = 16


# Numbers in random order.


def counter_codes(request: PseudonymRequest) -> list[str]:
    """The next numbers that no one has yet, given out in random order."""
    first = 1 + max(map(int, request.known.values()), default=0)
    order = request.goal.stream(f"numbers, {request.domain}").permutation(len(request.fresh))
    return [str(first + offset) for offset in order.tolist()]


# Names, addresses and numbers that look real and are nobody's on purpose.


def fake_values(request: PseudonymRequest, kind: Fake, locale: str, *, one_each: bool) -> list[str]:
    """A fake that depends on key, domain and identity only: HMAC-SHA-256 of the identity is the
    seed of the generator.

    Different people may get one fake, as different people have one name. ``one_each`` draws again
    until each has one of their own; then who is in the table matters too, so a vault must remember
    the outcome.
    """
    make = _generator(kind, locale)
    secret = derived(request.key, f"fake {kind} {locale}", request.domain)
    if not one_each:
        return [make(row) for row in digests(secret, request.fresh)]
    used_codes = set(request.known.values())
    codes = []
    for identity in request.fresh:
        tries = (
            make(digests(secret, [f"{n}{identity}" if n else identity])[0]) for n in range(ATTEMPTS)
        )
        code = next((candidate for candidate in tries if candidate not in used_codes), None)
        if code is None:
            raise ParameterError(
                f"kind {kind} has too few fakes for {len(request.identities):,} people; choose "
                "another kind"
            )
        used_codes.add(code)
        codes.append(code)
    return codes


def _generator(kind: Fake, locale: str) -> Callable[[Any], str]:
    faker = require("faker", extra="fake", to="make realistic fakes")
    try:
        source = faker.Faker(locale)
    except (AttributeError, ValueError):
        raise ParameterError(
            "this locale is not known to faker; use one like en_US or de_DE"
        ) from None

    def make(digest: Any) -> str:
        source.seed_instance(int.from_bytes(digest.tobytes()[:16], "big"))
        return " ".join(str(getattr(source, SAFE.get(kind, kind))()).split())

    return make


# Pseudonyms from a key: HMAC-SHA-256.


def keyed_codes(request: PseudonymRequest, encoding: Encoding, length: int) -> list[str]:
    """The first characters of HMAC-SHA-256(derived key, identity), with a check that no two are
    equal.
    """
    digests_of = digests(derived(request.key, "pseudonym", request.domain), request.fresh)
    codes = encode_digests(digests_of, encoding, length)
    refuse_shared(codes, request.known, f"raise length above {length}")
    return codes


# Random codes, which say nothing without the table that holds them.


def random_codes(request: PseudonymRequest, encoding: Encoding, length: int) -> list[str]:
    """A code of its own for every identity, redrawn where it is taken.

    The stream gives 256 secret bits, and a code is HMAC-SHA-256(secret, attempt ‖ identity): as
    random as the seed, and the same when the run is repeated. With a key the secret depends on it
    too, so that a short seed gives nothing away.
    """
    secret = request.goal.stream(f"random table, {request.domain}").bytes(32)
    if request.key:
        secret = derived(request.key, "random table", secret.hex())
    fresh = request.fresh
    used_codes = set(request.known.values())
    if len(fresh) + len(used_codes) > FULLEST * 2.0 ** (BITS[encoding] * length):
        raise ParameterError(
            f"{len(fresh):,} identities do not fit into codes of length {length}; raise length"
        )
    codes: dict[str, str] = {}
    waiting = fresh
    for attempt in range(TABLE_ATTEMPTS):
        candidates = encode_digests(
            digests(secret, [f"{attempt}{unassigned}" for unassigned in waiting]), encoding, length
        )
        colliding = []
        for identity, code in zip(waiting, candidates, strict=True):
            if code in used_codes:
                colliding.append(identity)
            else:
                used_codes.add(code)
                codes[identity] = code
        waiting = colliding
        if not waiting:
            return [codes[identity] for identity in fresh]
    raise ParameterError(
        f"no free code of length {length} was found for {len(waiting):,} identities; raise length"
    )


# Hashes without a key: what others call pseudonyms, and what a list of names undoes.


def unkeyed_hash(values: Sequence[str], algorithm: Algorithm) -> tuple[list[str], bool]:
    """The hexadecimal hash of every value, and whether the values were hashes of that length
    already.

    Hashes that came with the table are kept as they are. (Two names of one hash would need a
    collision that someone prepared; the step checks for it.)
    """
    form = re.compile(rf"[0-9a-fA-F]{{{LENGTHS[algorithm]}}}")
    if values and all(form.fullmatch(value) for value in values):
        return list(values), True
    return [
        hashlib.new(algorithm, value.encode(), usedforsecurity=False).hexdigest()
        for value in values
    ], False


@dataclasses.dataclass(frozen=True, repr=False)
class FreshPseudonyms:
    """Pseudonyms of the fresh identities, in their order, and what whoever runs the recipe must
    know of them.
    """

    codes: Sequence[str]
    warnings: tuple[str, ...] = ()


def make_pseudonyms(step: Pseudonymize, request: PseudonymRequest) -> FreshPseudonyms:
    """Pseudonyms as a step asks for them."""
    length = step.length or LENGTH
    encoding = step.encoding or "base32"
    if step.method == "keyed":
        return FreshPseudonyms(keyed_codes(request, encoding, length))
    if step.method == "random_table":
        return FreshPseudonyms(random_codes(request, encoding, length))
    if step.method == "counter":
        return FreshPseudonyms(counter_codes(request))
    if step.method == "format_preserving":
        values = _values(request)
        codes = format_preserving(values, request.key, request.domain)
        refuse_shared(
            codes, request.known, "the vault was created with another key; use another domain"
        )
        unchanged = sum(code == value for code, value in zip(codes, values, strict=True))
        warning = (
            f"{unchanged:,} values equal their pseudonyms: forms with few digits and letters have "
            "few values to choose from"
        )
        return FreshPseudonyms(codes, (warning,) if unchanged else ())
    if step.method == "fake":
        return _make_fakes(step, request)
    return _make_hashes(step, request)


def by_value(step: Pseudonymize) -> bool:
    """Whether a pseudonym follows from the value and the key alone, whoever else is in the
    table.
    """
    return step.method in KEYED and step.vault is None


def _values(request: PseudonymRequest) -> list[str]:
    """The values themselves, of identities that are one column's; combined ones as they are
    hashed.
    """
    return [text[1:] if SEPARATOR not in text else _value(text) for text in request.fresh]


def _value(text: str) -> str:
    parts = parts_of_identity(text)
    if len(parts) > 1 or parts[0] is None:
        return text
    return parts[0]


def _make_fakes(step: Pseudonymize, request: PseudonymRequest) -> FreshPseudonyms:
    codes = fake_values(
        request, step.kind or "name", step.locale or "en_US", one_each=step.vault is not None
    )
    shared = len(codes) - len(set(codes))
    real = len(set(codes) & set(_values(request)))
    warnings = []
    if shared:
        warnings.append(
            f"{shared:,} people share a fake with another person; a vault gives everyone a fake of "
            "their own"
        )
    if real:
        warnings.append(
            f"{real:,} fakes are also true values of the table, which belong to other "
            "people by chance"
        )
    return FreshPseudonyms(codes, tuple(warnings))


def _make_hashes(step: Pseudonymize, request: PseudonymRequest) -> FreshPseudonyms:
    algorithm = step.algorithm or "sha256"
    codes, came_so = unkeyed_hash(_values(request), algorithm)
    refuse_shared(codes, {}, "use 'method: keyed'")
    warning = WARNING.format(algorithm=algorithm)
    return FreshPseudonyms(
        codes,
        (f"the column contains hashes and is left unchanged; {warning}" if came_so else warning,),
    )
