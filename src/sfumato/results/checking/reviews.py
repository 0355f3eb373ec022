"""The output checker's side: what is in a session, what is decided of it, and the folder of what
may leave.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from sfumato.core import environment
from sfumato.core.exchange import in_place
from sfumato.core.options import CommandOption
from sfumato.errors import InternalError, ReleaseRefused
from sfumato.release.documents import versions
from sfumato.release.sealing import seal_certificate
from sfumato.release.verify import verify
from sfumato.release.written_files import replace_file
from sfumato.results.checking.joint_check import unseen_differences
from sfumato.results.checking.log import OutputLog, ReviewedOutput
from sfumato.results.checking.seals import checked_seal, head_of_log, unsealed_decisions
from sfumato.results.checking.verdict import OutputRules
from sfumato.results.checking.verification import OUTPUTS, together_in_words

MOST_LINES = 40
MOST_SHOWN = 4000


def review(log: OutputLog) -> dict[str, Any]:
    """A session as its checker sees it, as plain data."""
    outputs = log.all_reviewed()
    states = [one.state for one in outputs]
    return {
        "folder": str(log.folder),
        "researcher": log.terms.researcher,
        "started": log.terms.started,
        "rules": OutputRules(**log.terms.rules).told(),
        "laxer": OutputRules(**log.terms.rules).laxer(),
        "with_records": log.terms.persons is not None,
        "log": head_of_log(log),
        "outputs": [one.to_dict() for one in outputs],
        "counts": {state: states.count(state) for state in sorted(set(states))},
        "together": [list(one) for one in told_together_unseen(log)],
        "strangers": log.strangers(),
        "settled": settled(log),
    }


def settled(log: OutputLog) -> bool:
    """Whether all is decided, nothing refused, and nothing approved that tells of few persons
    together with others without anybody having seen that.
    """
    outputs = log.all_reviewed()
    return (
        bool(outputs)
        and all(one.state == "approved" for one in outputs)
        and not told_together_unseen(log)
    )


def told_together_unseen(log: OutputLog) -> tuple[tuple[int, ...], ...]:
    """Outputs that are not refused and together tell of few persons, which none of them was said to
    when it was checked.
    """
    leaving = {one.logged.number for one in log.all_reviewed() if one.state != "refused"}
    return unseen_differences(log, leaving).outputs


def head_of(log: OutputLog, number: int, lines: int = MOST_LINES) -> str:
    """The first lines of an output, as text; what is no text is not shown."""
    try:
        text = log.content(number).decode("utf-8")
    except UnicodeDecodeError:
        return "(this file is no text)"
    text_lines = text.splitlines()
    more = f"\n… and {len(text_lines) - lines:,} more lines" if len(text_lines) > lines else ""
    return "\n".join(line[:MOST_SHOWN] for line in text_lines[:lines]) + more


def releasable(log: OutputLog, *, accept_passes: bool) -> Iterator[tuple[ReviewedOutput, str]]:
    """The outputs that may leave, and on whose word."""
    for one in log.all_reviewed():
        if one.state == "approved":
            yield one, "approved"
        elif accept_passes and one.state == "undecided" and one.logged.status == "pass":
            yield one, "passes"


def release_outputs(
    log: OutputLog,
    folder: Path,
    *,
    accept_passes: Annotated[
        bool, CommandOption("outputs that pass leave without a decision", ("--accept-passes",))
    ] = False,
    partly: Annotated[
        bool, CommandOption("leave behind what is not decided yet", ("--partly",))
    ] = False,
    sign: Annotated[
        Path | None, CommandOption("a private key to sign the certificate with")
    ] = None,
    seal: Annotated[
        Path | None,
        CommandOption(
            "where you keep the seal of the log; else it lies in the folder of the session"
        ),
    ] = None,
    key: Annotated[
        Path | None, CommandOption("the public key that the log must have been sealed with")
    ] = None,
) -> dict[str, Any]:
    """Copy what may leave into a new folder with a certificate, or nothing; returns the
    certificate.

    Released are approved outputs as they were when they were approved and, with ``accept_passes``,
    those that pass and nobody decided of. One that is undecided, changed since, or missing stops
    the release, unless ``partly``: then it stays behind, as refused ones always do. With the
    ``key`` that sealed the log, or a ``seal`` kept apart, only decisions that were sealed count: a
    line after them may be anybody's.
    """
    sealed = checked_seal(log, seal, key)
    if (key is not None or seal is not None) and (loose := unsealed_decisions(log, sealed)):
        raise ReleaseRefused(
            f"{loose:,} decisions were written after the log was sealed; whoever made them seals it"
            " again (sfumato outputs review --sign), or nothing leaves"
        )
    leaving = list(releasable(log, accept_passes=accept_passes))
    numbers = {one.logged.number for one, _ in leaving}
    waiting = [
        one.logged.number
        for one in log.all_reviewed()
        if one.logged.number not in numbers and one.state != "refused"
    ]
    if waiting and not partly:
        waiting_numbers = ", ".join(map(str, waiting[:20])) + (" …" if len(waiting) > 20 else "")
        raise ReleaseRefused(
            f"{len(waiting):,} of {len(log.outputs):,} outputs are not decided, changed or missing:"
            f" {waiting_numbers}; decide first, or leave them behind with --partly"
        )
    if not leaving:
        raise ReleaseRefused("nothing is approved, so there is nothing to release")
    if unseen := unseen_differences(log, numbers).outputs:
        raise ReleaseRefused(
            f"{together_in_words(log, unseen)}; refuse one of them, or add it again"
        )
    with in_place(folder, force=None) as target:
        entries = [_copied(log, one, word, target) for one, word in leaving]
        certificate = seal_certificate(target, _certificate(log, entries), sign)
        if verify(target).result == "false":
            raise InternalError(
                "the folder does not hold what its certificate says; nothing was written"
            )
    return certificate


def _copied(log: OutputLog, one: ReviewedOutput, word: str, target: Path) -> dict[str, Any]:
    """Copy an output, the very bytes that were decided of, and say so."""
    content = log.content(one.logged.number)
    digest = hashlib.sha256(content).hexdigest()
    expected = (
        one.decision.sha256
        if word == "approved" and one.decision is not None
        else one.logged.sha256
    )
    if digest != expected:
        raise ReleaseRefused(
            f"output {one.logged.number} was changed just now; nothing was written, look again"
        )
    replace_file(target / one.logged.file, content)
    decided = (
        {}
        if one.decision is None or word != "approved"
        else {"by": one.decision.by, "at": one.decision.at}
    )
    return {
        "number": one.logged.number,
        "title": one.logged.title,
        "file": one.logged.file,
        "sha256": digest,
        "bytes": len(content),
        "kind": one.logged.verdict["kind"],
        "checked": one.logged.status if one.as_checked else "changed after the check",
        "released": word,
        **decided,
    }


def _certificate(log: OutputLog, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """What anybody may know: files with digests, and the rules without what would help an
    intruder.
    """
    section = {
        "rules": OutputRules(**log.terms.rules).told(),
        "counts_persons_by": "row" if log.terms.unit is None else "unit",
        "released": entries,
        "log": head_of_log(log),
    }
    return {
        "shape": OUTPUTS,
        "created": environment.timestamp(),
        OUTPUTS: section,
        "versions": versions(),
    }
