"""``sfumato attack``: let intruders try a release before someone else does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from sfumato.core.randomness import Seed
from sfumato.core.source import NOTHING_SAID, Intake
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.console import bar, give_json, out, progress, share, tell
from sfumato.interfaces.cli.foreign_releases import Align, Control, foreign_file
from sfumato.interfaces.cli.options import (
    Json,
    People,
    Quiet,
    open_data,
    read_data,
    reading,
    refuse_options,
    refuse_people,
    shape_in,
)

if TYPE_CHECKING:
    from sfumato.core.attack import Intruder
    from sfumato.core.dataset import Dataset
    from sfumato.core.pair import Pair
    from sfumato.release.attack_report import AttackReport, Skipped, Tried


@reading
def attack(
    folder: Annotated[
        Path, typer.Argument(help="the folder that run wrote, with share and owner; or a table made elsewhere")
    ],
    original: Annotated[str, typer.Option(help="the original table")],
    recipe: Annotated[
        Path | None,
        typer.Option(
            "--recipe",
            "-r",
            help="a recipe whose roles and limits count here, instead of those the release was made with; nothing is kept then",
        ),
    ] = None,
    intruder: Annotated[
        str | None, typer.Option(help="a table an intruder has, instead of the named intruders")
    ] = None,
    knows: Annotated[str | None, typer.Option(help="columns the intruder knows, with commas between")] = None,
    called: Annotated[
        list[str] | None,
        typer.Option("--rename", help="a column of the intruder's table and its name here: years=age; repeat it"),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="column that identifies people in both tables, to keep the score")
    ] = None,
    others: Annotated[
        list[Path] | None,
        typer.Option(
            help="the folder of another release of the same people: `composition` puts both together; repeat it"
        ),
    ] = None,
    other_originals: Annotated[
        list[Path] | None,
        typer.Option(
            "--other-original",
            help="the original of each release of --others, in their order, where it is another table",
        ),
    ] = None,
    population: Annotated[
        str | None, typer.Option(help="a table of everyone: `unique_in_population` looks the released people up in it")
    ] = None,
    aux: Annotated[
        str | None,
        typer.Option(
            help="a table of other people, with columns of the release and of the intruder's table: `other_columns_linkage` learns from it"
        ),
    ] = None,
    align: Align = None,
    control: Control = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--attack",
            help="an attack to try, by name, with parameters as in a recipe: 'interval_disclosure: {kind: deviation}'; repeat it",
        ),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(help="seconds of computing after which all attacks are stopped; what was not done is unknown"),
    ] = 60.0,
    sample: Annotated[int, typer.Option(help="records the named intruders look for")] = 2000,
    threshold: Annotated[
        float, typer.Option(help="share of what guessing leaves open above which an attack is marked", min=0, max=1)
    ] = 0.2,
    people: People = None,
    sign: Annotated[Path | None, typer.Option(help="private key (PEM), for a certificate that is signed")] = None,
    keep: Annotated[
        bool | None,
        typer.Option(
            "--keep/--no-keep", help="add what was found to the certificate and the reports; usual without --recipe"
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    intake: Intake = NOTHING_SAID,
) -> None:
    """Let named intruders (prosecutor, journalist, neighbour, colleague, worst case) try what the literature knows.

    An attack that cannot be tried although it might succeed is unknown. Exit code 1 when an attack that the recipe limits
    succeeds more often than its limit allows, or is unknown. A table made elsewhere needs a recipe with the roles (-r) and --align.
    """
    from sfumato.core.recipe_files import load
    from sfumato.core.yaml_text import read_yaml
    from sfumato.interfaces.cli import shaped
    from sfumato.release.attack_run import attack_release
    from sfumato.release.folder import read_release

    wanted = None if not only else [read_yaml(text, "--attack") for text in only]
    if recipe is not None and keep:
        raise ParameterError("what is found with another recipe (-r) is not added to the certificate; leave --keep out")
    if folder.is_file() and (keep or sign is not None or others):
        raise ParameterError("--keep, --sign and --others are about a folder that run wrote; leave them out here")
    foreign = foreign_file(folder, recipe, align, control, intake)
    keep = recipe is None if keep is None else keep
    if (shape := shape_in(folder)) is not None:
        refuse_options(
            shape,
            recipe=recipe,
            intruder=intruder,
            knows=knows,
            rename=called,
            by=by,
            population=population,
            other_original=other_originals,
        )
        how: dict[str, Any] = {"people": people, "said": intake, "only": wanted, "seconds": seconds}
        kept: dict[str, Any] = {"keep": keep, "sign": sign, "show_attacks": show, "json": json, "quiet": quiet}
        shaped.attack(folder, original, others=others or [], threshold=threshold, **how, **kept)
        return
    refuse_people(people)
    said = None if recipe is None else load(recipe)
    written: Any = foreign or read_release(folder)
    if keep:
        written.require_key(sign)
    dataset = open_data(original, quiet=quiet, intake=intake, recipe=written.recipe)
    pair = written.beside(dataset)
    if said is not None:
        pair = pair.with_roles_of(said.schema)
    complete = None if aux is None else read_data(aux, quiet=True)
    who = _intruder(pair, intruder, knows, by, called or [], sample, complete)
    further = _other_releases(others or [], other_originals or [], dataset)
    everyone = None if population is None else read_data(population, quiet=True)
    bounds: dict[str, Any] = {"threshold": threshold, "seconds": seconds, "sample": sample}
    with progress("attacking", quiet=quiet) as on_progress:
        report = attack_release(
            pair,
            steps=written.recipe.steps,
            intruder=who,
            only=wanted,
            models=written.recipe.meet,
            others=further,
            population=everyone,
            aux=complete,
            limits=(said or written.recipe).limits,
            progress=on_progress,
            **bounds,
            on_outcome=lambda outcome: _tell_outcome(outcome, quiet=quiet),
        )
    if keep:
        written.add("attacks", report.to_dict(), sign=sign)
    _tell_found(report, folder if keep else None, json=json, quiet=quiet)


def _tell_outcome(outcome: Tried | Skipped, *, quiet: bool) -> None:
    """Say what came of one attack as soon as it is known; what does not apply is told at the end."""
    from sfumato.release.attack_report import Skipped

    if isinstance(outcome, Skipped):
        if outcome.unknown:
            tell(f"[dim]{escape(outcome.intruder)}, {escape(outcome.words)}:[/] [yellow]unknown[/]", quiet=quiet)
        return
    finding = outcome.finding
    tell(f"[dim]{escape(outcome.intruder)}, {escape(finding.words)}:[/] {_share(finding.value)}", quiet=quiet)


def _tell_found(report: AttackReport, changed: Path | None, *, json: bool, quiet: bool) -> None:
    """Show what was found, say where it was added, and leave with exit code 1 where a limit is not kept."""
    if json:
        give_json(report.to_dict())
    else:
        show(report)
    if changed is not None:
        tell(f"added to {changed / 'share' / 'certificate.json'} and both reports", quiet=quiet)
    if report.refused:
        raise typer.Exit(1)


def _other_releases(folders: list[Path], originals: list[Path], dataset: Any) -> tuple[Pair, ...]:
    """Further releases, each beside its original: the table that is attacked, or one that was named for each of them."""
    from sfumato.release.folder import read_table_release

    if originals and len(originals) != len(folders):
        raise ParameterError(
            f"--other-original was given {len(originals)} times and --others {len(folders)} times; give one original for each"
        )
    pairs = []
    for place, folder in enumerate(folders):
        release = read_table_release(folder)
        table = dataset
        if originals:
            table = open_data(str(originals[place]), quiet=True, intake=NOTHING_SAID, recipe=release.recipe)
        pairs.append(release.beside(table))
    return tuple(pairs)


def _intruder(
    pair: Pair, file: str | None, knows: str | None, by: str | None, called: list[str], sample: int, aux: Dataset | None
) -> Intruder | None:
    from sfumato.release.intruders import intruder_from, intruder_with, renamed

    columns = [c.strip() for c in knows.split(",") if c.strip()] if knows else None
    if file is None:
        if by is not None or called or aux is not None:
            raise ParameterError("--by, --rename and --aux are about an intruder's own table; give it with --intruder")
        return None if columns is None else intruder_from(pair, columns, sample=sample, seed=Seed(0))
    return intruder_with(pair, renamed(read_data(file, quiet=True), _names(called)), columns, by=by, aux=aux)


def _names(called: list[str]) -> dict[str, str]:
    """What the intruder calls columns, and what they are called here."""
    pairs = [[part.strip() for part in text.split("=")] for text in called]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        raise ParameterError("--rename takes the intruder's name and ours with = between: years=age")
    names = {pair[0]: pair[1] for pair in pairs}
    if len(names) < len(pairs):
        raise ParameterError("--rename: a column of the intruder's table is named twice")
    return names


BAR = 8
"""Characters of a bar: with every column the table fits 80."""


def show(report: AttackReport, *, released: bool = True) -> None:
    """Print a report for people: who tried, and a bar an attack, strongest first, beside what guessing gives."""
    console = out()
    unknown = f", [yellow]{len(report.unknown)} unknown[/]" if report.unknown else ""
    console.print(
        f"[bold]{len(report.tried)} attack{'s' * (len(report.tried) != 1)}[/]{unknown} on {report.records:,} {'released ' * released}{report.counted}; "
        f"{report.looked_for:,} people looked for, {report.seconds:.0f} s",
        soft_wrap=True,
    )
    columns = _columns(report)
    names = [*(t.intruder for t in report.tried), *(s.intruder for s in report.unknown)]
    for place, intruder in enumerate(dict.fromkeys(names)):
        tried = [t for t in report.tried if t.intruder == intruder]
        several = sorted(tried, key=lambda t: (-t.finding.gain, t.finding.label))
        rows = [*map(_cells, several), *(_unknown_cells(s) for s in report.unknown if s.intruder == intruder)]
        console.print(_who(intruder, several[0].knows if several else (), report.counted))
        console.print(_table(rows, columns, headed=not place))
    _conclude(report)


def _who(intruder: str, knows: tuple[str, ...], counted: str) -> str:
    """An intruder, and what is special about it; who attacks people that are no table is told by the name."""
    from sfumato.release.intruders import BATTERY

    if counted != "records":
        return f"\n[bold]{escape(intruder)}:[/]"
    stories = {profile.name: profile.story for profile in BATTERY}
    story = stories.get(intruder, f"knows {', '.join(knows)}" if knows else "has a file of its own")
    return f"\n[bold]{escape(intruder)}:[/] [dim]{escape(story)}[/]"


def _columns(report: AttackReport) -> tuple[str, ...]:
    """The columns that have something to tell."""
    findings = [t.finding for t in report.tried]
    columns = {
        "people": any(f.trials not in (None, report.looked_for) for f in findings),
        "between": any(f.interval is not None for f in findings),
        "guessing": any(f.baseline is not None for f in findings),
        "limit": _limited(report),
    }
    return ("attack", "", "succeeds", *(name for name, shown in columns.items() if shown))


def _limited(report: AttackReport) -> bool:
    """Whether the recipe limits any attack that was tried or is unknown."""
    limits = [*(t.limit for t in report.tried), *(s.limit for s in report.unknown)]
    return any(limit is not None for limit in limits)


def _short(number: int) -> str:
    """A count of at most six characters.

    >>> [_short(number) for number in (500, 99_999, 160_000, 2_345_678)]
    ['500', '99,999', '160k', '2,345k']
    """
    return f"{number:,}" if number < 100_000 else f"{number // 1000:,}k"


def _table(rows: list[dict[str, str]], columns: tuple[str, ...], *, headed: bool) -> Table:
    widths = {"attack": 25, "": BAR, "succeeds": 8, "people": 6, "between": 13, "guessing": 8, "limit": 6}
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim", show_header=headed)
    for name in columns:
        table.add_column(name, width=widths[name], justify="left" if name in ("attack", "") else "right")
    for cells in rows:
        table.add_row(*(cells[name] for name in columns))
    return table


def _unknown_cells(skipped: Skipped) -> dict[str, str]:
    """An attack whose outcome is unknown: neither a success nor a pass."""
    limit = "" if skipped.limit is None else _share(skipped.limit)
    cells = {
        "attack": f"[yellow]?[/] {escape(skipped.words)}",
        "succeeds": "[yellow]unknown[/]",
        "limit": limit,
    }
    return {"": "", "people": "", "between": "", "guessing": "", **cells}


def _cells(tried: Tried) -> dict[str, str]:
    finding = tried.finding
    mark, color = ("✗", "red") if tried.exceeds else ("✓", "green")
    between = "" if finding.interval is None else f"[dim]{_share(finding.interval[0])}–{_share(finding.interval[1])}[/]"
    return {
        "attack": f"[{color}]{mark}[/] {escape(finding.words)}",
        "": f"[{color}]{bar(finding.value, BAR)}[/]",
        "succeeds": _share(finding.value),
        "people": "" if finding.trials is None else _short(finding.trials),
        "between": between,
        "guessing": "" if finding.baseline is None else _share(finding.baseline),
        "limit": "" if tried.limit is None else _share(tried.limit),
    }


def _share(value: float) -> str:
    """A share, without decimals where they are nothing but zeros."""
    return share(value if 0 < value < 0.0001 else round(value, 4))


def _conclude(report: AttackReport) -> None:
    """What the marks mean, what was worst, what is unknown, and what does not apply."""
    console, worst = out(), report.worst
    if worst is not None:
        console.print(f"\n[dim]{_legend(report, worst.threshold)}[/]")
        console.print(
            f"\nStrongest: [bold]{escape(worst.intruder)}[/], {escape(worst.finding.words)}, "
            f"{_share(worst.finding.value)}: {escape(worst.finding.sentence)}",
        )
    reasons: dict[tuple[str, str], list[str]] = {}
    for skipped in sorted(report.skipped, key=lambda each: not each.unknown):
        reasons.setdefault((skipped.status, skipped.reason), []).append(skipped.words)
    for (status, reason), attacks in reasons.items():
        color = "yellow" if status == "unknown" else "dim"
        console.print(f"[{color}]{status}:[/] [dim]{escape(', '.join(dict.fromkeys(attacks)))}: {escape(reason)}[/]")


def _legend(report: AttackReport, threshold: float) -> str:
    rule = f"✗ takes more than {_share(threshold)} of what guessing leaves open (--threshold), and surely more than guessing"
    if report.unknown:
        rule += ";\n? could not be tried, or nothing follows from it, although it might succeed"
    if _limited(report):
        return f"{rule};\nwhere the recipe sets a limit: ✗ succeeds more often than that; then, and after ?, the exit code is 1"
    return f"{rule}; the recipe limits none of them"
