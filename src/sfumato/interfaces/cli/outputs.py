"""``sfumato outputs``: the outputs of a session reviewed, approved or refused, and released."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sfumato.core.options import CommandOption
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.command import command
from sfumato.interfaces.cli.console import give_json, out, tell
from sfumato.interfaces.cli.integral import stable
from sfumato.interfaces.cli.options import Json, ShowOptions

if TYPE_CHECKING:
    from sfumato.results.checking.log import OutputLog, ReviewedOutput
    from sfumato.results.checking.seals import Seal

Folder = Annotated[
    Path, typer.Argument(help="the folder of a session: sf.output_session(folder, data)")
]
SealFile = Annotated[
    Path | None,
    CommandOption("where you keep the seal of the log; else it lies in the folder of the session"),
]
SealKey = Annotated[
    Path | None, CommandOption("the public key that the log must have been sealed with")
]
COLOURS = {
    "pass": "green",
    "review": "yellow",
    "fail": "red",
    "approved": "green",
    "refused": "red",
}
MARKS = {"pass": "✓", "review": "?", "fail": "✗"}
PASSES = "passes"
MOST_REASONS = 3


def build() -> typer.Typer:
    """The group of commands."""
    group = typer.Typer(
        no_args_is_help=True,
        help=(
            "Outputs of researchers: review and decide, release what is approved, verify; find"
            " stable results."
        ),
    )
    for name, function in (
        ("review", review),
        ("release", release),
        ("verify", verify),
        ("stable", stable),
    ):
        group.command(name)(function)
    return group


@dataclass(frozen=True, kw_only=True)
class ReviewOptions(ShowOptions):
    """What is shown of a session."""

    show: Annotated[
        int | None, CommandOption("one output: its reasons, comments, and first lines")
    ] = None
    html: Annotated[
        Path | None, CommandOption("write the review as a page, with the outputs in it")
    ] = None


@dataclass(frozen=True, kw_only=True)
class DecisionOptions:
    """What is decided about outputs."""

    approve: Annotated[
        str | None,
        CommandOption("numbers of outputs that may leave: 3, or 1-4,7; 'passes' for all that pass"),
    ] = None
    refuse: Annotated[str | None, CommandOption("numbers of outputs that may not")] = None
    because: Annotated[str | None, CommandOption("why it was so decided")] = None
    by: Annotated[str | None, CommandOption("who decided")] = None


@dataclass(frozen=True, kw_only=True)
class SealOptions:
    """How the log is sealed, and which seal it must have."""

    sign: Annotated[
        Path | None, CommandOption("a private key to seal the log with, as it is after this")
    ] = None
    seal: SealFile = None
    key: SealKey = None


@command()
def review(
    folder: Folder,
    *,
    shown: ReviewOptions,
    decision: DecisionOptions,
    sealing: SealOptions,
) -> None:
    """See every output of a session with what was found, open one, approve or refuse; on a
    terminal, one after the other.

    Exit code 0 when all are approved, 1 when some are undecided, refused, changed or missing, or
    tell of few persons together without anybody having seen it, 5 when the log is not what was
    sealed.
    """
    from sfumato.results.checking.log import OutputLog
    from sfumato.results.checking.seals import checked_seal

    log = OutputLog.at(folder)
    before = checked_seal(log, sealing.seal, sealing.key)
    deciding = decision.approve is not None or decision.refuse is not None
    _require_words(deciding, decision.because, decision.by)
    if (
        decision.approve is not None
        and decision.refuse is not None
        and set(_numbers(decision.approve, log)) & set(_numbers(decision.refuse, log))
    ):
        raise ParameterError("an output is approved or refused, not both")
    for said, word in ((decision.approve, "approved"), (decision.refuse, "refused")):
        if said is not None:
            _decide(
                log,
                _numbers(said, log),
                word,
                decision.by or "",
                decision.because or "",
                quiet=shown.quiet,
            )
    if shown.html is not None:
        _write_page(log, shown.html, quiet=shown.quiet)
    if shown.json:
        before = _sealed(log, before, sealing.seal, sealing.sign)
        give_json(
            {
                **_told(log, shown.show),
                "noticed": _noticed(before, sealing.seal, sealing.sign, sealing.key),
            }
        )
    elif shown.show is not None:
        _show(log, log.reviewed(shown.show))
    else:
        _list(log)
        if not deciding and shown.html is None and _is_terminal():
            _ask(log, decision.by)
    if not shown.json:
        before = _sealed(log, before, sealing.seal, sealing.sign)
        tell(_noticed(before, sealing.seal, sealing.sign, sealing.key), quiet=shown.quiet)
    if not _settled(log):
        raise typer.Exit(1)


def _sealed(
    log: OutputLog, before: Seal | None, seal: Path | None, sign: Path | None
) -> Seal | None:
    """Seal the log where that is asked for; the seal that holds then."""
    from sfumato.results.checking.seals import write_seal

    return before if sign is None and seal is None else write_seal(log, seal, sign)


def _noticed(before: Seal | None, seal: Path | None, sign: Path | None, key: Path | None) -> str:
    from sfumato.results.checking.seals import what_is_noticed

    return what_is_noticed(before, key=key is not None or sign is not None, apart=seal is not None)


def _decide(
    log: OutputLog, numbers: list[int], word: Any, by: str, because: str, *, quiet: bool
) -> None:
    from sfumato.results.checking.output_pairs import in_ranges

    for number in numbers:
        log.decide(number, word, by=by, because=because)
    tell(f"{word}: {in_ranges(numbers) or 'none'}", quiet=quiet)


def _told(log: OutputLog, show: int | None) -> dict[str, Any]:
    from sfumato.results.checking.reviews import head_of, review

    if show is None:
        return review(log)
    return {**log.reviewed(show).to_dict(), "content": head_of(log, show)}


def _settled(log: OutputLog) -> bool:
    from sfumato.results.checking.reviews import is_settled

    return is_settled(log)


def _require_words(deciding: bool, because: str | None, by: str | None) -> None:
    if deciding and not (because or "").strip():
        raise ParameterError("a decision says why: give --because")
    if deciding and not (by or "").strip():
        raise ParameterError("a decision says who made it: give --by")
    if because is not None and not deciding:
        raise ParameterError("--because goes with --approve or --refuse")


def _numbers(said: str, log: OutputLog) -> list[int]:
    """Numbers of outputs: ``1-4,7``; ``passes`` for all that pass and are as they were checked."""
    if said.strip() == PASSES:
        found = [
            one.logged.number
            for one in log.all_reviewed()
            if one.logged.status == "pass" and one.as_checked
        ]
        return [number for number in found if log.reviewed(number).state == "undecided"]
    numbers: list[int] = []
    for part in said.split(","):
        match = re.fullmatch(r"\s*(\d{1,6})(?:\s*-\s*(\d{1,6}))?\s*", part)
        if match is None:
            raise ParameterError(
                "outputs are named by their numbers: 3, or 1-4,7; 'passes' for all that pass"
            )
        first, last = int(match[1]), int(match[2] or match[1])
        numbers += range(first, last + 1)
    for number in numbers:
        log.reviewed(number)  # all of them exist, or nothing is decided
    return list(dict.fromkeys(numbers))


def _write_page(log: OutputLog, file: Path, *, quiet: bool) -> None:
    from sfumato.core.files import write_whole
    from sfumato.release.report.outputs import review_page
    from sfumato.results.checking.reviews import head_of, review

    there = [one.logged.number for one in log.all_reviewed() if one.digest is not None]
    page = review_page(review(log), {number: head_of(log, number) for number in there})
    write_whole(file, page.encode())
    tell(f"page   {escape(str(file))}: it shows the outputs, keep it with them", quiet=quiet)


def _list(log: OutputLog) -> None:
    if not log.outputs:
        out().print("no output was added yet: session.add(output, title)")
        return
    table = Table(box=None, pad_edge=False)
    for name in ("no.", "output", "persons", "found", "decided", "why"):
        table.add_column(
            name, justify="right" if name in ("no.", "persons") else "left", overflow="fold"
        )
    for one in log.all_reviewed():
        table.add_row(*_row(one))
    out().print(table)
    for words in _warnings(log):
        out().print(words, markup=False, soft_wrap=True)
    if strangers := log.strangers():
        out().print(
            f"{len(strangers):,} files beside them were added by nobody; they are never released",
            markup=False,
        )


def _warnings(log: OutputLog) -> list[str]:
    """What the checker should know of the session itself."""
    from sfumato.results.checking.output_pairs import in_ranges
    from sfumato.results.checking.reviews import review

    told = review(log)
    lax = f"the session asks for less than usual: {', '.join(told['laxer'])}"
    alone = "the session was opened without records: nothing in it was compared with any of its own"
    named = "; ".join(in_ranges(one) for one in told["together"])
    unseen = (
        "outputs tell of few persons together, or may, which nobody was told when they were"
        f" checked: {named}. Refuse one of them, or add it again"
    )
    found = ((lax, told["laxer"]), (alone, not told["with_records"]), (unseen, told["together"]))
    return [words for words, so in found if so]


def _row(one: ReviewedOutput) -> tuple[str, ...]:
    verdict, status = one.logged.verdict, one.logged.status
    grave = [
        reason["sentence"] for reason in verdict["reasons"] if reason["status"] == status != "pass"
    ]
    more = f" (+{len(grave) - MOST_REASONS})" if len(grave) > MOST_REASONS else ""
    persons = "–" if verdict["persons"] is None else f"{verdict['persons']:,}"
    state = f"[{COLOURS.get(one.state, 'yellow')}]{one.state}[/]"
    asked = " [bold](exception asked)[/]" if one.logged.exception else ""
    return (
        str(one.logged.number),
        escape(one.logged.title),
        persons,
        f"[{COLOURS[status]}]{MARKS[status]} {status}[/]",
        state,
        escape("; ".join(grave[:MOST_REASONS]) + more) + asked,
    )


def _show(log: OutputLog, one: ReviewedOutput) -> None:
    from sfumato.results.checking.reviews import head_of

    logged = one.logged
    out().print(f"[bold]{logged.number}. {escape(logged.title)}[/]  {logged.status}, {one.state}")
    for reason in logged.verdict["reasons"]:
        out().print(f"  {MARKS[reason['status']]} {escape(reason['sentence'])}", soft_wrap=True)
    for word, text in (
        ("comment", logged.comment),
        ("an exception is asked for", logged.exception),
    ):
        if text:
            out().print(f"  {word}: {escape(text)}", soft_wrap=True)
    if one.decision is not None:
        out().print(
            f"  {one.decision.decision} by {escape(one.decision.by)}, {one.decision.at}:"
            f" {escape(one.decision.because)}",
            soft_wrap=True,
        )
    if not one.as_checked:
        out().print("  [red]the file is not the one that was checked[/]")
    if one.digest is not None:
        out().print(head_of(log, logged.number), markup=False, soft_wrap=True)


def _is_terminal() -> bool:
    return sys.stdin.isatty() and out().is_terminal


def _ask(log: OutputLog, by: str | None) -> None:
    """Go through what is undecided; nothing is decided without a reason."""
    for one in log.all_reviewed():
        if one.state not in ("undecided", "changed"):
            continue
        _show(log, one)
        answer = ""
        while answer not in ("a", "r", "s", "q"):
            answer = (
                str(typer.prompt("approve (a), refuse (r), skip (s), quit (q)", default="s"))
                .strip()
                .lower()[:1]
            )
        if answer == "q":
            return
        if answer in ("a", "r"):
            by = by or str(typer.prompt("who decides"))
            because = str(typer.prompt("why"))
            log.decide(
                one.logged.number,
                "approved" if answer == "a" else "refused",
                by=by,
                because=because,
            )


@dataclass(frozen=True, kw_only=True)
class ReleaseOutputs(ShowOptions):
    """Where approved outputs go, and what leaves."""

    output: Annotated[
        Path, CommandOption("the folder to write, which must be new or empty", ("--output", "-o"))
    ]
    accept_passes: Annotated[
        bool, CommandOption("outputs that pass leave without a decision", ("--accept-passes",))
    ] = False
    partly: Annotated[
        bool, CommandOption("leave behind what is not decided yet", ("--partly",))
    ] = False
    sign: Annotated[Path | None, CommandOption("a private key to sign the certificate with")] = None
    seal: SealFile = None
    key: SealKey = None


@command()
def release(
    folder: Folder,
    *,
    files: ReleaseOutputs,
) -> None:
    """Copy approved outputs, and nothing else, into a folder with a certificate.

    Exit code 1, and nothing written, when an output is undecided, or changed since it was decided
    (unless --partly), or when decisions came after the seal; 5 when the log is not what was sealed.
    """
    from sfumato.results.checking.log import OutputLog
    from sfumato.results.checking.output_pairs import in_ranges
    from sfumato.results.checking.reviews import release_outputs

    log = OutputLog.at(folder)
    certificate = release_outputs(
        log,
        files.output,
        accept_passes=files.accept_passes,
        partly=files.partly,
        sign=files.sign,
        seal=files.seal,
        key=files.key,
    )
    released = certificate["outputs"]["released"]
    count = len(released)
    if files.json:
        give_json({**certificate, "folder": str(files.output)})
    else:
        out().print(
            f"{count:,} of {len(log.outputs):,} outputs released to {files.output}",
            markup=False,
            soft_wrap=True,
        )
        excused = [one["number"] for one in released if one["checked"] != "pass"]
        if excused:
            tell(
                f"released by decision, although they did not pass: {in_ranges(excused)}",
                quiet=files.quiet,
            )


@command()
def verify(
    folder: Annotated[Path, typer.Argument(help="a folder that outputs were released to")],
    key: Annotated[Path | None, CommandOption("the public key of who signed it")] = None,
    session: Annotated[
        Path | None,
        CommandOption("the folder of the session it came from: is its log still all there"),
    ] = None,
    json: Json = False,
) -> None:
    """Check that a released folder holds what its certificate says, and nothing else.

    Exit code 0 when the log of the session shows that all was checked or approved, or a key you
    trust vouches for it; 1 when something is false; 7 when neither was given.
    """
    from sfumato.interfaces.cli.verify import tell_claims
    from sfumato.release.certificate_files import read_certificate
    from sfumato.release.verify import verify as recompute

    read_certificate(folder, "outputs")
    tell_claims(recompute(folder, owner=session, trusted_key=key), json=json)
