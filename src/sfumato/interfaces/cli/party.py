"""``sfumato party``: studies of several parties: signatures, taking part, and checking a result."""

from __future__ import annotations

import asyncio
import contextlib
import json as jsons
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from typer.core import TyperGroup

from sfumato.core.files import write_whole
from sfumato.core.options import CommandOption
from sfumato.core.portable import as_new
from sfumato.core.words import inflect
from sfumato.errors import (
    InternalError,
    OutputError,
    ParameterError,
    PartyError,
    PartyLeft,
    PartyMissing,
    SfumatoError,
    UnreadableInput,
    WrongCertificate,
)
from sfumato.interfaces.cli.command import command
from sfumato.interfaces.cli.console import give_json, out, tell
from sfumato.interfaces.cli.options import Json, Quiet, ReadOptions, ShowOptions, read_data

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.core.table import Table
    from sfumato.parties.conduct import Home, PlannedParty, StudyResult
    from sfumato.parties.study import Study

DECLINE_SECONDS = 10
"""Time to tell the others that this party declines."""
MOST_SHOWN = 2000
"""Characters of a value of the answer that are shown; the file has all."""
StudyFile = Annotated[Path, typer.Argument(help="the study (YAML) that all parties signed")]


class GroupClass(TyperGroup):
    """A group in which a word that is no command is a study to take part in."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is meant: ``party study.yaml`` is ``party run study.yaml``.

        A mere word that is no file either is a command that was misspelled.
        """
        if args and args[0] not in self.commands:
            mere_word = re.fullmatch("[a-z-]+", args[0]) is not None
            if not mere_word or Path(args[0]).exists():
                args = ["run", *args]
        return super().resolve_command(ctx, args)


@dataclass(frozen=True, kw_only=True)
class DraftOptions:
    """What is asked, and how it is answered."""

    question: Annotated[
        str,
        CommandOption('the question, e.g. \'{mean: {column: age, bounds: ["0", "120"]}}\''),
    ]
    output: Annotated[Path, CommandOption("file for the study", ("--out", "-o"))]
    protocol: Annotated[
        str,
        CommandOption("additive, shamir, joint, or {name: encrypted, server: a, key_holder: b}"),
    ] = "shamir"
    noise: Annotated[
        str | None,
        CommandOption("noise that no party knows, e.g. '{epsilon: \"0.5\", colluders: 1}'"),
    ] = None


@command()
def draft(
    entries: Annotated[
        list[Path], typer.Argument(help="the output of 'sfumato key party', one file per party")
    ],
    quiet: Quiet = False,
    *,
    study: DraftOptions,
) -> None:
    """Put the parties' entries and a question together into a study, to be completed, passed round
    and signed.
    """
    from sfumato.core.yaml_text import read_yaml, write_yaml
    from sfumato.parties.study import draft_study

    output = study.output
    # Others may have signed the file that is there.
    if output.exists():
        raise OutputError(
            f"{output} already exists, and a study is never overwritten; choose another file"
        )
    question = read_yaml(study.question, "--question")
    protocol = read_yaml(study.protocol, "--protocol")
    if study.noise is None:
        noise = None
    else:
        noise = read_yaml(study.noise, "--noise")
    document = draft_study(entries, question, protocol, noise)
    write_whole(output, write_yaml(document).encode())
    as_new(output)
    tell(f"all parties must read and sign {escape(str(output))}: sfumato party sign", quiet=quiet)


@command()
def sign(
    study: StudyFile,
    key: Annotated[Path, CommandOption("the signing key of a party of the study (.signing.pem)")],
    quiet: Quiet = False,
) -> None:
    """Sign a study: the signature is added to the file, which then goes to the next party."""
    from sfumato.parties.study import read_study
    from sfumato.parties.study import sign as add_signature

    name = add_signature(study, key)
    unsigned = read_study(study).unsigned()
    status = "all have signed"
    if unsigned:
        status = f"not yet signed by {', '.join(unsigned)}"
    tell(f"{escape(name)} signed; {status}", quiet=quiet)


