"""``sfumato check``, ``sfumato verify`` and ``sfumato keygen``: judge a release, recompute its certificate, and a key to sign one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from sfumato.core.evidence import needed
from sfumato.core.source import NOTHING_SAID, Intake
from sfumato.errors import OutputError, ParameterError
from sfumato.interfaces.cli.console import give_json, out, progress, tell
from sfumato.interfaces.cli.options import (
    Data,
    Engine,
    Json,
    People,
    Population,
    Quiet,
    RecipeFile,
    TableName,
    open_data,
    read_beside,
    reading,
    refuse_options_of_others,
)

if TYPE_CHECKING:
    from sfumato.core.model import Verdict
    from sfumato.release.verification import Verification

# ``sfumato check``: a gate for pipelines.


@reading
def check(
    data: Data,
    recipe: RecipeFile,
    original: Annotated[
        str | None, typer.Option(help="the table before anything was released of it, for promises that compare with it")
    ] = None,
    population: Population = None,
    people: People = None,
    engine: Engine = None,
    table: TableName = None,
    json: Json = False,
    quiet: Quiet = False,
    intake: Intake = NOTHING_SAID,
) -> None:
    """Judge a released table by a recipe; exit code 1 when a promise does not hold or a direct identifier is left."""
    from sfumato.core import recipe_files as recipes
    from sfumato.core.shape import Shape
    from sfumato.interfaces.api import check as judge
    from sfumato.release.read_back import read_certified

    loaded = recipes.load_any(recipe)
    refuse_options_of_others(loaded.shape, people=people, population=population, engine=engine, table=table)
    if loaded.shape is not Shape.TABLE:
        with progress("judging", quiet=quiet):
            verdicts = judge(data, loaded, original=original, people=people, said=intake)
        _tell_verdicts(verdicts, json=json)
        return
    certified = None if data == "-" or table or intake.said() else read_certified(Path(data))
    if certified is None:
        as_said = dataclasses.replace(loaded, intake=loaded.intake.layout)
        dataset = open_data(data, quiet=quiet, intake=intake, recipe=as_said, engine=engine, table=table)
    else:
        dataset = certified
        tell("[dim]note: read as the certificate beside it says[/]", quiet=quiet)
    with progress("judging", quiet=quiet):
        before = None if original is None else open_data(original, quiet=True, recipe=loaded)
        verdicts = judge(dataset, loaded, original=before, population=read_beside(population))
    if before is None and needed(loaded.meet, loaded.schema).reference:
        tell("[dim]note: the released table stands for the original one; --original names that[/]", quiet=quiet)
    _tell_verdicts(verdicts, json=json)


def _tell_verdicts(verdicts: Sequence[Verdict], *, json: bool) -> None:
    """Say what was judged; leave with 1 where a promise does not hold."""
    if json:
        give_json({"holds": all(verdicts), "verdicts": [v.to_dict() for v in verdicts]})
    else:
        for verdict in verdicts:
            mark = "[green]✓[/]" if verdict.holds else "[red]✗[/]"
            out().print(f"{mark} [bold]{escape(verdict.promise)}[/]: {escape(verdict.sentence)}", soft_wrap=True)
    if not all(verdicts):
        raise typer.Exit(1)


@reading
def verify(
    folder: Annotated[
        Path, typer.Argument(help="the shared folder, the one with certificate.json, or the one that run wrote")
    ],
    original: Annotated[str | None, typer.Option(help="the original table, to check what needs it")] = None,
    owner: Annotated[Path | None, typer.Option(help="the owner's folder; found beside 'share' when not given")] = None,
    key: Annotated[Path | None, typer.Option(help="public key (PEM) of whom you trust to sign")] = None,
    population: Population = None,
    people: People = None,
    table: TableName = None,
    json: Json = False,
    quiet: Quiet = False,
    intake: Intake = NOTHING_SAID,
) -> None:
    """Recompute what a certificate claims: which claims hold, which fail, which need the original.

    Exit code 0 when every promise was checked and holds, or a key you trust (--key) vouches for it; 1 when a claim is false; 7 when
    nothing is false and a promise needs the original.
    """
    from sfumato.interfaces.api import verify as recompute
    from sfumato.release.certificates import is_aggregate, read_any_certificate, shape_of

    folder = _shared(folder)
    beside = folder.resolve().parent / "owner"
    kept = owner or (beside if original and beside.is_dir() else None)
    certificate = read_any_certificate(folder)
    if is_aggregate(certificate):
        _verify_table(
            folder,
            kept or owner_of(folder),
            key,
            json=json,
            original=original,
            population=population,
            people=people,
            table=table,
        )
        return
    shape = shape_of(certificate)
    refuse_options_of_others(shape, people=people, population=population, table=table)
    with progress("verifying", quiet=quiet):
        how: dict[str, Any] = {"people": people, "said": intake, "table": table}
        verification = recompute(
            folder, original=original, population=read_beside(population), owner=kept, trusted_key=key, **how
        )
    tell_claims(verification, json=json)


def _shared(folder: Path) -> Path:
    """The shared folder: the one that is named, or the one in it where ``run`` wrote both."""
    from sfumato.release.certificates import FILE

    inner = folder / "share"
    return inner if not (folder / FILE).is_file() and (inner / FILE).is_file() else folder


def owner_of(folder: Path) -> Path | None:
    """The owner's folder beside a shared one, where it is."""
    beside = folder.resolve().parent / "owner"
    return beside if beside.is_dir() else None


def _verify_table(folder: Path, owner: Path | None, key: Path | None, *, json: bool, **given: Any) -> None:
    """Check a published table of counts or sums; the owner's lock, where it is, lets the audit be done again."""
    from sfumato.interfaces.api import verify as recompute

    named = [f"--{name}" for name, value in given.items() if value]
    if named:
        raise ParameterError(
            f"{' and '.join(named)} goes with releases of records; this is a published table of counts or sums"
        )
    tell_claims(recompute(folder, owner=owner, trusted_key=key), json=json)


COLOURS = {"holds": "green", "fails": "red", "needs original": "yellow", "vouched": "green"}


def tell_claims(verification: Verification, *, json: bool) -> None:
    """Say what comes of checking and which claims hold; leave with 1 where one fails, with 7 where a promise could not be checked."""
    from sfumato.release.verification import MARKS

    if json:
        give_json(verification.to_dict())
    else:
        out().print(f"[bold]{escape(verification.headline)}[/]", soft_wrap=True)
        for claim in verification.claims:
            mark = f"[{COLOURS[claim.status]}]{MARKS[claim.status]}[/]"
            out().print(f"{mark} [bold]{escape(claim.name)}[/]: {escape(claim.detail)}", soft_wrap=True)
    if verification.exit_code:
        raise typer.Exit(verification.exit_code)


# ``sfumato keygen``: a key to sign certificates with.


def keygen(
    file: Annotated[Path, typer.Argument(help="where the private key goes, for example office.pem")],
    quiet: Quiet = False,
) -> None:
    """Make an Ed25519 key pair: the private key signs certificates, the public one (.pub.pem) is given away."""
    from sfumato.release.certificates import new_key

    try:
        new_key(file)
    except FileExistsError:
        raise OutputError(f"{file} already exists; a key is never overwritten") from None
    except OSError as error:
        raise OutputError(f"cannot write {file}: {error.strerror}") from None
    tell(f"keep {file} secret; give {file.with_suffix('.pub.pem')} to whoever verifies", quiet=quiet)
