"""Quantities: what a release risks and what it is still worth."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, Cell, ChartBlock, TableBlock
from sfumato.core.consistency import NOBODYS
from sfumato.core.fields import Document
from sfumato.core.shape import Shape
from sfumato.core.words import first_sentence, number, plain_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sfumato.core.model import ClassEvidence
    from sfumato.core.schema import Schema
    from sfumato.core.table import Table


@dataclasses.dataclass(frozen=True)
class Measure(Reportable):
    """One number with its meaning. ``interval`` is a confidence or certainty interval where there
    is one.

    For utilities ``raw`` is the value in the metric's own unit and ``value`` the normalised one (0:
    nothing is lost, 1: everything, unless ``better`` is higher). ``per_column`` and ``per_record``
    are parts it is made of; ``per_record`` is in the order of the released rows and for the owner
    only. It is given as ``parts``, or as a function that works them out for whoever asks: of a
    large table they fill the memory, and most readers never look.
    """

    name: str
    value: float
    better: Literal["lower", "higher"]
    meaning: str
    interval: tuple[float, float] | None = None
    raw: float | None = None
    per_column: Mapping[str, float] = dataclasses.field(default_factory=dict)
    parts: NDArray[np.float64] | Callable[[], NDArray[np.float64]] | None = dataclasses.field(
        default=None, repr=False, compare=False
    )

    chart: ChartBlock | None = dataclasses.field(default=None, repr=False, compare=False)
    """A picture of its parts, where there is one."""

    @cached_property
    def per_record(self) -> NDArray[np.float64] | None:
        """The part of every released record, or None."""
        if callable(self.parts):
            return self.parts()
        return self.parts

    def to_dict(self) -> Document:
        """The measure as plain data, without anything per record."""
        plain = {}
        for f in dataclasses.fields(self):
            if f.name not in ("parts", "chart"):
                plain[f.name] = getattr(self, f.name)
        extra = {"interval", "raw", "per_column"}
        # An interval is told even where there is none, the others only where they say something.
        return {
            key: value
            for key, value in plain.items()
            if key not in extra - {"interval"} or value not in (None, {})
        }

    def blocks(self) -> Sequence[Block]:
        """The value, of all together and column by column."""
        between = None
        if self.interval is not None:
            between = f"{number(self.interval[0])} to {number(self.interval[1])}"
        rows: list[tuple[Cell, ...]] = [("all", self.value, between, self.raw)]
        rows += [(column, part, None, None) for column, part in self.per_column.items()]
        caption = f"{plain_name(self.name)}: {self.meaning} ({self.better} is better)"
        blocks: list[Block] = [
            TableBlock(("column", "value", "between", "raw"), tuple(rows), caption)
        ]
        if self.chart is not None:
            blocks.append(self.chart)
        return blocks


class Metric(abc.ABC):
    """Something that is measured: a risk, an attack or a utility. Frozen, validated, written in a
    recipe under its ``name``.

    ``better`` says which way is better. On pages it is called by its ``title``, and ``line`` says
    what it tells, without a formula; who gives neither gets the name in words, and the first line
    of the docstring. ``secret`` names the fields that may hold values of people: the published
    recipe is without them. ``follows_rows``: it asks which original record a released one came
    from, so it does not apply to synthetic rows
    (:attr:`sfumato.core.pair.TablePair.aligned`).

    >>> class RowsKept(Metric):
    ...     "Share of records that are still there."
    ...     name = "rows_kept"
    >>> RowsKept.title, RowsKept.line, RowsKept.better
    ('Rows kept', 'Share of records that are still there', 'lower')
    """

    name: ClassVar[str]
    better: ClassVar[Literal["lower", "higher"]] = "lower"
    title: ClassVar[str]
    line: ClassVar[str]
    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.TABLE})
    """The shapes of data that it can measure."""
    secret: ClassVar[tuple[str, ...]] = ()
    follows_rows: ClassVar[bool] = False
    by_default: ClassVar[bool] = True
    """Whether it is measured or tried on data other than a table when nobody asks for it by name.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = vars(cls)
        # A base class without a name gives its subclasses no title.
        if "name" in own:
            cls.title = own.get("title") or cls.name.replace("_", " ").capitalize()
            cls.line = own.get("line") or first_sentence(cls.__doc__).rstrip(".")

    @property
    def words(self) -> str:
        """What it is called in a sentence."""
        return self.name.replace("_", " ")


class Risk(Metric):
    """What a file risks as it is, told by its classes."""

    @abc.abstractmethod
    def measure(self, evidence: ClassEvidence) -> Measure:
        """Measure a table."""


class Utility(Metric):
    """What a release is still worth, seen beside the original.

    ``judges_detail``: coarser levels and more suppression never make it look better; the contract
    tests hold it to that. Who reads a map of risk and utility is told so.
    """

    judges_detail: ClassVar[bool] = False
    counts: ClassVar[bool] = False
    """Whether it needs no more than how many records have each combination of the values of its
    columns, before and after.
    """

    def looks_at(self, pair: Any) -> Any:
        """What it is measured on: of a sample the counts of all records, where these are known and
        enough; else the pair.
        """
        counted_pair = pair.counted
        if self.counts and counted_pair is not None and counted_pair.original.has(self.reads):
            return counted_pair
        return pair

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that it looks at besides the quasi-identifiers, as far as it names them."""
        return self.about

    @property
    def about(self) -> tuple[str, ...]:
        """The columns it is asked about; none: all that it can look at."""
        return ()

    def told_alone(self, released: Table, original: Schema, records: int) -> float | None:
        """Its value from the released table alone, of so many records that there were; None: it
        compares with the original.
        """
        return None

    def applies(self, pair: Any) -> str | None:
        """None when the metric makes sense for these data (it always does, unless it says so), else
        the reason it does not.
        """
        return None

    def out_of_place(self, pair: Any) -> str | None:
        """Why it is not measured on a pair: the rows it would follow are nobody's, or what
        ``applies`` says; None: it is.
        """
        if self.follows_rows and not pair.aligned:
            return NOBODYS
        return self.applies(pair)

    @abc.abstractmethod
    def measure(self, pair: Any) -> Measure:
        """Compare a release with its original."""


class ColumnUtility(Utility):
    """A utility of the columns it is told to look at."""

    columns: Any

    @property
    def about(self) -> tuple[str, ...]:
        """The columns it is told to look at."""
        return tuple(self.columns or ())
