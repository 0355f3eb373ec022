"""A recommendation: the best recipe, the runners-up, the reasons, and what is not known."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sfumato import __version__
from sfumato.core import recipe_files as recipes
from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, ListBlock, Paragraph, VerdictBlock
from sfumato.core.data import Context
from sfumato.core.fields import Document
from sfumato.core.options import CommandOption
from sfumato.core.progress import silent
from sfumato.core.randomness import Seed
from sfumato.core.words import percent
from sfumato.core.yaml_text import write_yaml
from sfumato.errors import OutputError, ReleaseRefused, SchemaError, Unsatisfiable
from sfumato.guidance.recommendation.page import recommendation_page
from sfumato.guidance.recommendation.selection import TOLD, Ranked
from sfumato.release.make import make_release
from sfumato.release.report.risk_utility import chart_candidates

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table
    from sfumato.guidance.comparison import CandidateOutcome, Comparison
    from sfumato.guidance.recommendation.answers import ContextAnswers
    from sfumato.guidance.recommendation.candidates import TriedMethod
    from sfumato.guidance.recommendation.terms import ProposedTerms, PublishedBar
    from sfumato.release.table_release import TableRelease

FILE = "recommendation.json"
MOST_RUNNERS_UP = 3
NO_CLASSES = (
    "No candidate reaches the promised class size; the proposal is the best of those that satisfy "
    "limits only, which protect less."
)
FALLBACK = "Fallback"
NOT_ACCEPTED = (
    "the proposal satisfies limits only and does not reach the promised class size; nothing is "
    "released unless you accept that (--accept-limits; in Python accept_limits=True), or answer "
    "so that a smaller class size is asked for"
)


@dataclasses.dataclass(frozen=True)
class Recommendation(Reportable):
    """What is recommended for a table in its context.

    ``terms`` have promises and limits with their reasons, ``bars`` the published numbers that the
    promise meets or not, ``comparison`` everything that was tried, ``ranked`` the order and why,
    ``unknown`` what nobody here can know. ``moved`` says why the best on a sample was not taken on
    the whole table, if so.
    """

    name: str
    answers: ContextAnswers
    terms: ProposedTerms
    bars: tuple[PublishedBar, ...]
    tried: tuple[TriedMethod, ...]
    comparison: Comparison
    ranked: Ranked
    unknown: tuple[str, ...]
    rows: int
    tried_rows: int
    dataset: Table = dataclasses.field(repr=False, compare=False)
    moved: tuple[str, ...] = ()

    @property
    def best(self) -> CandidateOutcome:
        """What came of the best candidate."""
        return self.outcome(self.ranked.best)

    @property
    def recipe(self) -> Recipe:
        """The recipe of the best candidate."""
        return self.recipe_of(self.ranked.best)

    @property
    def runners_up(self) -> tuple[str, ...]:
        """The next ones that may be released as well, best first."""
        return self.ranked.runners_up[:MOST_RUNNERS_UP]

    def outcome(self, name: str) -> CandidateOutcome:
        """What came of a candidate."""
        return next(outcome for outcome in self.comparison.outcomes if outcome.name == name)

    def recipe_of(self, name: str) -> Recipe:
        """The recipe of a candidate, which says that it was found by looking at the table."""
        recipe = next(trial for trial in self.tried if trial.name == name).candidate.recipe
        return dataclasses.replace(recipe, proposed_from="recommend")

    @property
    def fallback(self) -> bool:
        """Whether the best keeps limits only, and not the promises that this context asks for."""
        return not self.ranked.promising

    @property
    def headline(self) -> str:
        """What is recommended, in a sentence; a fallback is called one."""
        yardstick = self.ranked.yardstick
        lost = self.best.utilities.get(yardstick)
        loss_part = ""
        if lost is not None:
            loss_part = f"; {TOLD[yardstick]} {lost:.3f}"
        linked = self.best.risks.get("linkage")
        linkage_part = ""
        if linked is not None:
            linkage_part = f"; {percent(linked)} of the people tried are recognised"
        head = f"{FALLBACK} for {self.name}" if self.fallback else self.name
        return (
            f"{head}: {self.ranked.best}, {self.best.records:,} of {self.tried_rows:,}"
            f" records{loss_part}{linkage_part}"
        )

    @property
    def why(self) -> str:
        """Why it is the best."""
        if not self.ranked.promising:
            return NO_CLASSES
        promising = 0
        for trial in self.tried:
            promising += not trial.other_promise and self.outcome(trial.name).holds
        return (
            f"Of {promising} candidates that satisfy all promises and limits it has the least "
            f"{TOLD[self.ranked.yardstick]}."
        )

    def release(
        self,
        *,
        seed: int | str | Seed | None = None,
        progress: Progress | None = None,
        accept_limits: bool = False,
    ) -> TableRelease:
        """The release of the whole table that the recommendation leads to; see :meth:`released`."""
        return self.released(seed=seed, progress=progress, accept_limits=accept_limits)[1]

    def released(
        self,
        *,
        seed: Annotated[
            int | str | Seed | None,
            CommandOption(
                "hexadecimal seed of the release; short seeds mark a rehearsal", typed=str
            ),
        ] = None,
        progress: Progress | None = None,
        accept_limits: Annotated[
            bool,
            CommandOption(
                "use a fallback that satisfies limits only, such as masked or synthetic records",
                ("--accept-limits",),
            ),
        ] = False,
    ) -> tuple[Recommendation, TableRelease]:
        """The release of the whole table by the best recipe, and the recommendation as it stands
        then.

        What was best on a sample may be refused on the whole table; then the next one that keeps
        the same promises takes its place. A fallback is released with ``accept_limits`` only.

        Raises:
            ReleaseRefused: the recommendation is a fallback, and nobody accepted that.
        """
        if self.fallback and not accept_limits:
            raise ReleaseRefused(NOT_ACCEPTED)
        failures: list[str] = []
        can_win = self.ranked.order[: self.ranked.can_win]
        has_other_promise = {trial.name: bool(trial.other_promise) for trial in self.tried}
        for name in [name for name in can_win if has_other_promise[name] != self.ranked.promising]:
            try:
                context = Context(Seed.of(seed), progress=progress or silent)
                release = make_release(self.dataset, self.recipe_of(name), context)
            except (ReleaseRefused, Unsatisfiable, SchemaError) as error:
                failures.append(f"{name} fails on all {self.rows:,} rows: {error}")
                continue
            return self._moved_to(name, tuple(failures)), release
        raise Unsatisfiable(
            f"no recommended recipe holds on the whole table: {'; '.join(failures)}; ask "
            "for less, or review the answers"
        )

    def _moved_to(self, name: str, failures: tuple[str, ...]) -> Recommendation:
        if not failures:
            return self
        order = (name, *(candidate for candidate in self.ranked.order if candidate != name))
        why = {
            candidate: self.ranked.why_not.get(candidate, "it fails on the whole table")
            for candidate in order[1:]
        }
        return dataclasses.replace(
            self, ranked=dataclasses.replace(self.ranked, order=order, why_not=why), moved=failures
        )

    def to_dict(self) -> Document:
        """The recommendation as plain data: names, counts, rates and reasons."""
        families = {entry.name: entry.family for entry in self.tried}
        return {
            "sfumato_recommendation": 1,
            "version": __version__,
            "table": {"name": self.name, "rows": self.rows, "tried_on": self.tried_rows},
            "answers": self.answers.to_dict(),
            "assumed": self.answers.assumed,
            "promises": self.terms.promises,
            "limits": dict(self.terms.limits),
            "reasons": [dataclasses.asdict(reason) for reason in self.terms.reasons],
            "bars": [dataclasses.asdict(bar) for bar in self.bars],
            "fallback": self.fallback,
            "best": {
                "name": self.ranked.best,
                "headline": self.headline,
                "why": self.why,
                "holds": self.best.holds,
            },
            "yardstick": self.ranked.yardstick,
            "candidates": [
                {
                    "name": name,
                    "family": families[name],
                    "why_not": self.ranked.why_not.get(name, ""),
                }
                for name in self.ranked.order
            ],
            "not_on_map": [
                entry.name for entry in self.comparison.outcomes if not self._on_map(entry)
            ],
            "moved": list(self.moved),
            "unknown": list(self.unknown),
        }

    def _on_map(self, outcome: CandidateOutcome) -> bool:
        return (
            self.comparison.risk in outcome.risks and self.comparison.utility in outcome.utilities
        )

    def to_page(self) -> str:
        """One page for the boss: what, why, the map, why not the others, what is not known."""
        return recommendation_page(self.to_dict(), chart_candidates(self.comparison.to_dict()))

    def write(
        self,
        folder: str | Path,
        *,
        force: Annotated[
            bool, CommandOption("replace an earlier recommendation, and release", ("--force",))
        ] = False,
    ) -> Path:
        """Write the recipes, the reasons, the answers and the map into a folder, or nothing at
        all.
        """
        target = Path(folder)
        refuse_written(target, force=force)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".sfumato-", dir=target.parent) as beside:
                work_folder = Path(beside) / "made"
                self._write_into(work_folder, target)
                if target.exists():
                    target.rename(Path(beside) / "old")
                work_folder.rename(target)
        except OSError as error:
            raise OutputError(f"cannot write {target}: {error.strerror or error}") from None
        return target

    def _write_into(self, folder: Path, target: Path) -> None:
        self.comparison.write(folder)
        recipe_files = {"recipe.yaml": self.ranked.best}
        recipe_files |= {
            f"runner_up_{rank}.yaml": name for rank, name in enumerate(self.runners_up, 1)
        }
        for file, name in recipe_files.items():
            (folder / file).write_text(self._recipe_text(name, target), "utf-8")
        answers = "# Answers of sfumato recommend; give them again with --answers.\n"
        (folder / "answers.yaml").write_text(answers + write_yaml(self.answers.to_dict()), "utf-8")
        (folder / FILE).write_text(
            json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n", "utf-8"
        )
        (folder / "recommendation.html").write_text(self.to_page(), "utf-8")

    def _recipe_text(self, name: str, target: Path) -> str:
        if name == self.ranked.best:
            why = self.why
        else:
            why = self.ranked.why_not[name]
        rank = "best"
        if name != self.ranked.best:
            rank = "runner-up"
        if self.fallback:
            rank = f"{FALLBACK.lower()}, {rank}"
        head = f"# sfumato recommend, {rank}: {why}"
        plain = recipes.to_dict(self.recipe_of(name), base=target)
        return " ".join(head.splitlines()) + "\n" + write_yaml(plain)

    def blocks(self) -> Sequence[Block]:
        """The candidates, what is recommended, why, why not the others, and what is not known."""
        lists = {
            "What must hold, and why": [str(reason) for reason in self.terms.reasons],
            "Why not the others?": [*self.moved, *self.ranked.why_not.values()],
            "Not known": list(self.unknown),
        }
        return [
            VerdictBlock(None if self.fallback else True, self.headline, headline=True),
            Paragraph(self.why),
            *self.comparison.blocks(),
            *(ListBlock(tuple(entries), title) for title, entries in lists.items() if entries),
            *(VerdictBlock(bar.met, bar.sentence) for bar in self.bars),
        ]


def refuse_written(folder: Path, *, force: bool) -> None:
    """Refuse a folder that holds something: an earlier recommendation unless it shall be replaced,
    anything else in any case.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / FILE).is_file():
        raise OutputError(
            f"{folder} is not empty and holds no recommendation; choose another folder"
        )
    if not force:
        raise OutputError(f"{folder} already holds a recommendation; give --force to replace it")
