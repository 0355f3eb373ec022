"""The outcome of a run: released data, plans, verdicts, before and after."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, Unpack

from sfumato.core import environment, registry
from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, Paragraph, TableBlock, VerdictBlock
from sfumato.core.chart_drawing import plot_chart, require_png
from sfumato.core.data import StepsResult
from sfumato.core.evidence import judge_all
from sfumato.core.fields import Document, Fields
from sfumato.core.options import CommandOption
from sfumato.core.step import accounts
from sfumato.core.words import counts_in_words, percent, plain_name
from sfumato.data.table.formats import chosen_format
from sfumato.errors import ParameterError
from sfumato.release import VERBS
from sfumato.release.attack_report import before_and_after
from sfumato.release.epsilon_certification import Certified, certified
from sfumato.release.evaluation import evaluate
from sfumato.release.limit_checks import check_agreement, judge_limits
from sfumato.release.report.charts import chart_uniqueness_curves
from sfumato.release.report.headline import NOT_ATTACKED, headline

if TYPE_CHECKING:
    import altair as alt

    from sfumato.core.attack import Memory
    from sfumato.core.data import Context, Data, Pair
    from sfumato.core.metric import Measure, Utility
    from sfumato.core.model import Verdict
    from sfumato.core.pair import TablePair
    from sfumato.core.progress import Progress
    from sfumato.core.randomness import Seed
    from sfumato.core.recipe import Kept, Recipe
    from sfumato.core.schema import Schema
    from sfumato.core.shape import Shape
    from sfumato.core.step import Plan, Preserved, Step
    from sfumato.core.table import Table
    from sfumato.release.attack_report import AttackReport
    from sfumato.release.attack_run import AttackContext, AttackKeywords
    from sfumato.release.column_changes import ColumnChange
    from sfumato.release.decision.decision import Decision
    from sfumato.release.evaluation import Evaluation
    from sfumato.release.explanation import Explanation
    from sfumato.release.implied import Implied
    from sfumato.release.report.headline import Headline


@dataclasses.dataclass(frozen=True)
class WriteOptions:
    """How a release is written, besides the everyday keywords of :meth:`Release.write`.

    ``defuse`` puts an apostrophe before the cells of a CSV that a spreadsheet would run as
    formulas. With ``pictures`` both folders get the pictures of their report as PNG, each with what
    its own reader may see. ``with_verifier`` puts the checker without dependencies beside the data.
    ``into`` and ``into_table`` name a database and a table of it that the
    release is written into as well, all or nothing. ``more`` writes what else the owner keeps, into
    the owner's folder, which it is given before anybody sees it.
    """

    panel: ClassVar[str] = "How the release is written"
    defuse: Annotated[
        bool, CommandOption("CSV: write an apostrophe before formulas", ("--defuse",))
    ] = False
    pictures: Annotated[bool, CommandOption("pictures of reports as PNG too", ("--pictures",))] = (
        False
    )
    with_verifier: Annotated[bool, CommandOption("add sfumato_verify.py", ("--with-verifier",))] = (
        False
    )
    into: Annotated[str | None, CommandOption("a database for the table, too")] = None
    into_table: Annotated[str | None, CommandOption("the name of the table there")] = None
    more: Callable[[Path], None] | None = None

    def __post_init__(self) -> None:
        """Refuse pictures that could not be drawn before anything is searched for."""
        if self.pictures:
            require_png()


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Release(Reportable):
    """What a run made of data of any shape. ``released`` is what is shared; everything else says
    what it is worth and how it came about.

    ``attacks_before`` is what attacks find in the original as it is, ``attacks`` what they find in
    the release, ``utility`` what is left of it; None: nobody has tried or measured yet.
    """

    released: Data
    original: Data
    recipe: Recipe
    plans: tuple[tuple[str, Plan], ...]
    seed: Seed
    shuffled: bool
    created: datetime.datetime
    verdicts: tuple[Verdict, ...] = ()
    limits: tuple[Kept, ...] = ()
    contract: tuple[Kept, ...] = ()
    attacks_before: AttackReport | None = None
    attacks: AttackReport | None = None
    utility: Evaluation | None = None
    made_for: str = "csv"
    """The format whose values were distinguished from the start."""
    columns: tuple[ColumnChange, ...] = ()
    """What happened to each column, where the data are one table."""
    decision: Decision | None = None
    """Who may have it, where that was decided (:func:`sfumato.protect`)."""

    # How a run makes it; see release/make.py.

    @classmethod
    def assess_original(cls, original: Any, recipe: Recipe, context: Context) -> object:
        """What is worked out about the original while the steps run; None: nothing."""
        return None

    @classmethod
    def from_steps(
        cls, original: Any, recipe: Recipe, context: Context, steps: Any, before: Any
    ) -> Self:
        """The release of what the steps made, not judged yet; ``before`` is
        what :meth:`assess_original` gave.
        """
        made_for = chosen_format(original.source, context.format)
        return cls.of_steps(original, recipe, context, steps, made_for=made_for)

    @classmethod
    def of_steps(
        cls, original: Any, recipe: Recipe, context: Context, steps: Any, **further: Any
    ) -> Self:
        """The same with ``further`` fields, those that only some releases have."""
        return cls(
            released=steps.released,
            original=original,
            recipe=recipe,
            plans=steps.plans,
            seed=context.seed,
            shuffled=context.shuffle,
            created=environment.now(),
            **further,
        )

    @property
    def steps_result(self) -> StepsResult:
        """What came of the steps."""
        return StepsResult(self.released, self.plans)

    @property
    def counted(self) -> Table | None:
        """All that was released, by counts, where ``pair`` is a sample; None: it is not."""
        return None

    def judged(self, released: Any, *, bounds: bool = True) -> Self:
        """The release with these data in its place, judged as if they had come out; ``bounds``:
        limits and contract are measured too.
        """
        # all is measured on the data as they would be shared, not as they are in memory
        release, recipe = dataclasses.replace(self, released=released), self.recipe
        if bounds:
            limits: tuple[Kept, ...] = ()
            contract: tuple[Kept, ...] = ()
            if recipe.limits or recipe.contract:
                # where an ε is accounted for, what cannot be measured must not end the run
                pair, fixed = release.pair, accounts(recipe.steps, recipe.schema)
                limits = judge_limits(
                    recipe.limits,
                    pair,
                    steps=recipe.steps,
                    models=recipe.meet,
                    seed=self.seed,
                    counted=release.counted,
                    memory=self.memory,
                )
                contract = tuple(
                    check_agreement(agreement, pair, fixed=fixed) for agreement in recipe.contract
                )
            release = dataclasses.replace(release, limits=limits, contract=contract)
        # after the bounds: models may be shown what attacks believe, which options give
        evidence = released.evidence(
            recipe.meet, original=self.original, **release.judging_options()
        )
        return dataclasses.replace(release, verdicts=judge_all(evidence, recipe.meet))

    def judging_options(self) -> Document:
        """What models may be shown besides the original."""
        return {}

    @property
    def memory(self) -> Memory | None:
        """What answers for earlier releases of the same people; None: nobody was asked."""
        return None

    # What is known of it.

    @property
    def shape(self) -> Shape:
        """The shape of the data."""
        return self.recipe.shape

    @property
    def pair(self) -> Pair | TablePair:
        """The original and what is shared of it, side by side."""
        return self.released.compare(self.original, self.steps_result)

    @property
    def implied(self) -> Implied | None:
        """What released columns tell beyond their labels; None: this is not looked for in such
        data.
        """
        return None

    @property
    def undone_by(self) -> tuple[str, ...]:
        """Why released columns undo the release, in sentences; none do."""
        return ()

    @property
    def holds(self) -> bool:
        """Whether every promise holds on what is shared, every limit and contract that may refuse
        it is kept, and no column undoes it.
        """
        bounds = [bound for bound in (*self.limits, *self.contract) if bound.refuses]
        if not all(verdict.holds for verdict in self.verdicts):
            return False
        return all(bound.holds for bound in bounds) and not self.undone_by

    @property
    def headline(self) -> Headline:
        """Promises, limits, attacks and what is unknown in one sentence: the headline of its
        pages.
        """
        bounds = {
            name: [bound.to_dict() for bound in getattr(self, name)]
            for name in ("limits", "contract")
        }
        attacks = None if self.attacks is None else self.attacks.to_dict()
        # beside promises the ε stands in a section of its own
        privacy = None if self.verdicts else self.certified  # where an ε is all that is promised
        private = {} if privacy is None else {"differential_privacy": privacy.to_dict()}
        return headline(
            {
                "verdicts": [v.to_dict() for v in self.verdicts],
                **bounds,
                **private,
                "attacks": attacks,
            }
        )

    @property
    def released_columns(self) -> list[str]:
        """Names of the columns that are shared, of the first table."""
        return list(self.released.to_tables()[self.recipe.first].columns)

    @property
    def released_schema(self) -> Schema:
        """What the shared columns are, of the first table."""
        schema: Schema = self.released.schema
        return schema

    @property
    def certified(self) -> Certified | None:
        """Whether the recipe certifies an ε; None where no step accounts for one."""
        if not accounts(self.recipe.steps, self.recipe.schema):
            return None
        return certified(
            self.recipe,
            self.released_columns,
            self.released_schema,
            rehearsal=self.seed.rehearsal,
            types_found=self.original.source.types_found,
        )

    @property
    def suppressed(self) -> int:
        """Number of people who were left out."""
        left_out: int = self.original.size - self.released.size
        return left_out

    @property
    def warnings(self) -> tuple[str, ...]:
        """What steps warn of, and why no ε is certified where a step accounts for one."""
        privacy = self.certified
        broken = (
            ()
            if privacy is None
            else tuple(f"no ε is certified: {reason}" for reason in privacy.reasons)
        )
        return (*(warning for _, plan in self.plans for warning in plan.warnings), *broken)

    @property
    def notes(self) -> tuple[str, ...]:
        """What reading merged or put right, in counts."""
        # a note from reading and one from the data may be the same
        return tuple(dict.fromkeys((*self.original.source.notes, *self.original.notes)))

    @property
    def data(self) -> Any:
        """The released tables by name."""
        return self.released.to_tables()

    @property
    def told_records(self) -> str:
        """How many people were released, and how many were left out, in one line."""
        size = self.original.size
        left_out = (
            f"{self.suppressed:,} of {size:,} people removed "
            f"({percent(self.suppressed / max(1, size))})"
        )
        return f"{counts_in_words(self.released.counts())} released, {left_out}"

    @property
    def risks(self) -> list[tuple[Measure, Measure]]:
        """The risks of a file, before and after, where classes of records tell them."""
        return []

    @property
    def preserved(self) -> tuple[Preserved, ...]:
        """What masking steps kept of the original, exactly or approximately."""
        return ()

    @property
    def parts(self) -> tuple[Path, ...]:
        """The files that hold what was released already; none where it is in memory."""
        return ()

    def summary(self) -> Document:
        """The release as plain data, for who calls from elsewhere: verdicts, counts, attacks,
        measures; no data values.
        """
        return {
            "holds": self.holds,
            "headline": self.headline.text,
            "shape": str(self.shape),
            "counts_before": self.original.counts(),
            "counts": self.released.counts(),
            "suppressed": self.suppressed,
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            "plan": [{"step": name, **plan.describe()} for name, plan in self.plans],
            "limits": [limit.to_dict() for limit in self.limits],
            "contract": [agreement.to_dict() for agreement in self.contract],
            "attacks_before": (
                None if self.attacks_before is None else self.attacks_before.to_dict()
            ),
            "attacks": None if self.attacks is None else self.attacks.to_dict(),
            "utility": None if self.utility is None else self.utility.to_dict(),
            "warnings": list(self.warnings),
        }

    # Attacks and measures.

    def attack(
        self, context: AttackContext | None = None, **keywords: Unpack[AttackKeywords]
    ) -> AttackReport:
        """Let every named intruder try the release; see :func:`sfumato.attack`.

        Steps, promises and limits of the ``context`` are those of the recipe, unless it names some.
        """
        from sfumato.release.attack_run import AttackContext, attack_release

        base = AttackContext() if context is None else context
        # what the caller says goes first; an empty entry means that nothing was said
        complete = dataclasses.replace(
            base,
            steps=base.steps or self.recipe.steps,
            models=base.models or self.recipe.meet,
            limits=base.limits or self.recipe.limits,
        )
        # the seed of the release: whoever verifies it can try the same again
        keywords.setdefault("seed", self.seed)
        return attack_release(self.pair, context=complete, **keywords)

    def attacked(
        self, context: AttackContext | None = None, **keywords: Unpack[AttackKeywords]
    ) -> Self:
        """The same release with what intruders found, which its certificate and reports then
        tell.
        """
        if "seed" in keywords:
            raise ParameterError(
                "attacks of a certificate use the seed of the release, so that verify can repeat "
                "them; leave out seed"
            )
        return dataclasses.replace(self, attacks=self.attack(context, **keywords))

    def evaluate(self, metrics: Sequence[Utility | str | Fields] | None = None) -> Evaluation:
        """What the release is still worth; see :func:`sfumato.evaluate`."""
        return evaluate(self.pair, metrics)

    def tried(self, *, seconds: float, progress: Progress) -> Self:
        """The same release with what attacks find before and after, half of the time each, and what
        it is worth.
        """
        from sfumato.release.attack_run import AttackOptions, attack_unchanged

        before = attack_unchanged(
            self.original,
            models=self.recipe.meet,
            seconds=seconds / 2,
            seed=self.seed,
            progress=progress,
        )
        after = None
        if seconds > 0:
            after = self.attack(seconds=seconds / 2, options=AttackOptions(progress=progress))
        return dataclasses.replace(
            self, attacks_before=before, attacks=after, utility=self.evaluate()
        )

    @property
    def needs_attack(self) -> bool:
        """Whether intruders try it by default before it is written."""
        return False

    # One step more or less.

    def then(self, *steps: Step | str | Fields) -> Self:
        """The release with further steps after its own, run again with the same seed.

        A promise that does not hold yet refuses nothing here: ``holds`` says whether all do, and
        ``write`` refuses where they do not.
        """
        if not steps:
            raise ParameterError("then takes a step, such as sf.Round(['cost'], 100)")
        added: list[Step] = []
        for step in steps:
            if isinstance(step, str | Mapping):
                added.append(registry.build("steps", step, shape=self.shape))
            else:
                added.append(step)
        return self._made_with((*self.recipe.steps, *added))

    def undo(self) -> Self:
        """The release without its last step, run again with the same seed; see :meth:`then`."""
        if len(self.recipe.steps) == 1:
            raise ParameterError(
                "this release has one step, and nothing would be left to release without it; make"
                " another one with sf.anonymize"
            )
        return self._made_with(self.recipe.steps[:-1])

    def _made_with(self, steps: Sequence[Step]) -> Self:
        from sfumato.core.data import Context

        context = Context(
            self.seed,
            shuffle=self.shuffled,
            format=self.made_for,
            memory=self.memory,
            refuse=False,
        )
        recipe = dataclasses.replace(self.recipe, steps=tuple(steps))
        release: Self = VERBS["make"](self.original, recipe, context)
        return release

    def explain(self) -> Explanation:
        """What the release did to each column and why, for its owner."""
        explanation: Explanation = VERBS["explain"](self)
        return explanation

    # Writing.

    writer: ClassVar[str] = "write_data_files"
    """What writes the files of the release; see :data:`sfumato.release.VERBS`."""

    def write(
        self,
        folder: str | Path,
        *,
        format: str | None = None,  # noqa: A002
        force: Annotated[
            bool,
            CommandOption("replace an earlier release", ("--force",), panel=WriteOptions.panel),
        ] = False,
        sign: Annotated[
            str | Path | None,
            CommandOption("private key (PEM) to sign with", typed=Path, panel=WriteOptions.panel),
        ] = None,
        attack: float | None = None,
        options: WriteOptions = WriteOptions(),
    ) -> Path:
        """Write ``share/`` (data, certificate, report) and ``owner/`` (lock, alignment, report), or
        nothing at all.

        The file is read back before it stands, and refused where a promise does not hold in it.
        ``attack`` are the seconds of computing that the named intruders have before; by default
        none, but for synthetic rows, of which nothing else tells what they reveal
        (``attack=0``: none there, either).
        """
        # None: by default; 0: not at all
        if attack or (attack is None and self.needs_attack):
            attacked = self.attacked(seconds=attack) if attack else self.attacked()
            # attacked now, so that the second call only writes
            return attacked.write(
                folder, format=format, force=force, sign=sign, attack=0, options=options
            )
        VERBS["write"](
            self,
            Path(folder),
            format=format,
            force=force,
            sign=None if sign is None else Path(sign),
            options=options,
        )
        return Path(folder)

    def plot(self) -> alt.LayerChart | None:
        """The share of people who are alone by what is known of them, before and after; None where
        no attack draws it.
        """
        reports = [
            None if report is None else report.to_dict()
            for report in (self.attacks_before, self.attacks)
        ]
        charts = chart_uniqueness_curves(*reports)
        return plot_chart(charts[0]) if charts else None

    def blocks(self) -> Sequence[Block]:
        """What was released, whether it holds, what attacks find and what it is worth, without a
        data value.
        """
        return [
            *self.headline.blocks(),
            Paragraph(f"{self.original.source.name}: {self.told_records}"),
            *(verdict.verdict_block for verdict in self.verdicts),
            *(
                VerdictBlock(bound.holds, bound.sentence)
                for bound in (*self.limits, *self.contract)
            ),
            *self.change_blocks(),
            *self.attack_blocks(),
            *(() if self.utility is None else self.utility.blocks()),
            *(Paragraph(warning, "warning") for warning in self.warnings),
        ]

    def change_blocks(self) -> Sequence[Block]:
        """What became of the data."""
        was, now = self.original.counts(), self.released.counts()
        rows = tuple(
            # columns of counts that only one of both has are shown as well
            (plain_name(name), was.get(name), now.get(name))
            for name in dict.fromkeys([*was, *now])
        )
        return [TableBlock((str(self.shape), "before", "after"), rows)]

    def attack_blocks(self) -> Sequence[Block]:
        """What attacks reach in the original and in the release; what is unknown is not left
        out.
        """
        if self.attacks is None:
            return [Paragraph(NOT_ATTACKED, "quiet")]
        return before_and_after(self.attacks_before, self.attacks)

    def __repr__(self) -> str:
        return str(self)