@dataclass(frozen=True, kw_only=True)
class PartyOptions:
    """Which party this is, and what it keeps."""

    name: Annotated[str | None, CommandOption("the party of the study that this is", ("--as",))] = (
        None
    )
    keys: Annotated[
        Path | None, CommandOption("folder of its keys; by default that of the study")
    ] = None
    home: Annotated[
        Path | None,
        CommandOption("folder that remembers attempts and answers; by default that of the keys"),
    ] = None
    ledger: Annotated[
        Path | None, CommandOption("the ledger of the dataset, for studies with noise")
    ] = None


@dataclass(frozen=True, kw_only=True)
class StudyOptions(ShowOptions):
    """Where the result goes, and how the others are met."""

    output: Annotated[Path | None, CommandOption("file for the result (JSON)", ("--out", "-o"))] = (
        None
    )
    table: Annotated[
        Path | None, CommandOption("file for the table of a joint release (CSV)", ("--release",))
    ] = None
    check: Annotated[
        bool, CommandOption("only show what is asked, learned and spent", ("--check",))
    ] = False
    tries: Annotated[
        int, CommandOption("how often to reconnect when a connection is lost", minimum=1)
    ] = 1
    again: Annotated[
        bool,
        CommandOption(
            "answered already: connect once more, for parties that lack signatures",
            ("--confirm-again",),
        ),
    ] = False


@command()
def run(
    study: StudyFile,
    data: Annotated[
        str | None, typer.Argument(help="this party's own table; it never leaves this machine")
    ] = None,
    *,
    party: PartyOptions,
    files: StudyOptions,
    reading: ReadOptions,
) -> None:
    """Take part in a study with a table of one's own; the table stays here, and the answer comes
    when all have signed it.

    When a connection is lost, all parties give the same command again: the question is not asked
    twice. Exit code 6 when another party is missing, leaves or does not fit.
    """
    from sfumato.parties.attempt import alone
    from sfumato.parties.conduct import Home, attempt_file
    from sfumato.parties.keys import Keys
    from sfumato.parties.study import read_study

    loaded = read_study(study)
    if files.check:
        _show_study(loaded, json=files.json)
        return
    # Both may be left out only because --check needs neither.
    if data is None or party.name is None:
        raise ParameterError(
            "name this party's table and the party: sfumato party study.yaml data.csv --as NAME"
        )
    # A name that no party has is refused before the table is read.
    number = loaded.number_of(party.name)
    folder = party.keys or study.parent
    keys = Keys(folder, party.name)
    home = Home(party.home or folder, keys, party.ledger, progress=_tell_phases(quiet=files.quiet))
    home.keys.require_all()
    # Several parties may keep their files in one folder: the name keeps results apart.
    target = files.output or study.with_name(f"{study.stem}.{party.name}.json")
    _require_targets(loaded, target, files.table)
    people = read_data(data, quiet=files.quiet, intake=reading.intake)
    # One process at a time: the file of the attempt says what was sent already.
    with alone(attempt_file(loaded, home)):
        attempt = _prepare(loaded, number, people, home)
        stored = _stored_result(attempt, confirm_again=files.again)
        result = stored or _meet(attempt, files.tries)
    _write_result(target, result)
    if files.table is not None:
        _write_table(files.table, result)
    if files.json:
        give_json(dict(result.certificate))
        return
    _show_answer(result)
    section = result.certificate["study"]
    if "asked_before" in section:
        tell(
            "the rule 'asked_before': this question was answered before, with the same rows and "
            "parties; nothing was sent",
            quiet=files.quiet,
        )
    elif stored is not None:
        tell("this study was answered already; nothing was sent", quiet=files.quiet)
    signatures = ""
    if section.get("signatures"):
        signatures = f", signed by {', '.join(section['signatures'])}"
    tell(f"[dim]written to {escape(str(target))}{signatures}[/]", quiet=files.quiet)


