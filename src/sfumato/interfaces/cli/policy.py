"""``sfumato policy``: privacy policies read, checked, compiled, run, and held against a release."""

from __future__ import annotations

import dataclasses
import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from rich.markup import escape

from sfumato.core import environment
from sfumato.core.options import CommandOption
from sfumato.core.portable import cannot_promise
from sfumato.core.source import Intake
from sfumato.errors import ParameterError, UnreadableInput
from sfumato.interfaces.cli.command import command
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
    Quiet,
    ReadOptions,
    ShowOptions,
    read_data,
)

if TYPE_CHECKING:
    from sfumato.core.table import Table
    from sfumato.policy.compile import Compiled
    from sfumato.policy.people import Policies

PolicyFiles = Annotated[
    list[str],
    CommandOption(
        "a policy file, preset:NAME, or a folder with one file per person", ("--policy", "-p")
    ),
]
PurposeName = Annotated[str, CommandOption("what the data are used for")]
RecipientName = Annotated[
    str | None, CommandOption("who receives them; left out: the controller itself")
]
Today = Annotated[
    str | None, CommandOption("the day to judge retention by, like 2030-12-31; left out: today")
]
Ended = Annotated[
    str | None, CommandOption("the day the purpose ended, for retention that counts from it")
]


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

    columns = read_data(data, quiet=True, intake=reading.intake).columns if data else None
    every = [
        str(one)
        for file in files
        for one in (policy_files(Path(file)) if Path(file).is_dir() else [file])
    ]
    by_file = {
        file: lint_file(file, today=_day(today) or _now(), columns=columns) for file in every
    }
    if json:
        give_json(
            {
                file: [finding.to_dict() for finding in findings]
                for file, findings in by_file.items()
            }
        )
    else:
        for file, findings in by_file.items():
            for finding in findings:
                out().print(f"{file}: {finding}", markup=False, soft_wrap=True)
    broken = {
        finding.rule
        for findings in by_file.values()
        for finding in findings
        if finding.severity == "error"
    }
    if broken:
        raise typer.Exit(UnreadableInput.exit_code if UNREADABLE in broken else 1)


@dataclasses.dataclass(frozen=True)
class Choices:
    """What is decided about the use of a table under policies, as it was said on the command
    line.
    """

    panel: ClassVar[str] = "How policies are kept"
    recipient: RecipientName = None
    by: Annotated[
        str | None, CommandOption("column of the person, for a folder of people's policies")
    ] = None
    table: Annotated[
        Path | None, CommandOption("a recipe: roles and hierarchies", ("--recipe", "-r"))
    ] = None
    on_conflict: Annotated[
        str, CommandOption("floor above cap: privacy, suppress_rows or fail")
    ] = "privacy"
    floor: Annotated[bool, CommandOption("raise everybody to the largest minimum level")] = False
    budget: Annotated[
        float, CommandOption("share of records that may be suppressed", minimum=0, maximum=1)
    ] = 0.0
    meet: Annotated[list[str] | None, CommandOption("a promise besides, like k_anonymity:5")] = None
    key: Annotated[str | None, CommandOption("key for pseudonyms: a file, or env:NAME")] = None
    vault: Annotated[str | None, CommandOption("encrypted file that remembers pseudonyms")] = None
    today: Today = None
    ended: Ended = None

    @property
    def options(self) -> dict[str, Any]:
        """What compiling is told; what cannot be meant is refused."""
        from sfumato.core import registry

        if self.on_conflict not in ("privacy", "suppress_rows", "fail"):
            raise ParameterError(
                f"--on-conflict is privacy, suppress_rows or fail, not {self.on_conflict!r}"
            )
        asked = [registry.ask(text) for text in self.meet or []]
        if any(question.left_open for question in asked):
            raise ParameterError("--meet needs a degree, like k_anonymity:5")
        key = self.key or ""
        named = {"env": key.removeprefix("env:")} if key.startswith("env:") else {"file": key}
        return {
            "on_conflict": self.on_conflict,
            "floor": self.floor,
            "budget": self.budget,
            "meet": tuple(question.model for question in asked),
            "key": named if key else None,
            "vault": self.vault,
            "today": _day(self.today),
            "ended": _day(self.ended),
        }


