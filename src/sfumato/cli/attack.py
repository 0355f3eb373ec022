"""``sfumato attack``: let intruders try a release before someone else does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.options import Decimal, Delimiter, Encoding, Json, Quiet, read_data

if TYPE_CHECKING:
    from rich.table import Table

    from sfumato.core.attack import Intruder
    from sfumato.core.pair import Pair
    from sfumato.intruders.report import AttackReport, Tried


def attack(
    folder: Annotated[Path, typer.Argument(help="the folder that run wrote, with share and owner")],
    original: Annotated[str, typer.Option(help="the original table")],
    intruder: Annotated[
        str | None, typer.Option(help="a table an intruder has, instead of the named intruders")
    ] = None,
    knows: Annotated[str | None, typer.Option(help="columns the intruder knows, with commas between")] = None,
    by: Annotated[
        str | None, typer.Option(help="column that identifies people in both tables, to keep the score")
    ] = None,
    only: Annotated[list[str] | None, typer.Option("--attack", help="an attack to try, by name; repeat it")] = None,
    seconds: Annotated[float, typer.Option(help="time budget of all attacks together")] = 60.0,
    sample: Annotated[int, typer.Option(help="records the named intruders look for")] = 2000,
    threshold: Annotated[float, typer.Option(help="rate of success above which an attack counts", min=0, max=1)] = 0.2,
    sign: Annotated[Path | None, typer.Option(help="private key (PEM), for a certificate that is signed")] = None,
    keep: Annotated[bool, typer.Option(help="add what was found to the certificate and the reports")] = True,
    json: Json = False,
    quiet: Quiet = False,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    decimal: Decimal = None,
) -> None:
    """Let named intruders (prosecutor, journalist, neighbour, colleague, worst case) try what the literature knows.

    Exit code 1 when an attack that the recipe limits succeeds more often than its limit allows.
    """
    from sfumato.cli.talk import give_json, progress, tell
    from sfumato.intruders.attack import attack_release
    from sfumato.release.folder import read_release

    written = read_release(folder)
    dataset = read_data(original, quiet=quiet, delimiter=delimiter, encoding=encoding, decimal=decimal)
    pair = written.beside(dataset)
    who = _intruder(pair, intruder, knows, by)
    with progress("attacking", quiet=quiet) as told:
        report = attack_release(
            pair,
            steps=written.recipe.steps,
            intruder=who,
            only=only or None,
            models=written.recipe.meet,
            limits={name: float(limit) for name, limit in written.recipe.limits.items()},
            threshold=threshold,
            seconds=seconds,
            sample=sample,
            progress=told,
        )
    if keep:
        written.add("attacks", report.to_dict(), sign=sign)
    if json:
        give_json(report.to_dict())
    else:
        show(report)
    if keep:
        tell(f"added to {folder / 'share' / 'certificate.json'} and both reports", quiet=quiet)
    if any(tried.limit is not None and tried.exceeds for tried in report.tried):
        raise typer.Exit(1)


def _intruder(pair: Pair, file: str | None, knows: str | None, by: str | None) -> Intruder | None:
    from sfumato.core.randomness import Seed
    from sfumato.errors import ParameterError
    from sfumato.intruders.attack import DEFAULT_SAMPLE
    from sfumato.intruders.knowledge import intruder_from, intruder_with

    columns = [c.strip() for c in knows.split(",") if c.strip()] if knows else None
    if file is None:
        if by is not None:
            raise ParameterError("--by keeps the score of an intruder's own table; give it with --intruder")
        return None if columns is None else intruder_from(pair, columns, sample=DEFAULT_SAMPLE, seed=Seed(0))
    return intruder_with(pair, read_data(file, quiet=True), columns, by=by)


def show(report: AttackReport) -> None:
    """Print a report for people: a bar an attack, with its interval, what guessing gives, and the threshold."""
    from rich.markup import escape

    from sfumato.cli.talk import out, share

    console = out()
    console.print(
        f"[bold]{len(report.tried)} attacks[/] on {report.records:,} released records; "
        f"{report.looked_for:,} people looked for, {report.seconds:.0f} s\n",
        soft_wrap=True,
    )
    console.print(_table(report))
    worst = report.worst
    if worst is not None:
        console.print(
            f"\nStrongest: [bold]{escape(worst.intruder)}[/], {worst.finding.attack.replace('_', ' ')}, "
            f"{share(worst.finding.value)}. {escape(worst.finding.sentence)}",
            soft_wrap=True,
        )
    for skipped in report.skipped:
        console.print(
            f"[dim]not tried: {skipped.intruder}, {skipped.attack.replace('_', ' ')}: {escape(skipped.reason)}[/]",
            soft_wrap=True,
        )


def _table(report: AttackReport) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for column in ("intruder", "attack", "succeeds", "", "by guessing", "limit"):
        table.add_column(column, overflow="fold")
    for tried in report.tried:
        table.add_row(*_row(tried))
    return table


def _row(tried: Tried) -> tuple[str, ...]:
    from sfumato.cli.talk import bar, share

    found = tried.finding
    color = "red" if tried.exceeds else "green"
    between = "" if found.interval is None else f" [dim]{share(found.interval[0])}–{share(found.interval[1])}[/]"
    guess = "–" if found.baseline is None else share(found.baseline)
    value = f"{share(found.value)}{between}"
    return (
        tried.intruder,
        found.attack.replace("_", " "),
        f"[{color}]{bar(found.value, 10)}[/]",
        value,
        guess,
        share(tried.threshold if tried.limit is None else tried.limit),
    )