def _prepare(study: Study, number: int, people: Table, home: Home) -> PlannedParty:
    """Ready to meet the others; who is not tells them that it declines, and nothing more."""
    from sfumato.parties.conduct import prepare

    try:
        return prepare(study, number, people, home)
    except SfumatoError:
        # Declining is a courtesy. Where it fails too, the first error is the one to report.
        with contextlib.suppress(SfumatoError, TimeoutError, OSError):
            asyncio.run(_decline(study, number, home))
        raise


async def _decline(study: Study, number: int, home: Home) -> None:
    from sfumato.errors import Declined
    from sfumato.parties.mesh import Mesh

    home.progress(0.0, "informing the others that this party declines")
    opening = Mesh.open(number, study.peers(), home.keys, study.limits)
    # Who declines does not wait for late parties as long as one who takes part.
    seconds = min(DECLINE_SECONDS, study.limits.connect)
    mesh = await asyncio.wait_for(opening, seconds)
    await mesh.close(Declined("declined", party=number))


def _stored_result(attempt: PlannedParty, *, confirm_again: bool) -> StudyResult | None:
    """What is known already: an answer to the same question, or this study's own."""
    from sfumato.parties.attempt import State
    from sfumato.parties.conduct import repeat_result, result_of

    if attempt.stored is not None:
        return repeat_result(attempt.study, attempt.stored)
    if attempt.attempt.state is State.CONFIRMED and not confirm_again:
        return result_of(attempt.study, attempt.attempt).sealed(attempt.home.keys)
    return None


def _meet(attempt: PlannedParty, tries: int) -> StudyResult:
    """Meet the others, and again when one was missing or left; the attempt stays the same."""
    if attempt.home.keys.expired(attempt.home.today):
        raise WrongCertificate(
            "the certificate of this party has expired; make new keys, and a new study with them"
        )
    # Three tries count 2, 1, 0: the error of the last one is raised.
    for tries_left in reversed(range(tries)):
        try:
            return asyncio.run(_meet_once(attempt))
        except (PartyLeft, PartyMissing) as error:
            if not tries_left:
                raise
            times = inflect(tries_left, "time")
            tell(f"{escape(str(error))}; reconnecting, {tries_left} more {times}")
    raise InternalError("no attempt was made")


async def _meet_once(attempt: PlannedParty) -> StudyResult:
    """Meet the others; who it was that something went wrong with is told by name too."""
    from sfumato.parties.conduct import meet
    from sfumato.parties.mesh import Mesh

    study = attempt.study
    attempt.home.progress(0.0, "waiting for the others")
    try:
        mesh = await Mesh.open(attempt.number, study.peers(), attempt.home.keys, study.limits)
        return await meet(attempt, mesh)
    except PartyError as error:
        # The protocol knows parties by number only; people know them by name.
        if error.party is not None and error.party != attempt.number:
            tell(f"party {error.party} is {escape(study.parties[error.party].name)}")
        raise


def _tell_phases(*, quiet: bool) -> Progress:
    """Tell each phase once."""
    current = ""

    def tell_phase(share: float, words: str = "") -> None:
        nonlocal current
        if words and words != current:
            current = words
            tell(f"[dim]{escape(words)} …[/]", quiet=quiet)

    return tell_phase


def _write_result(target: Path, result: StudyResult) -> None:
    """The result, whole or not at all; another study's is never replaced."""
    _require_own(target, result.certificate["study"]["digest"])
    text = jsons.dumps(result.certificate, indent=2, ensure_ascii=False)
    write_whole(target, (text + "\n").encode())
    as_new(target)