@command()
def compile_recipe(
    data: Data,
    policy: PolicyFiles,
    purpose: PurposeName,
    json: Json = False,
    quiet: Quiet = False,
    *,
    choices: Choices,
    reading: ReadOptions,
) -> None:
    """Print the recipe that enforces policies on a table, to read and to edit; decisions go to
    stderr.
    """
    from sfumato.core import recipe_files as recipes
    from sfumato.policy.compile import compile_policies
    from sfumato.policy.people import Policies

    policies = Policies.load(*policy)
    dataset = _assigned(
        policies, _table(data, choices.table, intake=reading.intake, quiet=quiet), choices.by
    )
    compiled = compile_policies(
        policies, dataset, purpose=purpose, recipient=choices.recipient, **choices.options
    )
    _tell(compiled, quiet=quiet)
    if policies.groups:
        tell(
            "this recipe needs a column with each person's policy; sfumato policy run adds it",
            quiet=quiet,
        )
    if json:
        decisions = [
            {"rule": d.rule, "subject": d.subject, "text": d.text} for d in compiled.decisions
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
class PolicyRunFiles(ShowOptions):
    """Policies, the purpose, and where the release goes."""

    policy: PolicyFiles
    purpose: PurposeName
    output: Annotated[str, CommandOption("folder to make", ("--output", "-o"))]
    seed: Annotated[
        str | None,
        CommandOption("hexadecimal seed, to repeat a run; short ones mark a rehearsal"),
    ] = None
    force: Annotated[
        bool, CommandOption("replace an earlier release in that folder", ("--force",))
    ] = False


@command()
def run(
    data: Data,
    *,
    files: PolicyRunFiles,
    choices: Choices,
    reading: ReadOptions,
) -> None:
    """Make a release under policies: authorise, pseudonymize, personal levels, promises, verdicts,
    compliance record.
    """
    from sfumato.core.exchange import refuse_existing
    from sfumato.policy.enforce import enforce
    from sfumato.policy.people import Policies

    refuse_existing(Path(files.output), force=files.force)
    policies = Policies.load(*files.policy)
    dataset = _table(data, choices.table, intake=reading.intake, quiet=files.quiet)
    use = {
        "purpose": files.purpose,
        "recipient": choices.recipient,
        "by": choices.by,
        **choices.options,
    }
    with progress("enforcing", quiet=files.quiet) as on_progress:
        enforced = enforce(policies, dataset, seed=files.seed, progress=on_progress, **use)
    folder = enforced.write(files.output, force=files.force)
    _tell(enforced.compiled, quiet=files.quiet)
    if files.json:
        give_json({**enforced.record, "folder": str(folder)})
    else:
        show_blocks(enforced.release.blocks())
    tell(
        f"share  {folder / 'share'}\nkeep   {folder / 'owner'}: with compliance.json",
        quiet=files.quiet,
    )
    notes(
        cannot_promise("modes", "locks", *(("exchange",) if files.force else ())), quiet=files.quiet
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class UseOptions:
    """The policies, and the use that is held against them."""

    policy: PolicyFiles
    purpose: PurposeName
    recipient: RecipientName = None
    original: Annotated[
        str | None, CommandOption("the original table, for models that compare with it")
    ] = None
    today: Today = None
    ended: Ended = None
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
    category: Annotated[
        list[str] | None, CommandOption("data categories, for SPECIAL, DPV and ODRL")
    ] = None
    days: Annotated[
        int | None, CommandOption("days of storage, for SPECIAL, DPV and ODRL", minimum=0)
    ] = None


@command()
def comply(
    folder: Annotated[
        Path, typer.Argument(help="the shared folder, the one with certificate.json")
    ],
    *,
    use: UseOptions,
    meaning: MeaningOptions,
    reading: ReadOptions,
) -> None:
    """Hold a release against policies it need not have been made for; exit code 1 with reasons when
    one is not kept.
    """
    from sfumato.policy.compile import Use
    from sfumato.policy.comply import hold_against

    numbers = {"age": meaning.age or [], "zip": meaning.zip_code or [], "date": meaning.date or []}
    held = hold_against(
        folder,
        use.policy,
        Use(use.purpose, use.recipient, _day(use.today) or _now(), _day(use.ended)),
        original=read_data(use.original, quiet=True, intake=reading.intake)
        if use.original
        else None,
        numbers=numbers,
        categories=meaning.category or [],
        days=meaning.days,
    )
    if use.json:
        give_json(held.to_dict())
    else:
        out().print(str(held), markup=False, soft_wrap=True)
    if not held.holds:
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

    if to == "schema":
        documents_to_stdout().write(as_json(json_schema()))
        return
    if source is None:
        raise ParameterError("say which policy to export, or --to schema")
    if Path(source).is_dir():
        documents_to_stdout().write(as_json(_released_in_dpv(Path(source), to)))
        return
    documents_to_stdout().write(write_policy(load_policy(source), to))


def _released_in_dpv(folder: Path, to: str) -> dict[str, Any]:
    from sfumato.policy.dialects.dpv import release_to_dpv
    from sfumato.policy.enforce import read_record
    from sfumato.release.certificate_files import read_certificate

    if to != "dpv":
        raise ParameterError("a release is exported in DPV terms: --to dpv")
    return release_to_dpv(read_certificate(folder, "table"), read_record(folder))


def _table(data: str, recipe: Path | None, *, intake: Intake, quiet: bool) -> Table:
    """The table, with the roles and hierarchies that a recipe gives it."""
    from sfumato.core import recipe_files as recipes

    loaded = None if recipe is None else recipes.load(recipe)
    dataset = read_data(data, quiet=quiet, intake=intake, recipe=loaded)
    return dataset if loaded is None else dataset.with_schema(loaded.schema)


def _assigned(policies: Policies, dataset: Table, by: str | None) -> Table:
    return policies.assigned(dataset, by) if policies.groups and by is not None else dataset


def _day(text: str | None) -> datetime.date | None:
    try:
        return None if text is None else datetime.date.fromisoformat(text)
    except ValueError:
        raise ParameterError("a day is written like 2030-12-31") from None


def _now() -> datetime.date:
    return environment.now().date()


def _tell(compiled: Compiled, *, quiet: bool) -> None:
    """Say what was decided on the way."""
    for decision in compiled.decisions:
        tell(f"[dim]{escape(str(decision))}[/]", quiet=quiet)
    for label, reason in compiled.refused.items():
        tell(f"[dim]left out: {escape(label)}: {escape(reason)}[/]", quiet=quiet)


def build() -> typer.Typer:
    """The commands about policies."""
    app = typer.Typer(
        help="Privacy policies: check, compile, run, hold against a release, export.",
        no_args_is_help=True,
    )
    commands = (
        ("lint", lint),
        ("compile", compile_recipe),
        ("run", run),
        ("comply", comply),
        ("export", export),
    )
    for name, function in commands:
        app.command(name)(function)
    return app
