"""The commands for people who are no table: the recipe, or the certificate, says their shape."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.markup import escape
from rich.table import Table

from sfumato.core.portable import cannot_promise
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.console import bar, give_json, notes, out, progress, share, tell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sfumato.core.data import Data
    from sfumato.core.model import Verdict
    from sfumato.core.recipe import Recipe
    from sfumato.core.source import Intake
    from sfumato.release.attack_report import AttackReport
    from sfumato.release.data_assessment import DataAssessment
    from sfumato.release.evaluation import Evaluation
    from sfumato.release.folder import Folder
    from sfumato.release.release import Release

    ShowAttacks = Callable[..., None]

DEFAULT_SECONDS = 60.0


def _read(
    data: Any,
    recipe: Recipe,
    people: str | None,
    said: Intake,
    *,
    quiet: bool,
    format: str | None = None,  # noqa: A002
) -> Data:
    from sfumato.release.shaped.reading import people_of

    found = people_of(data, recipe, people=people, said=said, format=format)
    notes(tuple(dict.fromkeys((*found.source.notes, *found.notes))), quiet=quiet)
    return found


# run


def run(
    data: str,
    recipe: Recipe,
    output: str,
    *,
    people: str | None,
    said: Intake,
    format: str | None,  # noqa: A002
    seed: str | None,
    shuffle: bool,
    attack: float | None,
    force: bool,
    sign: Path | None,
    pictures: bool,
    defuse: bool,
    json: bool,
    quiet: bool,
) -> None:
    """Make a release and write it."""
    from sfumato.core.exchange import refuse_existing
    from sfumato.interfaces import api

    if output == "-":
        raise ParameterError(f"a release of shape {recipe.shape} goes into a folder (-o out/), with its certificate")
    refuse_existing(Path(output), force=force)
    found = _read(data, recipe, people, said, quiet=quiet, format=format)
    with progress("searching", quiet=quiet) as on_progress:
        release = api.run(
            found, recipe, seed=seed, shuffle=shuffle, format=format, seconds=attack, progress=on_progress
        )
    folder = release.write(output, format=format, force=force, sign=sign, pictures=pictures, defuse=defuse)
    if json:
        give_json({**_summary(release), "folder": str(folder)})
    else:
        show(release)
    tell(
        f"share  {folder / 'share'}: data, certificate, report\n"
        f"keep   {folder / 'owner'}: lock, alignment, owner's report",
        quiet=quiet,
    )
    notes(cannot_promise("modes", "locks", *(("exchange",) if force else ())), quiet=quiet)


def _summary(release: Release) -> dict[str, Any]:
    return {
        "holds": release.holds,
        "headline": release.headline.text,
        "shape": str(release.shape),
        "counts_before": release.original.counts(),
        "counts": release.released.counts(),
        "suppressed": release.suppressed,
        "verdicts": [v.to_dict() for v in release.verdicts],
        "plan": [{"step": name, **plan.describe()} for name, plan in release.plans],
        "limits": [kept.to_dict() for kept in release.limits],
        "contract": [kept.to_dict() for kept in release.contract],
        "attacks_before": None if release.attacks_before is None else release.attacks_before.to_dict(),
        "attacks": None if release.attacks is None else release.attacks.to_dict(),
        "utility": None if release.utility is None else release.utility.to_dict(),
        "warnings": list(release.warnings),
    }


def show(release: Release) -> None:
    """Print a release for people."""
    headline, console = release.headline, out()
    color = {"holds": "green", "broken": "red", "mixed": "yellow", "open": "yellow"}[headline.state]
    console.print(f"[bold {color}]{escape(headline.text)}[/]\n", soft_wrap=True)
    _show_verdicts(release.verdicts)
    for bound in (*release.limits, *release.contract):
        console.print(f"{'[green]✓[/]' if bound else '[yellow]✗[/]'} {escape(bound.sentence)}", soft_wrap=True)
    left = share(release.suppressed / max(1, release.original.size))
    console.print(f"  {release.suppressed:,} of {release.original.size:,} people left out ({left})\n")
    console.print(_counted(release.original.counts(), release.released.counts()))
    if release.attacks is not None:
        console.print()
        if (both := _before_and_after(release)).row_count:
            console.print(both)
        for skipped in release.attacks.unknown:
            console.print(
                f"[yellow]? {escape(skipped.words)} is unknown:[/] {escape(str(skipped.reason))}", soft_wrap=True
            )
    for measure in () if release.utility is None else release.utility.measures:
        console.print(
            f"  {measure.name.replace('_', ' ')} {measure.value:.4f} [dim]{escape(measure.meaning)}[/]", soft_wrap=True
        )
    for warning in release.warnings:
        console.print(f"[yellow]! {escape(warning)}[/]", soft_wrap=True)


def _show_verdicts(verdicts: Sequence[Verdict]) -> None:
    for verdict in verdicts:
        mark = "[green]✓[/]" if verdict.holds else "[red]✗[/]"
        out().print(f"{mark} [bold]{escape(verdict.promise)}[/]: {escape(verdict.sentence)}", soft_wrap=True)


def _counted(was: Mapping[str, int], now: Mapping[str, int] | None = None) -> Table:
    table = Table(box=None, pad_edge=False, show_header=now is not None)
    for name in ("what", *(("before", "after") if now is not None else ("how many",))):
        table.add_column(name, justify="left" if name == "what" else "right")
    for name in dict.fromkeys([*was, *(now or {})]):
        cells = [was.get(name), *([] if now is None else [now.get(name)])]
        table.add_row(name.replace("_", " "), *("–" if count is None else f"{count:,}" for count in cells))
    return table


def _before_and_after(release: Release) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("attack", "before", "after"):
        table.add_column(name)
    was = {} if release.attacks_before is None else release.attacks_before.values()
    now = {} if release.attacks is None else {t.finding.label: t for t in release.attacks.tried}
    for name in dict.fromkeys([*now, *was]):
        color = "yellow" if name not in now else "red" if now[name].exceeds else "green"
        after = _untried(release.attacks, name) if name not in now else _bar(now[name].finding.value)
        before = _untried(release.attacks_before, name) if name not in was else _bar(was[name])
        table.add_row(escape(name.replace("_", " ")), before, f"[{color}]{after}[/]")
    return table


def _untried(report: AttackReport | None, name: str) -> str:
    """Why there is no rate: unknown is not a pass, and what does not apply is none of these."""
    skipped = () if report is None else report.skipped
    return next((one.status for one in skipped if one.label == name), "not tried")


def _bar(value: float) -> str:
    return f"{bar(value, 10)} {share(value):>6}"


# assess


def assess(
    data: str,
    recipe: Recipe,
    *,
    people: str | None,
    said: Intake,
    models: Sequence[str],
    seconds: float,
    show_attacks: ShowAttacks,
    json: bool,
    quiet: bool,
) -> None:
    """Say what intruders can do with people as they are."""
    from sfumato.core.registry import ask
    from sfumato.release.data_assessment import assess_data

    asked = [ask(text, recipe.shape).model for text in models]
    found = _read(data, recipe, people, said, quiet=quiet)
    with progress("attacking", quiet=quiet) as on_progress:
        assessment = assess_data(found, (*recipe.meet, *asked), seconds=seconds, progress=on_progress)
    if json:
        give_json(assessment.to_dict())
    else:
        show_assessment(assessment, show_attacks)


def show_assessment(found: DataAssessment, show_attacks: ShowAttacks) -> None:
    """Print an assessment for people."""
    out().print(f"[bold]{escape(found.name)}[/] (shape: {found.shape})", soft_wrap=True)
    out().print(_counted(found.counts))
    _show_verdicts(found.verdicts)
    if found.attacks is None:
        out().print("no attack was tried")
    else:
        show_attacks(found.attacks, released=False)


# attack, evaluate


def _written(
    folder: Path, original: str, people: str | None, said: Intake, *, quiet: bool
) -> tuple[Folder, Data, Data]:
    """A written release, its original, and the released people with who they were."""
    from sfumato.release.folder import read_release
    from sfumato.release.originals import original_of

    written = read_release(folder)
    before = original_of(original, written.certificate, folder / "owner", people=people, said=said)
    notes(tuple(dict.fromkeys((*before.source.notes, *before.notes))), quiet=quiet)
    return written, before, written.beside(before).released


def attack(
    folder: Path,
    original: str,
    *,
    people: str | None,
    said: Intake,
    others: Sequence[Path],
    only: Sequence[Any] | None,
    seconds: float,
    threshold: float,
    keep: bool,
    sign: Path | None,
    show_attacks: ShowAttacks,
    json: bool,
    quiet: bool,
) -> None:
    """Let attacks try a written release."""
    from sfumato.core.data import DataPair
    from sfumato.release.attack_run import attack_release

    written, before, released = _written(folder, original, people, said, quiet=quiet)
    if keep:
        written.require_key(sign)
    further = [_written(other, original, people, said, quiet=True)[2] for other in others]
    with progress("attacking", quiet=quiet) as on_progress:
        report = attack_release(
            DataPair(before, released),
            steps=written.recipe.steps,
            models=written.recipe.meet,
            others=further,
            only=only or None,
            limits=written.recipe.limits,
            threshold=threshold,
            seconds=seconds,
            progress=on_progress,
        )
    if keep:
        written.add("attacks", report.to_dict(), sign=sign)
    give_json(report.to_dict()) if json else show_attacks(report)
    if keep:
        tell(f"added to {folder / 'share' / 'certificate.json'} and both reports", quiet=quiet)
    if report.refused:
        raise typer.Exit(1)


def evaluate(
    folder: Path,
    original: str,
    *,
    people: str | None,
    said: Intake,
    metrics: Sequence[Any] | None,
    keep: bool,
    sign: Path | None,
    show_evaluation: Callable[[Evaluation], None],
    json: bool,
    quiet: bool,
) -> None:
    """Measure a written release beside its original."""
    from sfumato.core.data import DataPair
    from sfumato.release.evaluation import evaluate as evaluate_pair

    written, before, released = _written(folder, original, people, said, quiet=quiet)
    with progress("measuring", quiet=quiet):
        evaluation = evaluate_pair(DataPair(before, released), metrics)
    if keep:
        values = {**written.certificate.get("utility", {}), **{m.name: m.value for m in evaluation.measures}}
        written.add("utility", values, sign=sign)
    give_json(evaluation.to_dict()) if json else show_evaluation(evaluation)
