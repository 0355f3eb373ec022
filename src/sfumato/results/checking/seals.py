"""Seals: how far a log went when the output checker saw it, signed or kept where the researcher
cannot write.

A log notices changed lines, and its head those that were cut off, but who can write the folder can
write all of it again. A seal is what they cannot make: the number of lines and the hash of the
last, with the owner's signature, or in a file of the checker's own. A log that was sealed may grow;
one that is not what was sealed, and more, is refused. Seals are kept in a journal of their own, and
the last one counts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from sfumato.core import environment
from sfumato.core.fields import Document
from sfumato.core.journal import Entry, Head, Journal, JournalKind
from sfumato.errors import ParameterError, UnreadableInput
from sfumato.release.signatures import signature_holds, signed
from sfumato.results.checking.log import OUTPUT_LOG, OutputLog

SEAL = "seal.jsonl"


@dataclasses.dataclass(frozen=True)
class Seal(Entry):
    """How far a log went: the number of its entries, the hash of the last, and what they are;
    signed, or not.
    """

    sealed: str
    entries: int
    head: str
    outputs: int
    decisions: int
    signature: Mapping[str, str] | None = None


SEALS = JournalKind("seal", (Seal,), OUTPUT_LOG.consequence, first=Seal)


def seal_file(log: OutputLog, file: Path | None) -> Path:
    """Where the seal of a session is kept: in a file of the checker's own, or in its folder."""
    return log.folder / SEAL if file is None else file


def read_seal(file: Path) -> Seal | None:
    """The last seal in a file, or None where there is none; refused when it is damaged."""
    if not file.exists():
        return None
    return Journal(file, SEALS).read().of_type(Seal)[-1]


def checked_seal(log: OutputLog, file: Path | None, key: Path | None) -> Seal | None:
    """The seal of a session, when its log is what was sealed, and more; refused when it is not, and
    where a key was given and nothing signed by it is there.
    """
    path = seal_file(log, file)
    seal = read_seal(path)
    if seal is None:
        # With a key, or a folder of its own that is gone, a missing seal is suspicious; otherwise
        # none was made.
        if key is not None or (file is not None and not file.parent.is_dir()):
            raise UnreadableInput(
                f"{path} is missing: the log of the session was not sealed, or its seal was removed"
            )
        return None
    plain = dataclasses.asdict(seal)
    if key is not None and not signature_holds(plain, key):
        raise UnreadableInput(f"{path} is not signed by the key given; {SEALS.consequence}")
    if key is None and seal.signature is not None and not signature_holds(plain):
        raise UnreadableInput(f"{path} was changed after it was signed; {SEALS.consequence}")
    # The log may have grown since, but must begin with what was sealed.
    if not log.journal.extends(Head(seal.entries, seal.head)):
        raise UnreadableInput(
            f"the log of {log.folder} is not the sealed one: lines were cut off, changed or "
            f"rewritten; {SEALS.consequence} until the original is restored"
        )
    return seal


def write_seal(log: OutputLog, file: Path | None, sign: Path | None) -> Seal:
    """Seal a log as it is now; a signed seal is not followed by one that is not.

    Decisions after the last seal that were not made here are somebody else's: they are decided
    again, or nothing is sealed.
    """
    path = seal_file(log, file)
    before = read_seal(path)
    # A seal vouches for what is before it, so nobody else's decisions may slip under it.
    if before is None:
        unsealed = []
    else:
        unsealed = _decided_elsewhere(log, before.entries)
    if unsealed:
        raise ParameterError(
            "decisions were written after the last seal: decide outputs "
            f"{', '.join(map(str, unsealed))} again, then seal"
        )
    if before is not None and before.signature is not None and sign is None:
        raise ParameterError(f"{path} is signed; give the key again (--sign) to seal later entries")
    seal = Seal(environment.timestamp(), **head_of_log(log))
    if sign is not None:
        seal = dataclasses.replace(
            seal, signature=signed(dataclasses.asdict(seal), sign)["signature"]
        )
    Journal(path, SEALS).add(seal)
    return seal


def _decided_elsewhere(log: OutputLog, start: int) -> list[int]:
    """Outputs whose last decision came after a seal, and from somebody else."""
    last_entry = {}
    for decision, entry in zip(log.decisions, log.decided_at, strict=True):
        # Later entries overwrite earlier ones: the last decision counts.
        last_entry[decision.number] = entry
    outputs = []
    for number, entry in sorted(last_entry.items()):
        if entry > start and entry not in log.own:
            outputs.append(number)
    return outputs


def head_of_log(log: OutputLog) -> Document:
    """How far a log goes."""
    return {
        "entries": log.journal.head.entries,
        "head": log.journal.head.hash,
        "outputs": len(log.outputs),
        "decisions": len(log.decisions),
    }


def unsealed_decisions(log: OutputLog, seal: Seal | None) -> int:
    """Decisions that were written after the seal: whose they are, nobody knows."""
    last = 0 if seal is None else seal.entries
    return sum(entry > last for entry in log.decided_at)


def what_is_noticed(seal: Seal | None, *, key: bool, apart: bool) -> str:
    """In a sentence, what a look at the log can notice and what it cannot."""
    if seal is None:
        return (
            "changed, moved, repeated and removed lines of the log are noticed, but not a "
            "rewritten folder: seal it with a key (--sign), or in a file of your own (--seal)"
        )
    message = f"the first {seal.entries:,} lines are the sealed ones"
    if key and apart:
        return (
            f"{message} with this key; later lines may be from anybody who can write to the folder"
        )
    if key:
        return (
            f"{message} with this key; later lines may be from anybody, and an older copy of the "
            "whole folder with its seal is not noticed: keep the seal elsewhere (--seal)"
        )
    if apart:
        return f"{message} in this file; later lines may be from anybody"
    return (
        f"{message}, according to a file beside them that anybody may have written: give the key "
        "that signed it (--key), or keep the seal elsewhere (--seal)"
    )
