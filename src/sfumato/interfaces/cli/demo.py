"""``sfumato demo``: the main job on bundled data, with a release that intruders beat and one that
they do not.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from sfumato.core.options import CommandOption
from sfumato.core.words import percent
from sfumato.interfaces.cli.command import command
from sfumato.interfaces.cli.console import out, progress, show_blocks, tell
from sfumato.interfaces.cli.options import Quiet

if TYPE_CHECKING:
    from sfumato.core.table import Table
    from sfumato.release.assessment import Assessment
    from sfumato.release.table_release import TableRelease

DEMO_SECONDS = 10.0
DEMO_PEOPLE = 200
DEMO_ATTACKS = ("linkage", "probabilistic_linkage", "singling_out")
FORGOTTEN = {
    "cost": {"intervals": {"widths": [500, 1000, 5000, 10000, 50000]}},
    "length_of_stay": {"intervals": {"widths": [2, 4, 8, 16]}},
    "ward": {"suppress": {}},
    "diagnosis": None,
}
"""Columns that the first release leaves as they are, and how they become coarser; None: as the
table says.
"""


@command()
def demo(
    output: Annotated[
        Path,
        CommandOption("folder to create; an earlier demo there is replaced", ("--output", "-o")),
    ] = Path("sfumato-demo"),
    table: Annotated[
        Path | None, CommandOption("only write the table, as CSV, to try other commands on it")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Anonymize a generated hospital table twice: one release that intruders beat, and one that
    they do not.
    """
    from sfumato.data import examples
    from sfumato.interfaces.api import verify as recompute
    from sfumato.interfaces.cli.verify import show_claims

    people = examples.hospital()
    if table is not None:
        _write_table(people, table, quiet=quiet)
        return
    _head("1  The table as it is", quiet=quiet)
    _show_unique(people)
    _head("2  A first release: everyone shares with 4 others what outsiders know", quiet=quiet)
    first = _make_release(people, quiet=quiet)
    if first.attacks is not None:
        show_blocks(first.attacks.blocks())
    _sum_up(first)
    _head(
        "3  A second release: what the colleague knows counts too (cost, length of stay, ward, "
        "diagnosis)",
        quiet=quiet,
    )
    second = _make_release(_with_more_quasi(people), quiet=quiet)
    show_blocks(second.blocks())
    _sum_up(second)
    folder = second.write(output, force=True)
    _head("4  Check it without trusting us", quiet=quiet)
    # The release is at hand, so it is compared with the folder and not made a second time.
    verification = recompute(
        folder / "share", original=second.original, owner=folder / "owner", release=second
    )
    show_claims(verification, json=False)
    # Results and talk are two streams: what was printed must stand before the last words.
    out().file.flush()
    tell(
        f"\nOpen {folder / 'share' / 'report.html'} (to publish) and"
        f" {folder / 'owner' / 'report.html'} (to keep).",
        quiet=quiet,
    )


def _write_table(people: Table, table: Path, *, quiet: bool) -> None:
    """Write the table as a CSV file; one that is there already is not replaced."""
    from sfumato.errors import OutputError

    text = people.to_polars().write_csv()
    try:
        # Mode x refuses a file that exists, with no moment between asking and writing.
        with table.open("x", encoding="utf-8", newline="") as file:
            file.write(text)
    except FileExistsError:
        raise OutputError(f"{table} already exists; choose another name") from None
    except OSError as error:
        raise OutputError(f"{table} cannot be written: {error.strerror}") from None
    tell(
        f"{len(people):,} invented hospital visits in {table}; next: sfumato profile {table}",
        quiet=quiet,
    )


def _head(words: str, *, quiet: bool) -> None:
    if not quiet:
        out().print(f"\n[bold]{words}[/]\n", soft_wrap=True)


def _show_unique(people: Table) -> None:
    from sfumato.interfaces.api import assess

    unique = cast("Assessment", assess(people)).measure("unique_records")
    columns = ", ".join(people.schema.quasi).replace("_", " ")
    out().print(
        f"{len(people):,} invented hospital visits. Even without names and numbers, "
        f"{percent(unique)} of the patients are unique by what outsiders may know: {columns}.",
    )


def _sum_up(release: TableRelease) -> None:
    """Who got through, if anybody."""
    successful = set()
    if release.attacks is not None:
        for attempt in release.attacks.tried:
            if attempt.exceeds:
                successful.add(attempt.intruder)
    if successful:
        intruders = " and the ".join(sorted(successful))
        words = (
            f"The promise holds, but the {intruders} still finds people by columns it does not "
            "cover."
        )
        out().print(f"\n[bold red]{words}[/]", soft_wrap=True)
    else:
        out().print(
            "\n[bold green]The promise holds, and none of these intruders succeeds.[/]",
            soft_wrap=True,
        )


def _with_more_quasi(people: Table) -> Table:
    """The table once it is said that others can know the rest as well."""
    from sfumato.core import registry

    # Being a quasi-identifier too must not end the protection of a sensitive column.
    sensitive = [name for name in FORGOTTEN if name in people.schema.sensitive]
    hierarchies = {}
    for name, spec in FORGOTTEN.items():
        if spec is not None:
            hierarchies[name] = registry.build("hierarchies", spec)
    people = people.with_roles(quasi=list(FORGOTTEN), sensitive=sensitive)
    return people.with_hierarchies(**hierarchies)


def _make_release(people: Table, *, quiet: bool) -> TableRelease:
    """The release by the step that loses least, attacked."""
    from sfumato.core import registry
    from sfumato.guidance.profiling.proposed_steps import FALLBACK, PROMISE, step_for
    from sfumato.interfaces.api import AnonymizeOptions, anonymize
    from sfumato.release.attack_run import AttackOptions

    with progress("trying steps", quiet=quiet):
        proposed = step_for(people)
    step = registry.build("steps", FALLBACK if proposed is None else proposed.step)
    with progress("recoding", quiet=quiet) as on_progress:
        release = anonymize(
            people,
            [registry.build("models", PROMISE)],
            [step],
            options=AnonymizeOptions(progress=on_progress),
        )
    if proposed is not None:
        out().print(
            f"{proposed.name.replace('_', ' ')}: {proposed.why.replace('_', ' ')}\n", soft_wrap=True
        )
    with progress("attacking", quiet=quiet) as on_progress:
        # A table was anonymized.
        return cast("TableRelease", release).attacked(
            seconds=DEMO_SECONDS,
            sample=DEMO_PEOPLE,
            only=DEMO_ATTACKS,
            options=AttackOptions(progress=on_progress),
        )
