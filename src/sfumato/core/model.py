"""Promises: what a model needs to see, and what it says."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, TableBlock, VerdictBlock
from sfumato.core.encoding import parts_of
from sfumato.core.fields import Document
from sfumato.core.shape import Shape
from sfumato.core.words import plain_name
from sfumato.errors import InternalError

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.classes import ClassTable
    from sfumato.core.consistency import Pairs
    from sfumato.core.encoding import Column
    from sfumato.core.mechanism import Mechanism
    from sfumato.core.schema import Schema

TOLERANCE = 1e-9
"""Slack with which a computed quantity is compared with a threshold."""


@dataclasses.dataclass(frozen=True)
class Facts:
    """What kind of promise a model makes (after Torra, Sandhu and Gerl).

    ``against`` names the disclosure it limits; ``measure`` tells a yes/no property from a quantity;
    ``truthful`` whether released values stay true; ``protects`` whose privacy; ``setting`` what is
    shared.
    """

    against: Literal["identity", "attribute", "both", "membership"]
    measure: Literal["boolean", "quantitative"] = "boolean"
    truthful: bool = True
    protects: Literal["respondent", "owner", "user"] = "respondent"
    setting: Literal["publish", "share result", "compute result"] = "publish"


@dataclasses.dataclass(frozen=True)
class Needs:
    """What a model must be shown besides the classes.

    ``counts``: columns whose values are counted per class; a tuple of names is counted as one.
    ``reference``: whether their distribution in the original table is needed. ``unmasked``: columns
    that are counted as they were before masking, where the original table is at hand. ``weights``:
    whether survey weights are summed per class. ``population``, ``pairs`` and ``posteriors`` name
    the rarer kinds of evidence.
    """

    counts: tuple[Column, ...] = ()
    reference: bool = False
    population: bool = False
    pairs: bool = False
    posteriors: bool = False
    weights: bool = False
    unmasked: tuple[str, ...] = ()
    population_counts: str | None = None
    """The column of the population table that counts people, where its rows are no persons."""


@runtime_checkable
class Posterior(Protocol):
    """What an attack believes of who is behind each released record, where a matrix of it all would
    be too large.
    """

    @property
    def records(self) -> int:
        """How many released records there are."""
        ...

    def likely(self, least: float | None) -> NDArray[np.int64]:
        """Per released record how many originals it may be with at least this probability; None:
        with any.
        """
        ...


@dataclasses.dataclass(frozen=True, eq=False)
class ClassEvidence:
    """What a model judges: the classes of what is released, and the table they came from.

    ``frequencies`` says, per class, how many records an intruder must confuse: the class size, or
    the number of compatible records where missing values are wildcards. ``reference`` maps a column
    to its counts in the original table, in the code order of ``classes.counts[column].labels``.
    ``classes.population`` counts the population records that match each class and ``absent`` those
    that match none. ``pairs`` joins the originals to what was released of them; ``posteriors`` are
    the matrices (or each a :class:`Posterior`) of the attacks that were run. ``drawn``: rows were
    redrawn and are nobody's, so that what is said of classes is said of the file. ``mechanisms``
    says of columns by which random rule a run released them; a table by itself shows none.
    """

    classes: ClassTable
    schema: Schema
    reference: Mapping[Column, NDArray[np.int64]] = dataclasses.field(default_factory=dict)
    wildcard: NDArray[np.int64] | None = None
    absent: int = 0
    pairs: Pairs | None = None
    posteriors: tuple[Any, ...] = ()
    drawn: bool = False
    mechanisms: Mapping[str, Mechanism] = dataclasses.field(default_factory=dict)

    @property
    def frequencies(self) -> NDArray[np.int64]:
        """Per class, the number of records an intruder must confuse."""
        if self.wildcard is None:
            return self.classes.sizes
        return self.wildcard


OF_THE_FILE = "of the file, not of persons: its rows are synthetic"
"""What a promise about classes means where rows are nobody's."""


