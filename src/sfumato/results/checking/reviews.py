"""The output checker's side: what is in a session, what is decided of it, and the folder of what
may leave.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from sfumato.core import environment
from sfumato.core.exchange import in_place
from sfumato.core.fields import Document
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
"""Lines of an output that a reviewer is shown."""
LINE_LENGTH = 4000
"""Characters of a line that are shown."""


def review(log: OutputLog) -> Document:
    """A session as its checker sees it, as plain data."""
    outputs = log.all_reviewed()
    states = Counter(output.state for output in outputs)
    rules = OutputRules(**log.terms.rules)
    return {
        "folder": str(log.folder),
        "researcher": log.terms.researcher,
        "started": log.terms.started,
        "rules": rules.public_rules(),
        "laxer": rules.laxer(),
        "with_records": log.terms.persons is not None,
        "log": head_of_log(log),
        "outputs": [output.to_dict() for output in outputs],
        "counts": dict(sorted(states.items())),
        "together": [list(numbers) for numbers in unseen_groups(log)],
        "strangers": log.strangers(),
        "settled": is_settled(log),
    }


def is_settled(log: OutputLog) -> bool:
    """Whether all is decided, nothing refused, and nothing approved that tells of few persons
    together with others without anybody having seen that.
    """
    outputs = log.all_reviewed()
    if not outputs or any(output.state != "approved" for output in outputs):
        return False
    return not unseen_groups(log)


def unseen_groups(log: OutputLog) -> tuple[tuple[int, ...], ...]:
    """Outputs that are not refused and together tell of few persons, which none of them was said to
    when it was checked.
    """
    outputs = log.all_reviewed()
    # Undecided outputs may still leave, so they are looked at as well.
    leaving = {output.logged.number for output in outputs if output.state != "refused"}
    return unseen_differences(log, leaving).outputs


def head_of(log: OutputLog, number: int, lines: int = MOST_LINES) -> str:
    """The first lines of an output, as text; what is no text is not shown."""
    try:
        text = log.content(number).decode("utf-8")
    except UnicodeDecodeError:
        return "(this file is not text)"
    text_lines = text.splitlines()
    head_lines = [line[:LINE_LENGTH] for line in text_lines[:lines]]
    if len(text_lines) > lines:
        head_lines.append(f"… and {len(text_lines) - lines:,} more lines")
    return "\n".join(head_lines)


def releasable(log: OutputLog, *, accept_passes: bool) -> Iterator[tuple[ReviewedOutput, str]]:
    """The outputs that may leave, and on whose word: the checker's, or that of their verdict."""
    for output in log.all_reviewed():
        if output.state == "approved":
            yield output, "approved"
        elif accept_passes and output.state == "undecided" and output.logged.status == "pass":
            yield output, "passes"


def release_outputs(
    log: OutputLog,
    folder: Path,
    *,
    accept_passes: Annotated[
        bool, CommandOption("release outputs that pass without a decision", ("--accept-passes",))
    ] = False,
    partly: Annotated[bool, CommandOption("leave undecided outputs behind", ("--partly",))] = False,
    sign: Annotated[
        Path | None, CommandOption("a private key to sign the certificate with")
    ] = None,
    seal: Annotated[
        Path | None,
        CommandOption(
            "where you keep the seal of the log; by default in the folder of the session"
        ),
    ] = None,
    key: Annotated[Path | None, CommandOption("the public key of the seal")] = None,
) -> Document:
    """Copy what may leave into a new folder with a certificate, or nothing; returns the
    certificate.

    Released are approved outputs as they were when they were approved and, with ``accept_passes``,
    those that pass and nobody decided of. One that is undecided, changed since, or missing stops
    the release, unless ``partly``: then it stays behind, as refused ones always do. With the
    ``key`` that sealed the log, or a ``seal`` kept apart, only decisions that were sealed count: a
    line after them may be anybody's.
    """
    last_seal = checked_seal(log, seal, key)
    # A seal beside the log, without a key, may be anybody's: nothing is compared with it.
    if key is not None or seal is not None:
        later = unsealed_decisions(log, last_seal)
        if later:
            raise ReleaseRefused(
                f"{later:,} decisions were written after the log was sealed; their author must "
                "seal it again (sfumato outputs review --sign) before anything is released"
            )
    leaving = list(releasable(log, accept_passes=accept_passes))
    numbers = {output.logged.number for output, _ in leaving}
    # Refused outputs do not wait: they are decided.
    not_refused = [output for output in log.all_reviewed() if output.state != "refused"]
    waiting = [output.logged.number for output in not_refused]
    waiting = [number for number in waiting if number not in numbers]
    if waiting and not partly:
        waiting_numbers = ", ".join(map(str, waiting[:20]))
        if len(waiting) > 20:
            waiting_numbers += " …"
        raise ReleaseRefused(
            f"{len(waiting):,} of {len(log.outputs):,} outputs are not decided, changed or missing:"
            f" {waiting_numbers}; decide first, or leave them behind with --partly"
        )
    if not leaving:
        raise ReleaseRefused(
            "no output is approved, so there is nothing to release; approve some first"
        )
    # Looked at for just those that leave: together with others they may tell less, or more.
    unseen = unseen_differences(log, numbers).outputs
    if unseen:
        raise ReleaseRefused(
            f"{together_in_words(log, unseen)}; refuse one of them, or add it again"
        )
    with in_place(folder, force=None) as target:
        entries = [_copy_output(log, output, word, target) for output, word in leaving]
        certificate = seal_certificate(target, _certificate(log, entries), sign)
        # Read back from disk before the folder takes its place.
        if verify(target).result == "false":
            raise InternalError(
                "the folder does not contain what its certificate says; nothing was written"
            )
    return certificate


def _copy_output(log: OutputLog, output: ReviewedOutput, word: str, target: Path) -> Document:
    """Copy an output, the very bytes that were decided of, and say so."""
    logged, decision = output.logged, None
    if word == "approved":
        decision = output.decision
    content = log.content(logged.number)
    # The file could have been exchanged between the review and this reading.
    digest = hashlib.sha256(content).hexdigest()
    if digest != (logged.sha256 if decision is None else decision.sha256):
        raise ReleaseRefused(
            f"output {logged.number} changed just now; nothing was written, review it again"
        )
    replace_file(target / logged.file, content)
    entry = {
        "number": logged.number,
        "title": logged.title,
        "file": logged.file,
        "sha256": digest,
        "bytes": len(content),
        "kind": logged.verdict["kind"],
        "checked": logged.status if output.as_checked else "changed after the check",
        "released": word,
    }
    if decision is not None:
        entry |= {"by": decision.by, "at": decision.at}
    return entry


def _certificate(log: OutputLog, entries: list[Document]) -> Document:
    """What anybody may know: files with digests, and the rules without what would help an
    intruder.
    """
    section = {
        "rules": OutputRules(**log.terms.rules).public_rules(),
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
