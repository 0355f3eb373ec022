"""The clock, and the salts that are written down: what a release holds that neither data, recipe
nor seed decide.

Everything that writes a time or a salt into a document asks here, so that a test can fix both in
one place and compare whole releases. Randomness that protects somebody by being unknown (seeds,
keys, noise, nonces of ciphers) does not come from here: it cannot be fixed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import secrets
from collections.abc import Iterator

COMMITMENT_BYTES = 32
"""Salt of a commitment to a table: nobody can try tables until one of them fits."""


@dataclasses.dataclass
class _Environment:
    """What is fixed; None where the system decides."""

    moment: datetime.datetime | None = None
    salt: bytes | None = None


_environment = _Environment()


def now() -> datetime.datetime:
    """The time, in UTC."""
    return _environment.moment or datetime.datetime.now(datetime.UTC)


def timestamp() -> str:
    """The time, in UTC, to the second, as documents write it."""
    return now().isoformat(timespec="seconds")


def local_day() -> datetime.date:
    """The day it is where this machine stands."""
    return now().astimezone().date()


def fresh_salt(size: int = COMMITMENT_BYTES) -> str:
    """So many new random bytes, as hexadecimal text."""
    if _environment.salt is None:
        return secrets.token_hex(size)
    return (_environment.salt * size)[:size].hex()


@contextlib.contextmanager
def fixed(moment: datetime.datetime, salt: bytes) -> Iterator[None]:
    """Let the clock of the whole process stand still and every salt be this text: for tests that
    compare releases.

    A commitment whose salt others know protects nothing; so no command, recipe or variable of the
    system leads here.

    >>> with fixed(datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC), b"salt"):
    ...     timestamp(), fresh_salt(6)
    ('2024-05-01T00:00:00+00:00', '73616c747361')
    """
    # A copy: the one object is changed in place, for others hold it.
    before = dataclasses.replace(_environment)
    _environment.moment, _environment.salt = moment, salt
    try:
        yield
    finally:
        _environment.moment, _environment.salt = before.moment, before.salt
