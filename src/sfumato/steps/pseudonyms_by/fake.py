"""Names, addresses and numbers that look real and are nobody's on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from sfumato.core.extras import require
from sfumato.core.keys import derived
from sfumato.errors import ParameterError
from sfumato.steps.pseudonyms_by.asked import Asked
from sfumato.steps.pseudonyms_by.codes import digests

Fake = Literal[
    "name", "first_name", "last_name", "user_name", "email", "phone_number", "street_address", "city", "company"
]
ATTEMPTS = 200
SAFE = {"email": "safe_email"}  # at domains that are reserved: nobody gets mail


def fake(asked: Asked, kind: Fake, locale: str, *, one_each: bool) -> list[str]:
    """A fake that depends on key, domain and identity only: HMAC-SHA-256 of the identity is the seed of the generator.

    Different people may get one fake, as different people have one name. ``one_each`` draws again until each has one
    of their own; then who is in the table matters too, so a vault must remember the outcome.
    """
    make = _generator(kind, locale)
    secret = derived(asked.key, f"fake {kind} {locale}", asked.domain)
    if not one_each:
        return [make(row) for row in digests(secret, asked.fresh)]
    taken, codes = set(asked.known.values()), []
    for identity in asked.fresh:
        tries = (make(digests(secret, [f"{n}{identity}" if n else identity])[0]) for n in range(ATTEMPTS))
        code = next((one for one in tries if one not in taken), None)
        if code is None:
            raise ParameterError(
                f"there are not enough fakes of kind {kind} for {len(asked.identities):,} people; choose another kind"
            )
        taken.add(code)
        codes.append(code)
    return codes


def _generator(kind: Fake, locale: str) -> Callable[[Any], str]:
    faker = require("faker", extra="fake", to="make realistic fakes")
    try:
        source = faker.Faker(locale)
    except (AttributeError, ValueError):
        raise ParameterError("this locale is not known to faker; use one like en_US or de_DE") from None

    def make(digest: Any) -> str:
        source.seed_instance(int.from_bytes(digest.tobytes()[:16], "big"))
        return " ".join(str(getattr(source, SAFE.get(kind, kind))()).split())

    return make