@dataclasses.dataclass(frozen=True, eq=False)
class Verdict(Reportable):
    """What a model says about a table.

    ``attained`` is the strongest parameter that holds (k today, the largest l, the smallest t);
    ``per_class`` the value of each class; ``failing`` the indices of the classes that break the
    promise and ``records`` how many records they hold; ``sentence`` what a data steward reads;
    ``crowd`` that of the model. Not ``of_persons`` is what is said of synthetic rows: it
    is true of the file, and no person of the original is promised anything by it.
    """

    model: str
    promise: str
    holds: bool
    attained: float | None
    required: float | None
    sentence: str
    per_class: NDArray[Any]
    failing: NDArray[np.int64]
    failing_sizes: NDArray[np.int64]
    records: int
    missing_rule: str = "category"
    crowd: int | None = None
    of_persons: bool = True
    class_table: ClassTable | None = dataclasses.field(default=None, repr=False)
    """The classes that were judged, where a user asked for them; their labels are data."""

    def classes(self) -> pl.DataFrame:
        """What the promise attains class by class, the failing ones first: the labels of the
        quasi-identifiers, ``records``, ``attained`` and ``holds``.

        Labels are data of people: for the owner's eyes. Names that a column has already are
        followed by a ``_``. Promises that judge no classes, and verdicts that were made without
        keeping them, are refused; ``sf.judge`` keeps them.

        >>> import sfumato as sf
        >>> verdict = sf.judge(sf.examples.ancona(), "l_diversity:salary,4")[0]
        >>> verdict.classes().select("records", "attained", "holds").rows()
        [(3, 3, False), (3, 3, False), (3, 3, False)]
        """
        from sfumato.core.class_frames import frame_of_verdict

        return frame_of_verdict(self)

    @property
    def of_the_file(self) -> Verdict:
        """The same, said of rows that are nobody's."""
        return dataclasses.replace(
            self, sentence=f"{self.sentence}; {OF_THE_FILE}", of_persons=False
        )

    def not_applied(self, columns: Sequence[str]) -> Verdict:
        """The same where nothing shows that the mechanism was applied to columns: unknown, and
        unknown is not a pass.
        """
        problem = (
            f"unknown: no table shows how {', '.join(columns)} was released, and no step of this "
            "run applied the mechanism to it last"
        )
        sentence = (
            f"{problem}; with it, {self.sentence}; move the step that applies it to the end of the "
            "recipe"
        )
        return dataclasses.replace(self, holds=False, attained=None, sentence=sentence)

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        return f"{self.verdict_block.mark} {self.verdict_block.text}"

    def __str__(self) -> str:
        return repr(self)

    @property
    def verdict_block(self) -> VerdictBlock:
        """The promise, whether it holds, and what a data steward reads."""
        return VerdictBlock(self.holds, self.promise, self.sentence)

    def blocks(self) -> Sequence[Block]:
        """The verdict, and the numbers behind it."""
        fields = self.to_dict()
        heads = ("attained", "required", "failing_classes", "failing_records", "missing_rule")
        cells = tuple(fields[head] for head in heads)
        numbers = TableBlock(tuple(map(plain_name, heads)), (cells,))
        return [self.verdict_block, numbers]

    def to_dict(self) -> Document:
        """The verdict as plain data, without anything per class or per record; what is infinite is
        None.
        """
        return {
            "model": self.model,
            "promise": self.promise,
            "holds": self.holds,
            "attained": finite(self.attained),
            "required": self.required,
            "failing_classes": len(self.failing),
            "failing_records": self.records,
            "missing_rule": self.missing_rule,
            "sentence": self.sentence,
            # Only said where it is not the usual case.
            **({} if self.of_persons else {"of_persons": False}),
        }


def finite(value: float | None) -> float | None:
    """A number that JSON knows: None for what is infinite or not a number.

    >>> finite(0.5), finite(float("inf"))
    (0.5, None)
    """
    if value is None or not math.isfinite(value):
        return None
    return value


def before_masking(column: str) -> str:
    """The name under which the values that a column had before masking are counted."""
    return f"{column} (before masking)"