def _require_targets(study: Study, target: Path, table: Path | None) -> None:
    """Refuse files that cannot take the result before anything is sent or spent."""
    targets = {"--out": target}
    if table is not None:
        if study.question.name != "release":
            raise ParameterError(
                f"--release: the study asks for {study.question.name}, which has no table to write"
            )
        if table.exists():
            raise OutputError(
                f"--release: {table} already exists and is never overwritten; choose another file"
            )
        targets["--release"] = table
    for option, path in targets.items():
        if path.is_dir():
            raise OutputError(f"{path} is a folder; name a file in it with {option}")
        if not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):
            raise OutputError(
                f"cannot write to the folder {path.parent}; create it, or name another file with "
                f"{option}"
            )
    _require_own(target, study.digest.hex())


def _require_own(target: Path, study: str) -> None:
    """Refuse to replace what is no result of this study."""
    from sfumato.release.certificate_files import read_certificate

    if not target.exists():
        return
    # A file that is no certificate has no digest, and is refused as another study's would be.
    digest = None
    with contextlib.suppress(UnreadableInput, ParameterError):
        digest = read_certificate(target, "study")["study"]["digest"]
    if digest != study:
        raise OutputError(
            f"{target} already exists and is not a result of this study; name another file with "
            "--out"
        )


def _write_table(target: Path, result: StudyResult) -> None:
    """The rows of a joint release, in an order that says nothing about where they come from."""
    from sfumato.parties.assembled_rows import released_frame

    if not result.answer.get("counts"):
        raise ParameterError(
            "--release: this answer contains no table, or it is with the collector"
        )
    write_whole(target, released_frame(result.answer).write_csv().encode())
    as_new(target)


def _show_answer(result: StudyResult) -> None:
    for name, value in result.answer.items():
        text = jsons.dumps(value, ensure_ascii=False, default=str)
        if len(text) >= MOST_SHOWN:
            text = f"{text[:MOST_SHOWN]} …"
        out().print(f"[bold]{escape(str(name))}[/]: {escape(text)}", soft_wrap=True)


def _show_study(study: Study, *, json: bool) -> None:
    from sfumato.parties.conduct import estimate_cost
    from sfumato.parties.study import list_learned

    cost, seconds = estimate_cost(study)
    question, digest = study.document["question"], study.digest.hex()
    parties = [party.name for party in study.parties]
    loss = None if study.noise is None else str(study.noise.loss)
    if json:
        figures = {
            "messages": cost.messages,
            "bytes_sent": cost.sent,
            "seconds": round(seconds, 2),
        }
        give_json(
            {
                "digest": digest,
                "question": question,
                "parties": parties,
                "learned": list(list_learned(study)),
                "cost": figures,
                "loss": loss,
                "unsigned": list(study.unsigned()),
            }
        )
        return
    lines = [
        ("question", jsons.dumps(question, ensure_ascii=False)),
        ("parties", f"{', '.join(parties)}, by {study.protocol.name}"),
    ]
    lines += [("learned", line) for line in list_learned(study)]
    control = study.control
    rules = (
        f"at least {control.least_records} records, from at least {control.least_parties} parties"
    )
    if loss:
        spent = f"{loss} of every party's budget"
    else:
        spent = "no budget, because there is no noise"
    effort = f"about {cost.messages:,} messages and {cost.sent:,} bytes sent by each party"
    lines += [("rules", rules), ("spent", spent), ("cost", f"{effort}, {seconds:.1f} s")]
    if any(study.valid):
        lines.append(("valid", "from {} until {}".format(*study.days)))
    lines += [("digest", digest), ("signatures", study.lacking or "of all")]
    for title, text in lines:
        out().print(f"[bold]{title}[/]: {escape(text)}", soft_wrap=True)


@command()
def verify(
    result: Annotated[Path, typer.Argument(help="a result file")],
    study: Annotated[Path, CommandOption("the study of the result")],
    json: Json = False,
) -> None:
    """Check that a result is of a study, as its parties signed it.

    Exit code 1 when it is not; 7 when nobody signed the rest of the file.
    """
    from sfumato.interfaces.cli.verify import show_claims
    from sfumato.parties.study import read_study
    from sfumato.release.verify import verify as recompute

    show_claims(recompute(result, original=read_study(study)), json=json)
