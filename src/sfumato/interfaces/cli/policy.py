"""``sfumato policy``: privacy policies read, checked, compiled, run, and compared with a
release.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer
from rich.markup import escape

from sfumato.core import environment
from sfumato.core.fields import Document
from sfumato.core.options import CommandOption
from sfumato.core.portable import cannot_promise
from sfumato.core.source import Intake
from sfumato.errors import ParameterError, ReleaseRefused, UnreadableInput
from sfumato.interfaces.cli.command import Keywords, command
from sfumato.interfaces.cli.console import (
    documents_to_stdout,
    give_json,
    notes,
    out,
    progress,
    show_blocks,
    tell,
)
from sfumato.interfaces.cli.options import (
    Data,
    Json,
    ReadOptions,
    ShowOptions,
    read_data,
)

if TYPE_CHECKING:
    from sfumato.core.table import Table
    from sfumato.policy.compile import Compiled
    from sfumato.policy.documents import Remark
    from sfumato.policy.people import Policies

PolicyFiles = Annotated[
    list[str],
    CommandOption(
        "a policy file, preset:NAME, or a folder with one file per person", ("--policy", "-p")
    ),
]
Today = Annotated[
    str | None, CommandOption("the day to judge retention by, like 2030-12-31; by default today")
]


@dataclasses.dataclass(frozen=True)
class DayOptions:
    """The days that retention is judged by."""

    panel: ClassVar[str] = "How long data are kept"
    today: Today = None
    ended: Annotated[
        str | None, CommandOption("the day the purpose ended, for retention that counts from it")
    ] = None

    @property
    def dates(self) -> dict[str, datetime.date | None]:
        """The same as dates, by name."""
        return {"today": _day(self.today), "ended": _day(self.ended)}


@command()
def lint(
    files: Annotated[
        list[str], typer.Argument(help="policy files, folders of them, or preset:NAME")
    ],
    data: Annotated[
        str | None, CommandOption("a table whose columns the policy should name")
    ] = None,
    today: Today = None,
    json: Json = False,
    *,
    reading: ReadOptions,
) -> None:
    """Find what is inconsistent in policies, with rule, line and path; exit code 1 when one is
    unusable, 5 when unreadable.
    """
    from sfumato.policy.lint import UNREADABLE, lint_file
    from sfumato.policy.people import policy_files

    columns = None
    if data is not None:
        columns = read_data(data, quiet=True, intake=reading.intake).columns
    day = _day(today) or _today()
    remarks: dict[str, list[Remark]] = {}
    for name in files:
        paths = [name]
        if Path(name).is_dir():
            paths = [str(path) for path in policy_files(Path(name))]
        for path in paths:
            remarks[path] = lint_file(path, today=day, columns=columns)
    if json:
        give_json({path: [remark.to_dict() for remark in remarks[path]] for path in remarks})
    # All remarks of all files are shown before the exit code is decided.
    broken = set()
    for path, file_remarks in remarks.items():
        for remark in file_remarks:
            if not json:
                out().print(f"{path}: {remark}", markup=False, soft_wrap=True)
            if remark.severity == "error":
                # Warnings are told but do not fail a pipeline.
                broken.add(remark.rule)
    if broken:
        # Of a file that cannot be read nothing is known, which outweighs a broken rule.
        raise typer.Exit(UnreadableInput.exit_code if UNREADABLE in broken else 1)


@dataclasses.dataclass(frozen=True)
class PolicyChoices:
    """What policies leave open, in the words of the command line."""

    panel: ClassVar[str] = "How policies are applied"
    by: Annotated[
        str | None, CommandOption("column of the person, for a folder of people's policies")
    ] = None
    table: Annotated[
        Path | None, CommandOption("a recipe: roles and hierarchies", ("--recipe", "-r"))
    ] = None
    meet: Annotated[
        list[str] | None, CommandOption("an additional promise, like k_anonymity:5")
    ] = None
    key: Annotated[str | None, CommandOption("key for pseudonyms: a file, or env:NAME")] = None

    @property
    def options(self) -> Document:
        """The same as compiling takes it; a promise without its degree is refused."""
        from sfumato.core import registry

        questions = [registry.ask(text) for text in self.meet or ()]
        # A promise without its degree would hold of everything.
        if any(question.left_open for question in questions):
            raise ParameterError("--meet needs a degree, like k_anonymity:5")
        options: Document = {"meet": tuple(question.model for question in questions)}
        if self.key:
            # env:NAME is a variable, anything else the path of a file.
            variable = self.key.removeprefix("env:")
            if variable == self.key:
                options["key"] = {"file": self.key}
            else:
                options["key"] = {"env": variable}
        return options

    def read(self, data: str, intake: Intake, *, quiet: bool) -> Table:
        """The table, with the roles and hierarchies that the recipe gives it."""
        from sfumato.core import recipe_files as recipes

        if self.table is None:
            return read_data(data, quiet=quiet, intake=intake)
        recipe = recipes.load(self.table)
        dataset = read_data(data, quiet=quiet, intake=intake, recipe=recipe)
        return dataset.with_schema(recipe.schema)


COMPILE_OPTIONS = "sfumato.policy.compile:Options"


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicyOptions(ShowOptions):
    """The policies."""

    policy: PolicyFiles


@command("sfumato.policy.compile:compile_policies", COMPILE_OPTIONS)
def compile_recipe(
    data: Data,
    *,
    files: PolicyOptions,
    use: Keywords,
    settings: Keywords,
    choices: PolicyChoices,
    retention: DayOptions,
    reading: ReadOptions,
) -> None:
    """Print the recipe that enforces policies on a table, to read and to edit; decisions go to
    stderr.
    """
    from sfumato.core import recipe_files as recipes
    from sfumato.policy.compile import compile_policies
    from sfumato.policy.people import Policies

    policies = Policies.load(*files.policy)
    dataset = choices.read(data, reading.intake, quiet=files.quiet)
    # Policies differ by person, so each row is first told whose policy it falls under.
    if policies.groups and choices.by is not None:
        dataset = policies.assigned(dataset, choices.by)
    options = {**use, **settings, **choices.options, **retention.dates}
    compiled = compile_policies(policies, dataset, **options)
    _tell_decisions(compiled, quiet=files.quiet)
    if policies.groups:
        tell(
            "this recipe needs a column with each person's policy; sfumato policy run adds it",
            quiet=files.quiet,
        )
    if files.json:
        decisions = [
            {"rule": decision.rule, "subject": decision.subject, "text": decision.text}
            for decision in compiled.decisions
        ]
        give_json(
            {
                "recipe": recipes.to_dict(compiled.recipe),
                "decisions": decisions,
                "refused": dict(compiled.refused),
            }
        )
    else:
        documents_to_stdout().write(recipes.dump(compiled.recipe))


@dataclasses.dataclass(frozen=True, kw_only=True)
class PolicyRunFiles(PolicyOptions):
    """Policies, and where the release goes."""

    output: Annotated[str, CommandOption("folder to make", ("--output", "-o"))]
    force: Annotated[
        bool, CommandOption("replace an earlier release in that folder", ("--force",))
    ] = False
    purpose: Annotated[str | None, CommandOption("what the data are used for")] = None
    every_use: Annotated[
        bool,
        CommandOption("every purpose for every recipient that the policies allow", ("--all",)),
    ] = False


@command("sfumato.policy.enforce:enforce", COMPILE_OPTIONS, without=("purpose",))
def run(
    data: Data,
    *,
    files: PolicyRunFiles,
    use: Keywords,
    settings: Keywords,
    choices: PolicyChoices,
    retention: DayOptions,
    reading: ReadOptions,
) -> None:
    """Make a release under policies: authorise, pseudonymize, personal levels, promises, verdicts,
    compliance record.
    """
    from sfumato.core.exchange import refuse_existing
    from sfumato.policy.enforce import enforce
    from sfumato.policy.people import Policies

    # A folder that may not be replaced is refused before the long work.
    refuse_existing(Path(files.output), force=files.force)
    if (files.purpose is None) == (not files.every_use):
        raise ParameterError("give --purpose for one release, or --all for every use")
    policies = Policies.load(*files.policy)
    dataset = choices.read(data, reading.intake, quiet=files.quiet)
    options = {**settings, **choices.options, **retention.dates}
    if files.purpose is None:
        if use or files.force:
            raise ParameterError(
                "--all takes no --recipient, --seed or --force: it makes a new folder with all "
                "releases, each with a seed of its own"
            )
        _run_all(policies, dataset, files, {"by": choices.by, **options})
        return
    options |= {"purpose": files.purpose, **use}
    with progress("enforcing", quiet=files.quiet) as on_progress:
        enforced = enforce(policies, dataset, by=choices.by, progress=on_progress, **options)
    folder = enforced.write(files.output, force=files.force)
    _tell_decisions(enforced.compiled, quiet=files.quiet)
    if files.json:
        give_json({**enforced.record, "folder": str(folder)})
    else:
        show_blocks(enforced.release.blocks())
    tell(
        f"share  {folder / 'share'}\nkeep   {folder / 'owner'}: with compliance.json",
        quiet=files.quiet,
    )
    # Only a folder that replaces another one is exchanged.
    exchange = ("exchange",) if files.force else ()
    notes(cannot_promise("modes", "locks", *exchange), quiet=files.quiet)


def _run_all(policies: Policies, dataset: Table, files: PolicyRunFiles, options: Document) -> None:
    """Make every release, and show who gets what; exit code as of a refused release where an
    allowed use has none.
    """
    from sfumato.policy.batch import enforce_all

    with progress("enforcing", quiet=files.quiet) as on_progress:
        found = enforce_all(policies, dataset, files.output, progress=on_progress, **options)
    if files.json:
        give_json({**found.to_dict(), "folder": files.output})
    else:
        show_blocks(found.blocks())
    tell(
        f"{files.output}: in every folder share is for the recipient, owner stays; uses.json stays",
        quiet=files.quiet,
    )
    if not found.complete:
        raise typer.Exit(ReleaseRefused.exit_code)


@dataclasses.dataclass(frozen=True, kw_only=True)
class UseOptions:
    """The policies, and the use that is compared with them."""

    policy: PolicyFiles
    purpose: Annotated[str, CommandOption("what the data are used for")]
    recipient: Annotated[
        str | None, CommandOption("who receives them; by default the controller itself")
    ] = None
    original: Annotated[
        str | None, CommandOption("the original table, for models that compare with it")
    ] = None
    json: Json = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeaningOptions:
    """What columns mean to rules about numbers and uses."""

    age: Annotated[
        list[str] | None, CommandOption("columns that are ages, for rules about numbers")
    ] = None
    zip_code: Annotated[
        list[str] | None, CommandOption("columns that are ZIP codes", ("--zip",))
    ] = None
    date: Annotated[list[str] | None, CommandOption("columns that are dates")] = None

    @property
    def numbers(self) -> Mapping[str, list[str]]:
        """The columns by what their numbers are."""
        return {"age": self.age or [], "zip": self.zip_code or [], "date": self.date or []}


@command("sfumato.policy.comply:hold_against")
def comply(
    folder: Annotated[
        Path, typer.Argument(help="the shared folder, the one with certificate.json")
    ],
    *,
    use: UseOptions,
    retention: DayOptions,
    meaning: MeaningOptions,
    storage: Keywords,
    reading: ReadOptions,
) -> None:
    """Hold a release against policies it need not have been made for; exit code 1 with reasons when
    one is not kept.
    """
    from sfumato.policy.compile import Use
    from sfumato.policy.comply import hold_against

    original = None
    if use.original:
        original = read_data(use.original, quiet=True, intake=reading.intake)
    dates = retention.dates
    compliance = hold_against(
        folder,
        use.policy,
        Use(use.purpose, use.recipient, dates["today"] or _today(), dates["ended"]),
        original=original,
        numbers=meaning.numbers,
        **storage,
    )
    if use.json:
        give_json(compliance.to_dict())
    else:
        out().print(str(compliance), markup=False, soft_wrap=True)
    if not compliance.holds:
        raise typer.Exit(1)


@command()
def export(
    to: Annotated[
        str, CommandOption("ours, lpl-a, lpl-b, lpl-xml, dpv; schema: the JSON Schema of ours")
    ],
    source: Annotated[
        str | None, typer.Argument(help="a policy file, preset:NAME, or a shared folder (dpv)")
    ] = None,
) -> None:
    """Print a policy in another language, or what was released in terms of DPV."""
    from sfumato.policy.dialects.dialect_detection import load_policy, write_policy
    from sfumato.policy.dialects.own_format import json_schema
    from sfumato.policy.documents import as_json

    # The schema is about the language itself, so it needs no policy.
    if to == "schema":
        text = as_json(json_schema())
    elif source is None:
        raise ParameterError("say which policy to export, or --to schema")
    elif Path(source).is_dir():
        text = as_json(_release_in_dpv(Path(source), to))
    else:
        text = write_policy(load_policy(source), to)
    documents_to_stdout().write(text)


def _release_in_dpv(folder: Path, to: str) -> Document:
    from sfumato.policy.dialects.dpv import release_to_dpv
    from sfumato.policy.enforce import read_record
    from sfumato.release.certificate_files import read_certificate

    if to != "dpv":
        raise ParameterError("a release is exported in DPV terms: --to dpv")
    return release_to_dpv(read_certificate(folder, "table"), read_record(folder))


def _day(text: str | None) -> datetime.date | None:
    if text is None:
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise ParameterError("a day is written like 2030-12-31") from None


def _today() -> datetime.date:
    return environment.now().date()


def _tell_decisions(compiled: Compiled, *, quiet: bool) -> None:
    """Say what was decided on the way."""
    for decision in compiled.decisions:
        tell(f"[dim]{escape(str(decision))}[/]", quiet=quiet)
    for label, reason in compiled.refused.items():
        tell(f"[dim]left out: {escape(label)}: {escape(reason)}[/]", quiet=quiet)