@runtime_checkable
class Model(Protocol):
    """A promise about a table. Frozen, validated, written in a recipe under its ``name``.

    ``monotone``: merging classes never breaks it, so a search may prune. ``shrinking``: every
    record suppressed at a coarser node is also suppressed at each finer one, so bounds on
    suppression are valid too. ``scope`` is ``class`` when a class fails or holds whatever the
    others do, and ``table`` when it depends on which classes are kept (an average, a distribution
    of the release itself): then suppression is repeated until nothing fails.

    Models inherit this class and write ``promise`` and ``judge``; models of tables also write what
    follows down to ``implies``. All else has a default that is true of a model that says nothing
    more.
    """

    name: ClassVar[str]
    facts: ClassVar[Facts]
    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.TABLE})
    """The shapes of data that it can judge."""
    secret: ClassVar[tuple[str, ...]] = ()
    """Fields that a certificate does not show: they list data values."""
    planned_for: ClassVar[bool] = True
    """Whether steps may plan for it; what is measured on a finished release alone is judged there.
    """
    compares: ClassVar[bool] = False
    """Whether it needs the original besides the release, where the data are no table (those say it
    in ``needs``).
    """

    @property
    def promise(self) -> str:
        """The promise in a few words: ``5-anonymity``."""
        ...

    def judge(self, evidence: Any) -> Verdict:
        """Judge released data and say by how much it holds.

        Models of tables are given the :class:`ClassEvidence` of classes, all others
        a :class:`~sfumato.core.data.Evidence`.
        """
        ...

    # Defaults from here on claim nothing: a search may neither prune nor take shortcuts by them.
    @property
    def monotone(self) -> bool:
        """Whether merging classes never breaks it."""
        return False

    @property
    def shrinking(self) -> bool:
        """Whether a record suppressed at a node is suppressed at every finer one."""
        return False

    @property
    def scope(self) -> Literal["class", "table"]:
        """Whether a class can be judged without knowing which others are kept."""
        return "table"

    def needs(self, schema: Schema) -> Needs:
        """What must be counted to judge it; raises :class:`SchemaError` when the schema does not
        fit.
        """
        return Needs()

    def failing(self, evidence: ClassEvidence) -> NDArray[np.bool_]:
        """Which classes must go for the promise to hold on the rest (``table`` scope: given that
        these are there).
        """
        raise InternalError(f"{self.name} does not judge classes of a table")

    def implies(self, other: Model) -> bool:
        """Whether data that keep this promise surely keep the other one."""
        return False

    def lacking(self, data: object) -> str | None:
        """What it needs and released files do not hold, in words; None where nothing is lacking."""
        return None

    @property
    def crowd(self) -> int | None:
        """The k of a promise that is k-anonymity and nothing else; None for every other promise."""
        return None

    def crowds(self, columns: Sequence[str]) -> Iterable[tuple[Sequence[str], int]] | None:
        """Sets of these quasi-identifiers, and how many records must share every combination of
        values in each.

        None for a promise that asks for anything else.
        """
        if self.crowd is None:
            return None
        return [(columns, self.crowd)]

    def judge_without_suppressed(
        self, evidence: ClassEvidence, suppressed: int, attained: float
    ) -> Verdict | None:
        """Judge against an original of which only the released records are at hand, and that so
        many more were suppressed.

        ``attained`` is what is claimed. None where the released records do not decide whether the
        claim is true.
        """
        return None

    @property
    def enough_k(self) -> int | None:
        """The k from which k-anonymity alone keeps the promise; None where no k does."""
        return None

    @property
    def population(self) -> str | None:
        """The file with a table of everyone that it names; None: it names none."""
        return None

    @property
    def population_counts(self) -> str | None:
        """The column in which the population counts people; None: a row is a person."""
        return None

    @property
    def about(self) -> tuple[str, ...]:
        """The sensitive columns that it names."""
        return ()

    @property
    def diversity(self) -> tuple[Column, float] | None:
        """The sensitive column of which every class must show so many values (l-diversity), and the
        number.
        """
        return None

    def most_alike(self, records: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many of so many records may share one value of the column of :attr:`diversity`."""
        return records

    def holds_where_diverse(self, sensitive: Column, values: int) -> bool:
        """Whether it surely holds where every class shows so many different values of a sensitive
        column.
        """
        return False

    def holds_within(self, sensitive: Column, factor: float) -> bool:
        """Whether it surely holds where no class changes the share of a sensitive value by more
        than a factor, up or down.
        """
        return False

    @property
    def randomised(self) -> tuple[str, ...]:
        """The columns that must have been released by a random rule; none: the promise is about the
        table alone.

        What the model judges is then what follows once the rule is applied; that it was, a run must
        show (``judge_all``).
        """
        return ()

    def fits(self, mechanisms: Mapping[str, Mechanism]) -> bool:
        """Whether these are the rules, by column, that it asks for."""
        return True

    def forced(self, evidence: ClassEvidence) -> NDArray[np.int64] | None:
        """Per class, how many of its records every finer recoding must suppress; None: no more than
        ``failing`` tells.
        """
        return None

    def class_bound(self, evidence: ClassEvidence) -> int | None:
        """How many classes a recoding that keeps the promise can have at most, whatever it
        suppresses; None: no bound is known.
        """
        return None

    @classmethod
    def usual_degrees(cls, sensitive: str, k: int) -> Sequence[Model]:
        """Usual degrees of the promise about a sensitive column, with classes of k where it has a
        k, to plan with; none from one that bounds no number of classes.
        """
        return ()

    def excess(self, evidence: ClassEvidence) -> tuple[NDArray[np.float64], float] | None:
        """Per class what it adds to a sum over the released ones, and the most that sum may
        be; None: it is no such sum.
        """
        return None


def make_verdict(
    model: Model,
    *,
    holds: bool,
    attained: float | None,
    required: float | None,
    sentence: str,
    broken: int = 0,
    people: int = 0,
    crowd: int | None = None,
) -> Verdict:
    """The verdict of a model that judges no classes.

    ``broken`` is how many sets, windows or vertices break the promise, ``people`` how many persons
    these concern.
    """
    none = np.zeros(0, dtype=np.int64)
    return Verdict(
        model=model.name,
        promise=model.promise,
        holds=holds,
        attained=attained,
        required=required,
        sentence=sentence,
        per_class=none,
        # Mere numbers: only how many there are is told.
        failing=np.arange(broken, dtype=np.int64),
        failing_sizes=none,
        records=people,
        crowd=crowd,
    )


class SensitiveModel(Model, Protocol):
    """A promise about the values of a sensitive column, or of several that are taken together."""

    sensitive: Any

    @property
    def about(self) -> tuple[str, ...]:
        """The sensitive columns that it names."""
        return parts_of(self.sensitive)
