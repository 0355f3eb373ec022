"""``sfumato demo``: the main job on bundled data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import Quiet

DEMO_SECONDS = 15.0
DEMO_ATTACKS = ("linkage", "homogeneity", "probabilistic_inference", "singling_out")


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="folder to make; an earlier demo there is replaced")
    ] = Path("sfumato-demo"),
    quiet: Quiet = False,
) -> None:
    """Anonymize a generated hospital table: risk before, release, verdict, and a report to open."""
    from sfumato import examples, registry
    from sfumato.cli import assess, run, verify
    from sfumato.cli.talk import progress, tell
    from sfumato.verbs import anonymize
    from sfumato.verbs import assess as look

    people = examples.hospital()
    promise = registry.build("models", {"k_anonymity": 5})
    step = registry.build("steps", {"global_recoding": {"budget": 0.05}})
    tell(f"[bold]1  What an intruder can do with {len(people):,} invented hospital visits today[/]\n", quiet=quiet)
    with progress("counting", quiet=quiet):
        found = look(people)
    assess.show(found, 0.2)
    tell("\n[bold]2  Reach 5-anonymity at the least loss, suppressing at most 5 % of the records[/]\n", quiet=quiet)
    with progress("searching", quiet=quiet) as told:
        release = anonymize(people, [promise], [step], progress=told)
    tell("[dim]… and let intruders try it[/]\n", quiet=quiet)
    with progress("attacking", quiet=quiet) as told:
        release = release.attacked(seconds=DEMO_SECONDS, sample=500, only=DEMO_ATTACKS, progress=told)
    run.show(release)
    folder = release.write(output, force=True)
    tell("\n[bold]3  Check the result without trusting us[/]\n", quiet=quiet)
    verify.verify(folder / "share", quiet=quiet)
    tell(
        f"\nOpen {folder / 'share' / 'report.html'} (to publish) and {folder / 'owner' / 'report.html'} (to keep).",
        quiet=quiet,
    )
