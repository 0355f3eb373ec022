"""``sfumato check`` and ``sfumato verify``: judge a release, and recompute its certificate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.core.evidence import needed
from sfumato.core.options import Option
from sfumato.core.words import join_words
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.command import command
from sfumato.interfaces.cli.console import give_json, notes, out, progress, show_blocks, tell
from sfumato.interfaces.cli.options import (
    DataOptions,
    EngineOptions,
    Json,
    Quiet,
    ReadOptions,
    RecipeFile,
    open_data,
    read_beside,
    require_options,
)

if TYPE_CHECKING:
    from sfumato.core.model import Verdict
    from sfumato.release.verification import Verification

# ``sfumato check``: a gate for pipelines.


@command()
def check(
    recipe: RecipeFile,
    data: Annotated[str | None, typer.Argument(help="the released table; none with --sql")] = None,
    original: Annotated[
        str | None,
        Option("the table before anything was released of it, for promises that compare with it"),
    ] = None,
    sql: Annotated[bool, Option("print the promises as a query on --table", ("--sql",))] = False,
    json: Json = False,
    quiet: Quiet = False,
    *,
    given: EngineOptions,
    reading: ReadOptions,
) -> None:
    """Judge a released table by a recipe; exit code 1 when a promise does not hold or a direct
    identifier is left.

    With --sql nothing is read: the promises are printed as a query that returns a row for every
    class that breaks one, a test for dbt.
    """
    from sfumato.core import recipe_files as recipes
    from sfumato.release.check import check_released, read_to_check

    if sql:
        beside = {
            **vars(given),
            **vars(reading),
            "table": None,
            "original": original,
            "json": json or None,
        }
        if (
            data is not None
            or given.table is None
            or any(value is not None for value in beside.values())
        ):
            raise ParameterError(
                "--sql goes with a recipe and the name of the table only: check --sql -r"
                " visits.yaml --table visits"
            )
        _print_sql(recipe, given.table)
        return
    if data is None:
        raise ParameterError("name the released table: sfumato check visits.csv -r visits.yaml")
    loaded = recipes.load_any(recipe)
    require_options(loaded.shape, **vars(given))
    place: dict[str, Any] = {"people": given.people, "engine": given.engine, "table": given.table}
    files = read_to_check(data, loaded, said=reading.intake, **place)
    notes(files.notes, quiet=quiet)
    with progress("judging", quiet=quiet):
        before = None if original is None else open_data(original, quiet=True, recipe=loaded)
        verdicts = check_released(
            files, loaded, original=before, population=read_beside(given.population)
        )
    if before is None and needed(loaded.meet, loaded.schema).reference:
        tell(
            "[dim]note: the released table stands for the original one; --original names that[/]",
            quiet=quiet,
        )
    _tell_verdicts(verdicts, json=json)


def _print_sql(recipe: Path, table: str) -> None:
    """The promises of a recipe as a query; ``table`` is its name as SQL has it, such as
    ``{{ ref('visits') }}``.
    """
    from sfumato.core import recipe_files as recipes
    from sfumato.interfaces.sql_tests import sql_test

    out().print(
        sql_test(recipes.load(recipe), table), soft_wrap=True, markup=False, highlight=False
    )


def _tell_verdicts(verdicts: Sequence[Verdict], *, json: bool) -> None:
    """Say what was judged; leave with 1 where a promise does not hold."""
    if json:
        give_json({"holds": all(verdicts), "verdicts": [v.to_dict() for v in verdicts]})
    else:
        show_blocks([verdict.verdict_block for verdict in verdicts])
    if not all(verdicts):
        raise typer.Exit(1)


@command()
def verify(
    folder: Annotated[
        Path,
        typer.Argument(
            help="the shared folder, the one with certificate.json, or the one that run wrote"
        ),
    ],
    original: Annotated[str | None, Option("the original table, to check what needs it")] = None,
    owner: Annotated[
        Path | None, Option("the owner's folder; found beside 'share' when not given")
    ] = None,
    key: Annotated[Path | None, Option("public key (PEM) of whom you trust to sign")] = None,
    json: Json = False,
    quiet: Quiet = False,
    *,
    given: DataOptions,
    reading: ReadOptions,
) -> None:
    """Recompute what a certificate claims: which claims hold, which fail, which need the original.

    Exit code 0 when every promise was checked and holds, or a key you trust (--key) vouches for it;
    1 when a claim is false; 7 when nothing is false and a promise needs the original.
    """
    from sfumato.core.shape import Shape
    from sfumato.interfaces.api import verify as recompute
    from sfumato.release.certificate_files import read_certificate

    folder = _shared(folder)
    beside = folder.resolve().parent / "owner"
    kept = owner or (beside if original and beside.is_dir() else None)
    shape = read_certificate(folder)["shape"]
    if shape not in set(Shape):
        refused = {"original": original, **vars(given)}
        _verify_table(folder, kept or owner_of(folder), key, json=json, **refused)
        return
    require_options(Shape(shape), **vars(given))
    with progress("verifying", quiet=quiet):
        how: dict[str, Any] = {"people": given.people, "said": reading.intake, "table": given.table}
        verification = recompute(
            folder,
            original=original,
            population=read_beside(given.population),
            owner=kept,
            trusted_key=key,
            **how,
        )
    tell_claims(verification, json=json)


def _shared(folder: Path) -> Path:
    """The shared folder: the one that is named, or the one in it where ``run`` wrote both."""
    from sfumato.release.manifest import FILE

    inner = folder / "share"
    return inner if not (folder / FILE).is_file() and (inner / FILE).is_file() else folder


def owner_of(folder: Path) -> Path | None:
    """The owner's folder beside a shared one, where it is."""
    beside = folder.resolve().parent / "owner"
    return beside if beside.is_dir() else None


def _verify_table(
    folder: Path, owner: Path | None, key: Path | None, *, json: bool, **given: Any
) -> None:
    """Check a published table of counts or sums; the owner's lock, where it is, lets the audit be
    done again.
    """
    from sfumato.interfaces.api import verify as recompute

    named = [f"--{name}" for name, value in given.items() if value]
    if named:
        raise ParameterError(
            f"{join_words(named)} goes with releases of records; this is a published table of"
            " counts or sums"
        )
    tell_claims(recompute(folder, owner=owner, trusted_key=key), json=json)


def tell_claims(verification: Verification, *, json: bool) -> None:
    """Say what comes of checking and which claims hold; leave with 1 where one fails, with 7 where
    a promise could not be checked.
    """
    if json:
        give_json(verification.to_dict())
    else:
        show_blocks(verification.blocks())
    if verification.exit_code:
        raise typer.Exit(verification.exit_code)
