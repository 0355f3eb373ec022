"""Which released columns tell more about a quasi-identifier than its released label does: every
pair, lines, and sums of up to three.

First a sample without labels, then labels as a whole, and all records only for what was found. That
nothing is found does not say that there is no dependence: none of these kinds was found.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.encoding import encode
from sfumato.core.fields import Document
from sfumato.core.randomness import comparable
from sfumato.core.schema import UNITS, Role
from sfumato.core.words import percent
from sfumato.methods.formulas.dependence import (
    DEVIATIONS,
    FEW_BINS,
    FEW_ROWS,
    FEWEST_OPEN,
    FEWEST_REPEATS,
    MOST_QUASI,
    MOST_RELEASED,
    PERMUTATIONS,
    QUANTILE,
    REFUSED,
    SMALLEST_SHARE,
    WEAK,
    DependenceKind,
    Figures,
    NumberBlock,
    chosen_sum,
    count_keys,
    dense,
    figures_of,
    frequent_codes,
    line_of,
    number_codes,
    permuted_within,
    predicted_sum,
    screened_bits,
    share_gained,
    sure_records,
    within_labels,
)
from sfumato.methods.formulas.dependence_columns import (
    PARTS,
    RecordColumn,
    code_reader,
    date_part,
    days_of,
    number_reader,
)
from sfumato.methods.formulas.implied_linkage import (
    MOST_PEOPLE,
    ImpliedEvidence,
    LineEvidence,
    Linkage,
    TableEvidence,
    classes_of_codes,
    implied_linkage,
)

if TYPE_CHECKING:
    from sfumato.core.pair import TablePair
    from sfumato.methods.formulas.dependence import Codes, Numbers

SAMPLE, FEW, FEWEST = 20_000, 2_000, 5
KEPT_GAIN, KEPT_BITS, KEPT_BITS_OF_A_VALUE = 0.05, 0.05, 0.3
NEAR_LINE, SAME_NUMBERS = 0.5, 0.2
THERE = "whether there is a value"
LOOKED_FOR = "pairs, lines and sums of up to three columns"


@dataclasses.dataclass(frozen=True, eq=False)
class Dependence:
    """Released columns (one, or up to three of a sum) that tell of a quasi-identifier, what was
    measured, and what it means.
    """

    columns: tuple[str, ...]
    quasi: str
    finding: DependenceKind
    figures: Figures
    evidence: ImpliedEvidence

    @property
    def refused(self) -> bool:
        """Whether it undoes the release by itself."""
        return self.finding in REFUSED

    @property
    def pair(self) -> str:
        """The columns in words: ``a, b → q``."""
        return f"{', '.join(self.columns)} → {self.quasi}"

    def sentence(self) -> str:
        """What was found, with figures: for the owner."""
        figures = self.figures
        parts = [
            (
                f"the value is correct for {percent(figures.hit)} of {figures.records:,} records "
                f"instead of {percent(figures.base)}"
            )
        ]
        if figures.bits:
            parts.append(f"{percent(figures.bits)} of the remaining bits are removed")
        if figures.sure:
            parts.append(f"nearly certain for {percent(figures.sure)}")
        if figures.line is not None and figures.line_gain >= WEAK:
            parts.append(
                f"a function of it is close for {percent(figures.line)} instead of "
                f"{percent(figures.line_base)}"
            )
        names = " + ".join(self.columns)
        return f"{names} {self.finding} {self.quasi} beyond its released label ({'; '.join(parts)})"


@dataclasses.dataclass(frozen=True, eq=False)
class Dependences:
    """All that was found in a table beside its release; ``compared`` pairs were looked at, of
    ``unknown`` too few records tell.
    """

    found: tuple[Dependence, ...] = ()
    compared: int = 0
    unknown: tuple[tuple[str, str], ...] = ()
    classes: Codes = dataclasses.field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    rows: Codes = dataclasses.field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    k: int | None = None

    def linkage(
        self, dependences: Sequence[Dependence] | None = None, people: Codes | None = None
    ) -> Linkage | None:
        """Linkage by some of the dependences (by default all); None without any. ``people`` are
        places in :attr:`rows`.
        """
        dependences_used = self.found if dependences is None else dependences
        if not dependences_used:
            return None
        return implied_linkage(
            self.classes,
            [dependence.evidence for dependence in dependences_used],
            k=self.k or 2,
            people=people,
        )


def find_dependences(
    pair: TablePair, *, k: int | None = None, quasi: Iterable[str] | None = None
) -> Dependences:
    """Compare every released column with every quasi-identifier whose released labels leave more
    than one value open.

    A quasi-identifier that was dropped counts as one label for all. Where rows belong to persons,
    one row of each is looked at. ``quasi`` limits the quasi-identifiers that are looked at.
    """
    if quasi is None:
        identifiers = pair.original.schema.quasi
    else:
        identifiers = tuple(quasi)
    # Released columns but for quasi-identifiers themselves and numbers of units.
    not_compared = {Role.QUASI, *UNITS, Role.DROP, Role.KEY}
    columns = tuple(
        name
        for name, attribute in pair.released.schema.attributes.items()
        if not_compared.isdisjoint(attribute.roles)
    )
    has_pairs = identifiers and columns and len(pair.released)
    if not has_pairs or not pair.aligned or pair.released.copies is not None:
        return Dependences(k=k)
    return _Search(pair, columns, k).result(identifiers)


@dataclasses.dataclass(frozen=True, eq=False)
class _Quasi:
    """A quasi-identifier of the looked-at records: its number or None, its code, that of its
    released label, and H(q | label).
    """

    name: str
    values: RecordColumn | None
    codes: RecordColumn
    label: RecordColumn
    remaining: float
    hidden: int
    """Records whose label leaves more than one value open."""


class _Search:
    """One search: what is made of columns is made once.

    Records are looked at in sets with a name: ``all``, a ``sample`` at random, ``few`` of them, or
    all of some labels of a quasi-identifier.
    """

    def __init__(self, pair: TablePair, columns: Sequence[str], k: int | None) -> None:
        self.pair = pair
        self.columns = columns
        self.k = k
        # Released rows that are looked at: all, or one of each person.
        order = _order_of_records(pair)
        person = pair.original.schema.person
        if person is None:
            self.rows = order
        else:
            persons = pair.original.encoded(person).narrow[pair.rows[order]]
            first_places = np.unique(persons, return_index=True)[1]
            self.rows = order[np.sort(first_places)]
        self.origin = pair.rows[self.rows]
        self.records = len(self.rows)
        # Seeded by the number of records alone: the same sample for the same table, on every
        # machine.
        rng = np.random.default_rng(self.records)
        sample = _sample_records(rng, self.records, SAMPLE)
        few = _sample_records(rng, self.records, FEW)
        self.sets: Document = {
            "all": slice(None),
            "sample": sample,
            "few": few,
        }
        self.known: dict[Any, Any] = {}

    def once(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """What is made for a key, the first time it is asked for."""
        if key not in self.known:
            self.known[key] = make()
        return self.known[key]

    def result(self, quasi: Sequence[str]) -> Dependences:
        """Compare all columns with some quasi-identifiers."""
        dependences: list[Dependence] = []
        unknown: list[tuple[str, str]] = []
        compared = 0
        for name in quasi:  # one after the other: what is made of one is forgotten before the next
            identifier = self.quasi(name)
            if identifier is None:
                continue
            compared += len(self.columns)
            # Fewer open records reveal nothing, whatever the columns hold: no figures would be
            # flagged.
            if identifier.hidden < FEWEST_OPEN:
                unknown += [(column, name) for column in self.columns]
                continue
            own: list[Dependence] = []
            for column in self.columns:
                dependence = self.compared(identifier, column)
                if isinstance(dependence, Dependence):
                    own.append(dependence)
                elif dependence is DependenceKind.UNKNOWN:
                    unknown.append((column, name))
            alone: set[str] = set()
            for own_dependence in own:
                if own_dependence.refused:
                    alone.update(own_dependence.columns)
            # Columns that tell enough alone would make every sum with them tell.
            own += self.sums(identifier, [c for c in self.columns if c not in alone])
            dependences += own
            # Codes within labels belong to one quasi-identifier; memory stays that of one.
            self.known = {key: value for key, value in self.known.items() if name != key[-1]}
        if not dependences:  # nobody is linked by them, so nobody asks which rows were looked at
            return Dependences(compared=compared, unknown=tuple(unknown), k=self.k)
        classes = self.classes()
        return Dependences(tuple(dependences), compared, tuple(unknown), classes, self.rows, self.k)

    # quasi-identifiers

    def quasi(self, name: str) -> _Quasi | None:
        """A quasi-identifier with its labels; None where every label stands for one value, so that
        nothing is hidden.
        """
        before = self.pair.original.encoded(name)
        codes = RecordColumn(code_reader(before), self.origin)
        read = number_reader(self.pair.original, name)
        values = None if read is None else RecordColumn(read, self.origin)
        own, label = self.labels(name, values)
        if own and self.records == len(self.pair.released):
            joint = self.pair.joint(name)
            of = joint.label
            counts = joint.count
        else:
            label_keys = label.whole * len(before.labels) + codes.whole
            pairs, counts = count_keys(label_keys)
            of = pairs // len(before.labels)
        # How many bits of the values the labels leave open: one of T records, c of them with a
        # value, leaves Σ c·log₂(T/c) = T·log₂T − Σ c·log₂c; a value that one record has adds
        # nothing.
        has_many = np.bincount(of) > 1
        totals = np.bincount(of, weights=counts)[has_many]
        hidden = int(totals.sum())
        if not hidden:
            return None
        repeated = counts[(counts > 1) & has_many[of]]
        bits = (totals * np.log2(totals)).sum()
        repeated_bits = (repeated * np.log2(repeated)).sum()
        spread = float(bits) - float(repeated_bits)
        return _Quasi(
            name, values, codes=codes, label=label, remaining=spread / hidden, hidden=hidden
        )

    def labels(self, name: str, values: RecordColumn | None) -> tuple[bool, RecordColumn]:
        """The released labels of a quasi-identifier, and whether they are its own; one that was
        dropped has one label for all.

        Labels of a masked number (noise, swapping) are numbers that nobody shares: twenty bins by
        rank take their place.
        """
        everybody = np.arange(self.records)
        if name not in self.pair.released.columns:
            return False, RecordColumn(np.zeros_like, everybody)
        after = self.pair.released.encoded(name)
        own = RecordColumn(code_reader(after), self.rows)
        if values is None or len(after.labels) * 5 < self.records:
            return True, own
        read = number_reader(self.pair.released, name)
        released = None if read is None else read(self.rows)
        if released is None or bool((released == values.whole).mean() > 0.5):
            return True, own
        return False, RecordColumn(number_codes(released, 20).__getitem__, everybody)

    def inside(self, q: _Quasi, records: str) -> Codes:
        """Codes of a quasi-identifier that tell values apart inside labels."""
        selection = self.sets[records]
        if q.values is None:
            return np.asarray(q.codes[selection])
        values = q.values[selection]
        label = q.label[selection]
        codes: Codes = self.once(("inside", records, q.name), lambda: within_labels(values, label))
        return codes

    def plain(self, q: _Quasi, records: str) -> Codes:
        """Codes of a quasi-identifier whatever its label."""
        selection = self.sets[records]
        if q.values is None:
            return np.asarray(q.codes[selection])
        values = q.values[selection]
        codes: Codes = self.once(
            ("plain", records, q.name), lambda: number_codes(values, MOST_QUASI)
        )
        return codes

    # released columns

    def numbers(self, column: str) -> RecordColumn | None:
        """A released column as numbers, or None."""

        def numbers_of_records() -> RecordColumn | None:
            read = number_reader(self.pair.released, column)
            if read is None:
                return None
            return RecordColumn(read, self.rows)

        numbers: RecordColumn | None = self.once(("numbers", column, None), numbers_of_records)
        return numbers

    def days(self, column: str) -> pl.Series | None:
        """A released column as days of the calendar, or None."""
        days: pl.Series | None = self.once(
            ("days", column, None), lambda: days_of(self.pair.released, column)
        )
        return days

    def codes(self, column: str, records: str, view: str | int = MOST_RELEASED) -> Codes:
        """Codes of a released column; ``view``: bins of numbers, a part of a date, or whether there
        is a value.
        """
        # forgotten with the quasi-identifier
        of = None
        if records.startswith("labels of "):
            of = records
        key = (
            "codes",
            column,
            view,
            records,
            None if of is None else of.removeprefix("labels of "),
        )
        codes: Codes = self.once(key, lambda: self.coded(column, self.sets[records], view))
        return codes

    def coded(self, column: str, selection: Any, view: str | int) -> Codes:
        """Codes remade."""
        released = self.pair.released
        rows = self.rows[selection]
        if view == THERE:
            is_blank = released.column(column).gather(rows).is_null()
            return np.asarray(is_blank.to_numpy().astype(np.int64))
        if isinstance(view, str):
            days: Any = self.days(column)
            return dense(date_part(days.gather(rows), view))
        values = self.numbers(column)
        if values is not None:
            return number_codes(values[selection], view)
        if column in released.known.codes or len(rows) > SAMPLE:
            return frequent_codes(released.encoded(column).narrow[rows].astype(np.int64))
        return frequent_codes(encode(released.column(column).gather(rows)).codes)

    def views(self, column: str) -> list[str | int]:
        """The ways in which a column is looked at: bins of numbers, parts of dates, and whether
        there is a value at all.
        """
        views: list[str | int] = [MOST_RELEASED]
        if self.days(column) is not None:
            views += PARTS
        elif self.numbers(column) is not None:
            views.append(FEW_BINS)
        released = self.pair.released
        if column in released.coded:  # its text is not made for that
            missing = None in released.encoded(column).labels
        else:
            missing = released.column(column).null_count() > 0
        return [*views, THERE] if missing else views

    # pairs

    def compared(self, q: _Quasi, column: str) -> Dependence | DependenceKind:
        """What a released column tells of a quasi-identifier: a dependence, unknown, or nothing."""
        near = self.near(q, column)
        views = [view for view in self.views(column) if self.is_preserved(q, column, view)]
        if not views and not near:
            return self.unknown(q, column)
        flagged = (*REFUSED, DependenceKind.NARROWS)
        # A sample decides first; only what it flags is measured on all records.
        first = self.whole_labels(q)
        figures = self.measure_column(q, column, views, first, near=near)
        if first != "all" and figures.finding(self.k or 2) in flagged:
            figures = self.measure_column(q, column, views, "all", near=near)
        if figures.finding(self.k or 2) not in flagged:
            return self.unknown(q, column)
        if figures.records < FEW_ROWS:
            figures = self.beyond_chance(q, column, views, figures, near=near)
        finding = figures.finding(self.k or 2)
        if finding not in flagged or self.same_in_classes(column):
            if finding not in flagged:
                return finding
            return DependenceKind.SILENT
        evidence = self.evidence(q, column, figures)
        if finding is DependenceKind.SOME and not self.found_by(q, column, views, evidence):
            finding = DependenceKind.NARROWS
        return Dependence((column,), q.name, finding=finding, figures=figures, evidence=evidence)

    def same_in_classes(self, column: str) -> bool:
        """Whether all records of a class have the same released value: then it tells nobody of a
        class from the others.

        So do a column that follows a quasi-identifier, and a group of ages beside the label of the
        age. Where most records are unique that says nothing.
        """

        def same() -> bool:
            classes = self.classes()
            codes = self.pair.released.encoded(column).narrow[self.rows].astype(np.int64)
            keys = classes * (int(codes.max(initial=0)) + 1) + codes
            pairs, _ = count_keys(keys)
            return len(pairs) == int(classes.max(initial=-1)) + 1 <= self.records / 2

        is_same: bool = self.once(("same in classes", column, None), same)
        return is_same

    def found_by(
        self, q: _Quasi, column: str, views: Sequence[str | int], evidence: ImpliedEvidence
    ) -> bool:
        """Whether people are found by values that leave their quasi-identifier nearly certain.

        Those are the people of whom a record of their class with such a value says what they are:
        if as many others of the class are so, nothing is gained. In a class of children a disease
        of children finds nobody.
        """
        inside = self.inside(q, "all")
        sure = np.zeros(self.records, dtype=bool)
        for view in views:
            sure |= sure_records(inside, q.label.whole, self.codes(column, "all", view))
        classes = self.classes()
        quasi = dense(inside)
        combination = classes * (int(quasi.max(initial=0)) + 1) + quasi
        concerned = np.flatnonzero(np.isin(combination, combination[sure]))
        people = concerned[
            _sample_records(np.random.default_rng(len(concerned)), len(concerned), MOST_PEOPLE)
        ]
        return implied_linkage(classes, [evidence], k=self.k or 2, people=people).exceeds(self.k)

    def classes(self) -> Codes:
        """The released class of every record."""

        def grouped() -> Codes:
            labels = [self.pair.released.encoded(c).narrow[self.rows] for c in self.pair.quasi]
            return classes_of_codes(labels, self.records)

        class_codes: Codes = self.once(("classes", None), grouped)
        return class_codes

    def unknown(self, q: _Quasi, column: str) -> DependenceKind:
        """Nothing was found; unknown where fewer records than tell anything share label and
        released value.
        """
        if q.values is not None and self.numbers(column) is not None:
            return DependenceKind.SILENT
        r = self.codes(column, "sample")
        label = q.label[self.sets["sample"]]
        keys = label * (int(r.max(initial=0)) + 1) + r
        label_and_released = dense(keys)
        repeated = np.bincount(label_and_released)[label_and_released] > 1
        if int(repeated.sum()) < FEWEST_REPEATS:
            return DependenceKind.UNKNOWN
        return DependenceKind.SILENT

    def is_preserved(self, q: _Quasi, column: str, view: str | int) -> bool:
        """Whether a pair is looked at closely: without labels, on a sample, anything at all goes
        along.
        """
        quasi = self.plain(q, "sample")
        r = self.codes(column, "sample", view)
        gain, saved, totals = screened_bits(quasi, r)
        remaining_bits = max(KEPT_BITS, q.remaining)
        if gain >= KEPT_GAIN or float(saved.sum()) >= KEPT_BITS * remaining_bits * len(r):
            return True
        telling = (totals >= FEWEST) & (saved >= KEPT_BITS_OF_A_VALUE * remaining_bits * totals)
        return bool(totals[telling].sum() >= SMALLEST_SHARE / 2 * len(r))

    def near(self, q: _Quasi, column: str) -> bool:
        """Whether a number follows the quasi-identifier closely in a few records, or equals it
        often.
        """
        numbers = self.numbers(column)
        if q.values is None or numbers is None:
            return False
        values = q.values[self.sets["few"]]
        released = numbers[self.sets["few"]]
        differences = values - released
        both_numbers = ~np.isnan(differences)
        if int(both_numbers.sum()) < FEWEST_REPEATS:
            return False
        apart = differences[both_numbers]
        constant_differences = int((np.abs(apart - np.median(apart)) <= 1e-9).sum())
        same_differences = max(int((apart == 0).sum()), constant_differences)
        if same_differences >= SAME_NUMBERS * len(apart):
            return True
        test_rows, around = self.once(("neighbours", column, None), lambda: _neighbours(released))
        neighbour_values = values[around]
        lower = np.minimum(neighbour_values[:, 0], neighbour_values[:, 1])
        upper = np.maximum(neighbour_values[:, 0], neighbour_values[:, 1])
        middle = np.maximum(lower, np.minimum(upper, neighbour_values[:, 2]))
        off = np.abs(values[test_rows] - middle)
        spread = np.abs(values[both_numbers] - np.median(values[both_numbers]))
        off = off[~np.isnan(off)]
        return bool(len(off) and np.median(off) <= NEAR_LINE * np.median(spread))

    def whole_labels(self, q: _Quasi) -> str:
        """A set of records: labels drawn at random, all of a label together, until there are
        enough; too many are thinned out.
        """
        if self.records <= 2 * SAMPLE:
            return "all"
        name = f"labels of {q.name}"
        if name not in self.sets:
            rng = np.random.default_rng(self.records)
            sizes = np.bincount(q.label.whole)
            order = rng.permutation(len(sizes))
            label_count = int(np.searchsorted(np.cumsum(sizes[order]), SAMPLE))
            label_numbers = order[: label_count + 1]
            is_chosen = np.zeros(len(sizes), dtype=bool)
            is_chosen[label_numbers] = True
            rows = np.flatnonzero(is_chosen[q.label.whole])
            self.sets[name] = rows[_sample_records(rng, len(rows), SAMPLE)]
        return name

    def measure_column(
        self, q: _Quasi, column: str, views: Sequence[str | int], records: str, *, near: bool
    ) -> Figures:
        """The figures of a pair over a set of records: those of the view that tells most, and the
        line.
        """
        selection = self.sets[records]
        inside = self.inside(q, records)
        label = q.label[selection]
        numbers = self.numbers(column)
        used = views or [MOST_RELEASED]  # none: the line alone was followed
        tables = [figures_of(inside, label, self.codes(column, records, view)) for view in used]
        best = max(tables, key=lambda figures: max(figures.gain, figures.bits))
        best = dataclasses.replace(best, sure=max(figures.sure for figures in tables))
        if q.values is None or numbers is None:
            return best
        # A function is fitted and judged on labels as a whole; the other labels tell the same of
        # it.
        which = self.sets[self.whole_labels(q)]
        values = q.values[which]
        labels = q.label[which]
        released = numbers[which]
        line_figures: Any = (0.0, 0.0)
        if near:
            line_figures = self.once(
                ("line", column, q.name), lambda: line_of(values, labels, released)
            )
        if line_figures is None:
            return best
        return dataclasses.replace(best, line=line_figures[0], line_base=line_figures[1])

    def beyond_chance(
        self, q: _Quasi, column: str, views: Sequence[str | int], figures: Figures, *, near: bool
    ) -> Figures:
        """The figures without what permutations of the released column within labels give as
        well.
        """
        rng = np.random.default_rng(figures.records)
        numbers = self.numbers(column)
        used = views or [MOST_RELEASED]
        inside = self.inside(q, "all")
        r = [self.codes(column, "all", view) for view in used]
        by_chance = np.zeros((PERMUTATIONS, 4))
        for turn in range(PERMUTATIONS):
            order = permuted_within(np.arange(self.records), q.label.whole, rng)
            tables = [figures_of(inside, q.label.whole, codes[order]) for codes in r]
            by_chance[turn, 0] = max(table.gain for table in tables)
            by_chance[turn, 1] = max(table.bits for table in tables)
            by_chance[turn, 2] = max(table.sure for table in tables)
            if near and numbers is not None and q.values is not None:
                line = line_of(q.values.whole, q.label.whole, numbers[order])
                if line is None:
                    by_chance[turn, 3] = 0.0
                else:
                    by_chance[turn, 3] = share_gained(line[0], line[1])
        usual = np.quantile(by_chance, QUANTILE, axis=0)
        upper_limits = by_chance.mean(axis=0) + DEVIATIONS * by_chance.std(axis=0)
        usual = np.maximum(usual, upper_limits)
        return dataclasses.replace(
            figures,
            hit=figures.hit if figures.gain > usual[0] else figures.base,
            bits=figures.bits if figures.bits > usual[1] else 0.0,
            sure=figures.sure if figures.sure > usual[2] else 0.0,
            line_base=figures.line_base if figures.line_gain > usual[3] else 1.0,
        )

    def evidence(self, q: _Quasi, column: str, figures: Figures) -> ImpliedEvidence:
        """What the linkage of a flagged pair goes by: the line where that tells more, else
        counts.
        """
        numbers = self.numbers(column)
        if q.values is not None and numbers is not None and figures.line_gain > figures.gain:
            line = line_of(q.values.whole, q.label.whole, numbers.whole)
            if line is not None:
                return LineEvidence.of(q.values.whole, line[2])
        quasi = self.plain(q, "all")
        bits = {}
        for v in self.views(column):
            bits_of_values = screened_bits(quasi, self.codes(column, "all", v))[1]
            bits[v] = float(bits_of_values.sum())
        return TableEvidence.of(
            quasi, self.codes(column, "all", max(bits, key=lambda view: bits[view]))
        )

    # sums

    def block(self) -> tuple[list[str], NumberBlock | None]:
        """The released columns of numbers, in a few records."""
        selection = self.sets["few"]
        numbers_by_column = {
            c: values[selection] for c in self.columns if (values := self.numbers(c)) is not None
        }
        usable = {
            c: values for c, values in numbers_by_column.items() if not np.isnan(values).all()
        }
        return list(usable), (
            NumberBlock.of(np.column_stack(list(usable.values()))) if usable else None
        )

    def sums(self, q: _Quasi, columns: Sequence[str]) -> list[Dependence]:
        """A number that least squares of up to three released numbers tell, none of which tells it
        alone.
        """
        if q.values is None or len(columns) < 2 or self.records < FEWEST_REPEATS:
            return []
        names, block = self.once(("block", None), self.block)
        candidates = [number for number, name in enumerate(names) if name in columns]
        if len(candidates) < 2:
            return []
        values = q.values[self.sets["few"]]
        if np.isnan(values).all():
            return []
        term_numbers = chosen_sum(values, block, candidates)
        predicted = predicted_sum(values, block.columns[:, list(term_numbers)])
        off = np.abs(values - predicted)
        is_known = ~np.isnan(off)
        spread = 0.0
        if is_known.any():
            gaps = values[is_known] - np.median(values[is_known])
            spread = np.median(np.abs(gaps))
        if (
            len(term_numbers) < 2
            or not is_known.any()
            or np.median(off[is_known]) > NEAR_LINE * spread
        ):
            return []
        term_names = tuple(names[number] for number in term_numbers)
        terms = [column.whole for name in term_names if (column := self.numbers(name)) is not None]
        predicted = predicted_sum(q.values.whole, np.column_stack(terms))
        line = line_of(q.values.whole, q.label.whole, predicted)
        if line is None:
            return []
        figures = figures_of(
            self.inside(q, "all"), q.label.whole, number_codes(predicted, MOST_RELEASED)
        )
        figures = dataclasses.replace(figures, line=line[0], line_base=line[1])
        finding = figures.finding(self.k or 2)
        if finding not in REFUSED:
            return []
        return [
            Dependence(
                term_names,
                q.name,
                finding=finding,
                figures=figures,
                evidence=LineEvidence.of(q.values.whole, line[2]),
            )
        ]


def _neighbours(released: Numbers) -> tuple[Codes, Codes]:
    """Places of every other record, and of the three of the rest whose released number is nearest
    in rank.
    """
    number_rows = np.flatnonzero(~np.isnan(released))
    # Every other record teaches, the rest is predicted from its nearest three.
    training = number_rows[::2]
    test_rows = number_rows[1::2]
    order = training[np.argsort(released[training], kind="stable")]
    ranked = released[order]
    left = np.searchsorted(ranked, released[test_rows], "left")
    right = np.searchsorted(ranked, released[test_rows], "right")
    positions = (left + right) // 2
    neighbours = positions[:, None] + np.arange(-1, 2)[None, :]
    return (test_rows, order[np.clip(neighbours, 0, len(order) - 1)])


def _order_of_records(pair: TablePair) -> Codes:
    """Released rows in an order that follows from what they and their originals say, not from how
    they came in: a table whose rows are shuffled is judged alike.

    Samples, halves and permutations go by position. Of more than SAMPLE rows the order is that of
    the file: sorting all of them would cost more than the comparison.
    """
    records = len(pair.released)
    if records > SAMPLE:
        return np.arange(records, dtype=np.int64)
    keys = {}
    for name in sorted(pair.original.columns):
        keys[f"original {name}"] = comparable(pair.original.column(name)).gather(pair.rows)
    for name in sorted(pair.released.columns):
        keys[f"released {name}"] = comparable(pair.released.column(name))
    positions = pl.DataFrame(keys).select(pl.arg_sort_by(list(keys), nulls_last=True))
    return positions.to_series().to_numpy().astype(np.int64)


def _sample_records(rng: np.random.Generator, records: int, limit: int) -> Codes:
    if records <= limit:
        return np.arange(records)
    return np.sort(rng.choice(records, limit, replace=False))


def linkage_words(linkage: Linkage, k: int | None) -> str:
    """What implied linkage reaches, in words."""
    message = (
        f"somebody who knows the quasi-identifiers finds {percent(linkage.rate)} of people instead "
        f"of {percent(linkage.class_only)}"
    )
    if k:
        message += f", and fewer than {k} records fit {percent(linkage.exposed)} of people"
    return message
