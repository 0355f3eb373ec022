"""Random codes, which say nothing without the table that holds them."""

from __future__ import annotations

from sfumato.core.keys import derived
from sfumato.errors import ParameterError
from sfumato.steps.pseudonyms_by.asked import Asked
from sfumato.steps.pseudonyms_by.codes import BITS, Encoding, digests, written

ATTEMPTS = 100
FULLEST = 0.5
"""Share of all codes of a length that may be in use."""


def random_table(asked: Asked, encoding: Encoding, length: int) -> list[str]:
    """A code of its own for every identity, drawn anew where it is taken.

    The stream gives 256 secret bits, and a code is HMAC-SHA-256(secret, attempt ‖ identity): as random as the seed, and
    the same when the run is repeated. With a key the secret depends on it too, so that a short seed gives nothing away.
    """
    secret = asked.goal.stream(f"random table, {asked.domain}").bytes(32)
    if asked.key:
        secret = derived(asked.key, "random table", secret.hex())
    fresh, taken = asked.fresh, set(asked.known.values())
    if len(fresh) + len(taken) > FULLEST * 2.0 ** (BITS[encoding] * length):
        raise ParameterError(f"{len(fresh):,} identities do not fit codes of length {length}; raise length")
    codes: dict[str, str] = {}
    waiting = fresh
    for attempt in range(ATTEMPTS):
        drawn = written(digests(secret, [f"{attempt}{one}" for one in waiting]), encoding, length)
        left = []
        for identity, code in zip(waiting, drawn, strict=True):
            if code in taken:
                left.append(identity)
            else:
                taken.add(code)
                codes[identity] = code
        waiting = left
        if not waiting:
            return [codes[identity] for identity in fresh]
    raise ParameterError(f"no free code of length {length} was found for {len(waiting):,} identities; raise length")
