"""``sfumato outputs``: the outputs of a session reviewed, approved or refused, and released."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from sfumato.core.options import CommandOption
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.command import Keywords, command
from sfumato.interfaces.cli.console import give_json, out, tell
from sfumato.interfaces.cli.options import Json, ShowOptions

if TYPE_CHECKING:
    from sfumato.results.checking.log import Choice, OutputLog, ReviewedOutput
    from sfumato.results.checking.seals import Seal

Folder = Annotated[
    Path, typer.Argument(help="the folder of a session: sf.output_session(folder, data)")
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
ANSWERS: dict[str, Choice] = {"a": "approved", "r": "refused"}


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
        CommandOption("numbers of outputs to approve: 3, or 1-4,7; 'passes' for all that pass"),
    ] = None
    refuse: Annotated[str | None, CommandOption("numbers of outputs to refuse")] = None
    because: Annotated[str | None, CommandOption("the reason of the decision")] = None
    by: Annotated[str | None, CommandOption("who decided")] = None

    @property
    def texts(self) -> dict[Choice, str]:
        """Which outputs are approved or refused, as it was typed."""
        texts: dict[Choice, str] = {}
        if self.approve is not None:
            texts["approved"] = self.approve
        if self.refuse is not None:
            texts["refused"] = self.refuse
        return texts


@dataclass(frozen=True, kw_only=True)
class SealOptions:
    """How the log is sealed, and which seal it must have."""

    sign: Annotated[Path | None, CommandOption("a private key to seal the log with")] = None
    seal: Annotated[
        Path | None,
        CommandOption(
            "where you keep the seal of the log; by default in the folder of the session"
        ),
    ] = None
    key: Annotated[Path | None, CommandOption("the public key of the seal")] = None


@command()
def review(
    folder: Folder,
    *,
    view: ReviewOptions,
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
    from sfumato.results.checking.reviews import is_settled
    from sfumato.results.checking.seals import checked_seal

    log = OutputLog.at(folder)
    # The seal is checked before decisions of this call are added to the log.
    seal = checked_seal(log, sealing.seal, sealing.key)
    _decide(log, decision, quiet=view.quiet)
    if view.html is not None:
        _write_page(log, view.html, quiet=view.quiet)
    # The seal is renewed last, so that it covers the decisions of this call.
    if view.json:
        noticed = _renew_seal(log, seal, sealing)
        give_json({**_describe(log, view.show), "noticed": noticed})
    else:
        if view.show is not None:
            _show(log, log.reviewed(view.show))
        else:
            _list(log)
            # Questions only for somebody at a terminal who did not decide by options.
            if not decision.texts and view.html is None and _is_terminal():
                _ask(log, decision.by)
        tell(_renew_seal(log, seal, sealing), quiet=view.quiet)
    if not is_settled(log):
        raise typer.Exit(1)


def _renew_seal(log: OutputLog, seal: Seal | None, sealing: SealOptions) -> str:
    """Seal the log where that is asked for; what changes of it would be noticed from now on."""
    from sfumato.results.checking.seals import what_is_noticed, write_seal

    if sealing.sign is not None or sealing.seal is not None:
        seal = write_seal(log, sealing.seal, sealing.sign)
    known_key = sealing.key is not None or sealing.sign is not None
    return what_is_noticed(seal, key=known_key, apart=sealing.seal is not None)


def _decide(log: OutputLog, decision: DecisionOptions, *, quiet: bool) -> None:
    """Write decisions down, all of them or none."""
    from sfumato.results.checking.output_pairs import in_ranges

    texts = decision.texts
    if texts and not (decision.because or "").strip():
        raise ParameterError("a decision needs a reason: give --because")
    if texts and not (decision.by or "").strip():
        raise ParameterError("a decision needs a name: give --by")
    if decision.because is not None and not texts:
        raise ParameterError("--because goes with --approve or --refuse")
    # Checked before anything is written: of two decisions that contradict none may stand.
    if len(texts) == 2:
        approved, refused = (set(_numbers(text, log)) for text in texts.values())
        if approved & refused:
            raise ParameterError("an output is approved or refused, not both; name it once")
    for choice, text in texts.items():
        numbers = _numbers(text, log)
        for number in numbers:
            log.decide(number, choice, by=decision.by or "", because=decision.because or "")
        tell(f"{choice}: {in_ranges(numbers) or 'none'}", quiet=quiet)


def _describe(log: OutputLog, number: int | None) -> dict[str, object]:
    """A session, or one output of it, as plain data."""
    from sfumato.results.checking.reviews import head_of, review

    if number is None:
        return review(log)
    return {**log.reviewed(number).to_dict(), "content": head_of(log, number)}


def _numbers(text: str, log: OutputLog) -> list[int]:
    """Numbers of outputs: ``1-4,7``; ``passes`` for all that pass and are as they were checked."""
    if text.strip() == PASSES:
        # What somebody refused is not approved by a word for all.
        undecided = [output for output in log.all_reviewed() if output.state == "undecided"]
        passing = [output for output in undecided if output.logged.status == "pass"]
        return [output.logged.number for output in passing if output.as_checked]
    numbers: list[int] = []
    for part in text.split(","):
        # Six digits at most: a longer range would only fill the memory.
        match = re.fullmatch(r"\s*(\d{1,6})(?:\s*-\s*(\d{1,6}))?\s*", part)
        if match is None:
            raise ParameterError(
                "name outputs by their numbers: 3, or 1-4,7; 'passes' for all that pass"
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

    heads = {}
    for output in log.all_reviewed():
        # An output whose file is gone has nothing to show.
        if output.digest is not None:
            number = output.logged.number
            heads[number] = head_of(log, number)
    write_whole(file, review_page(review(log), heads).encode())
    tell(f"page   {escape(str(file))}: it shows the outputs, so keep it with them", quiet=quiet)


def _list(log: OutputLog) -> None:
    if not log.outputs:
        out().print("no outputs yet; add some: session.add(output, title)")
        return
    table = Table(box=None, pad_edge=False)
    for name in ("no.", "output", "persons", "found", "decided", "why"):
        is_number = name in ("no.", "persons")
        table.add_column(name, justify="right" if is_number else "left", overflow="fold")
    for output in log.all_reviewed():
        table.add_row(*_row(output))
    out().print(table)
    for sentence in _warnings(log):
        out().print(sentence, markup=False, soft_wrap=True)
    # A file that nobody added was not checked, so it may not leave with the others.
    if strangers := log.strangers():
        out().print(
            f"{len(strangers):,} files beside them are not in the log and are never released",
            markup=False,
        )


def _warnings(log: OutputLog) -> list[str]:
    """What the checker should know of the session itself."""
    from sfumato.results.checking.output_pairs import in_ranges
    from sfumato.results.checking.reviews import review

    summary = review(log)
    sentences = []
    if summary["laxer"]:
        sentences.append(f"the session asks for less than usual: {', '.join(summary['laxer'])}")
    if not summary["with_records"]:
        sentences.append(
            "the session was opened without records, so outputs were not compared with "
            "any records of its own"
        )
    if summary["together"]:
        groups = "; ".join(in_ranges(numbers) for numbers in summary["together"])
        sentences.append(
            "outputs describe few persons together, or may, which was not known when they were "
            f"checked: {groups}. Refuse one of them, or add it again"
        )
    return sentences


def _row(output: ReviewedOutput) -> tuple[str, ...]:
    verdict, status = output.logged.verdict, output.logged.status
    reasons = []
    if status != "pass":
        # Only reasons of the same weight: a failure need not list what merely wants a review.
        grave = [reason for reason in verdict["reasons"] if reason["status"] == status]
        reasons = [reason["sentence"] for reason in grave]
    why = "; ".join(reasons[:MOST_REASONS])
    if len(reasons) > MOST_REASONS:
        why += f" (+{len(reasons) - MOST_REASONS})"
    why = escape(why)
    if output.logged.exception:
        why += " [bold](exception asked)[/]"
    if verdict["persons"] is None:
        persons = "–"
    else:
        persons = f"{verdict['persons']:,}"
    return (
        str(output.logged.number),
        escape(output.logged.title),
        persons,
        f"[{COLOURS[status]}]{MARKS[status]} {status}[/]",
        f"[{COLOURS.get(output.state, 'yellow')}]{output.state}[/]",
        why,
    )


def _show(log: OutputLog, output: ReviewedOutput) -> None:
    from sfumato.results.checking.reviews import head_of

    logged = output.logged
    title = f"[bold]{logged.number}. {escape(logged.title)}[/]"
    out().print(f"{title}  {logged.status}, {output.state}")
    reasons = logged.verdict["reasons"]
    lines = [f"{MARKS[reason['status']]} {reason['sentence']}" for reason in reasons]
    if logged.comment:
        lines.append(f"comment: {logged.comment}")
    if logged.exception:
        lines.append(f"an exception is asked for: {logged.exception}")
    decision = output.decision
    if decision is not None:
        lines.append(f"{decision.decision} by {decision.by}, {decision.at}: {decision.because}")
    for line in lines:
        out().print(f"  {escape(line)}", soft_wrap=True)
    if not output.as_checked:
        out().print("  [red]the file changed after it was checked[/]")
    if output.digest is not None:
        out().print(head_of(log, logged.number), markup=False, soft_wrap=True)


def _is_terminal() -> bool:
    return sys.stdin.isatty() and out().is_terminal


def _ask(log: OutputLog, by: str | None) -> None:
    """Go through what is undecided; nothing is decided without a reason."""
    for output in log.all_reviewed():
        # A changed file is another one than was decided on, so it is asked about again.
        if output.state not in ("undecided", "changed"):
            continue
        _show(log, output)
        answer = ""
        while answer not in ("a", "r", "s", "q"):
            text = typer.prompt("approve (a), refuse (r), skip (s), quit (q)", default="s")
            # Whole words do as well: "approve" counts as "a".
            answer = str(text).strip().lower()[:1]
        if answer == "q":
            return
        if answer in ANSWERS:
            # Asked once; the name is kept for all decisions that follow.
            by = by or str(typer.prompt("who decides"))
            because = str(typer.prompt("why"))
            log.decide(output.logged.number, ANSWERS[answer], by=by, because=because)


@dataclass(frozen=True, kw_only=True)
class ReleaseFiles(ShowOptions):
    """Where approved outputs go."""

    output: Annotated[
        Path, CommandOption("folder to write; must be new or empty", ("--output", "-o"))
    ]


@command("sfumato.results.checking.reviews:release_outputs")
def release(
    folder: Folder,
    *,
    files: ReleaseFiles,
    conditions: Keywords,
) -> None:
    """Copy approved outputs, and nothing else, into a folder with a certificate.

    Exit code 1, and nothing written, when an output is undecided, or changed since it was decided
    (unless --partly), or when decisions came after the seal; 5 when the log is not what was sealed.
    """
    from sfumato.results.checking.log import OutputLog
    from sfumato.results.checking.output_pairs import in_ranges
    from sfumato.results.checking.reviews import release_outputs

    log = OutputLog.at(folder)
    certificate = release_outputs(log, files.output, **conditions)
    if files.json:
        give_json({**certificate, "folder": str(files.output)})
        return
    released = certificate["outputs"]["released"]
    out().print(
        f"{len(released):,} of {len(log.outputs):,} outputs released to {files.output}",
        markup=False,
        soft_wrap=True,
    )
    excused = [output["number"] for output in released if output["checked"] != "pass"]
    if excused:
        tell(
            f"approved by a person although they did not pass: {in_ranges(excused)}",
            quiet=files.quiet,
        )


@command()
def verify(
    folder: Annotated[Path, typer.Argument(help="a folder with released outputs")],
    key: Annotated[Path | None, CommandOption("the public key of the signer")] = None,
    session: Annotated[
        Path | None,
        CommandOption("the folder of the session, to check that its log is complete"),
    ] = None,
    json: Json = False,
) -> None:
    """Check that a released folder holds what its certificate says, and nothing else.

    Exit code 0 when the log of the session shows that all was checked or approved, or a key you
    trust vouches for it; 1 when something is false; 7 when neither was given.
    """
    from sfumato.interfaces.cli.verify import show_claims
    from sfumato.release.certificate_files import read_certificate
    from sfumato.release.verify import verify as recompute

    read_certificate(folder, "outputs")
    show_claims(recompute(folder, owner=session, trusted_key=key), json=json)
