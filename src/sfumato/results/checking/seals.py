"""Seals: how far a log went when the output checker saw it, signed or kept where the researcher cannot write.

A log notices changed lines, and its head those that were cut off, but who can write the folder can write all of it anew. A seal is what they cannot make: the number of
lines and the hash of the last, with the owner's signature, or in a file of the checker's own. A log that was sealed may grow; one that is not what was sealed, and more, is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.core import environment
from sfumato.core.files import MEGABYTE, read_plain, write_whole
from sfumato.core.json_text import is_spelled_once, loads_once
from sfumato.errors import ParameterError, UnreadableInput
from sfumato.release.certificates import signature_holds, signed
from sfumato.results.checking.log import OutputLog, extends

SEAL = "seal.json"
SEAL_VERSION = 1


def place_of(log: OutputLog, file: Path | None) -> Path:
    """Where the seal of a session is kept: in a file of the checker's own, or in its folder."""
    return log.folder / SEAL if file is None else file


def read_seal(file: Path) -> dict[str, Any] | None:
    """A seal, or None where there is none; refused when it is damaged."""
    if not file.exists():
        return None
    try:
        data = read_plain(file, most=MEGABYTE, what="a seal")
        found = loads_once(data)
        sound = found["sfumato_outputs_seal"] == SEAL_VERSION and type(found["entries"]) is int
        sound = sound and is_spelled_once(data, found)
    except (ValueError, KeyError, TypeError, RecursionError):
        sound = False
    if not sound:
        raise UnreadableInput(f"{file} is no seal of a session of outputs, or was damaged")
    return dict(found)


def checked_seal(log: OutputLog, file: Path | None, key: Path | None) -> dict[str, Any] | None:
    """The seal of a session, when its log is what was sealed, and more; refused when it is not, and where a key was given and nothing signed by it is there."""
    place = place_of(log, file)
    seal = read_seal(place)
    if seal is None:
        if key is not None or (file is not None and not file.parent.is_dir()):
            raise UnreadableInput(
                f"{place} is not there: the log of the session was not sealed, or its seal was taken away"
            )
        return None
    if key is not None and not signature_holds(seal, key):
        raise UnreadableInput(f"{place} is not signed by the key given; nothing is decided or released")
    if key is None and "signature" in seal and not signature_holds(seal):
        raise UnreadableInput(f"{place} was changed after it was signed; nothing is decided or released")
    if not extends(log.hashes, seal):
        raise UnreadableInput(
            f"the log of {log.folder} is not the one that was sealed: lines were cut off, changed or written anew; nothing is decided or released until the true one is back"
        )
    return seal


def write_seal(log: OutputLog, file: Path | None, sign: Path | None) -> dict[str, Any]:
    """Seal a log as it is now; a signed seal is not replaced by one that is not.

    Decisions after the last seal that were not made here are somebody else's: they are decided anew, or nothing is sealed.
    """
    place = place_of(log, file)
    before = read_seal(place)
    if before is not None and (loose := _not_ours(log, int(before["entries"]))):
        named = ", ".join(map(str, loose))
        raise ParameterError(f"decisions were written after the last seal: decide again of outputs {named}, then seal")
    if before is not None and "signature" in before and sign is None:
        raise ParameterError(f"{place} is signed; give the key again (--sign) to seal what came after it")
    seal: dict[str, Any] = {
        "sfumato_outputs_seal": SEAL_VERSION,
        "sealed": environment.timestamp(),
        **head_of_log(log),
    }
    if sign is not None:
        seal = signed(seal, sign)
    write_whole(place, (json.dumps(seal, indent=2) + "\n").encode())
    return seal


def _not_ours(log: OutputLog, start: int) -> list[int]:
    """Outputs whose last decision came after a seal, and from somebody else."""
    last = {one.number: place for one, place in zip(log.decisions, log.decided_at, strict=True)}
    return sorted(number for number, place in last.items() if place > start and place not in log.own)


def head_of_log(log: OutputLog) -> dict[str, Any]:
    """How far a log goes."""
    return {
        "entries": len(log.hashes),
        "head": log.hashes[-1],
        "outputs": len(log.outputs),
        "decisions": len(log.decisions),
    }


def unsealed_decisions(log: OutputLog, seal: Mapping[str, Any] | None) -> int:
    """Decisions that were written after the seal: whose they are, nobody knows."""
    last = 0 if seal is None else int(seal["entries"])
    return sum(place > last for place in log.decided_at)


def what_is_noticed(seal: Mapping[str, Any] | None, *, key: bool, apart: bool) -> str:
    """In a sentence, what a look at the log can notice and what it cannot."""
    if seal is None:
        return (
            "changed, moved, repeated and cut off lines of the log are noticed; that somebody wrote the whole folder anew is not: "
            "seal it with a key (--sign), or in a file of your own (--seal)"
        )
    told = f"the first {seal['entries']:,} lines are those that were sealed"
    if key and apart:
        return f"{told} with this key; later ones may have been written by anybody who can write the folder"
    if key:
        return f"{told} with this key; later ones may be anybody's, and an older copy of the whole folder with its seal is not noticed: keep the seal apart (--seal)"
    if apart:
        return f"{told} in this file; later ones may be anybody's"
    return f"{told}, as a file says that lies beside them and may be anybody's: give the key that signed it (--key), or keep the seal apart (--seal)"
