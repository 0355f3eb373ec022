"""A table and what was released of it, side by side: what attacks and utility metrics look at."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.consistency import NOBODYS, origins_of
from sfumato.core.encoding import Encoded, encode_column
from sfumato.core.fields import Fields
from sfumato.core.labels import positions_in
from sfumato.core.reading import ColumnLevel, Joint, Reading, read_codes
from sfumato.core.schema import Schema
from sfumato.core.table import LARGE, NOBODY
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table


def of_a_sample(records: int, whole: int) -> str:
    """Words that go after a number that was measured in a sample only."""
    return f" in a sample of {records:,} of {whole:,} records"


@dataclasses.dataclass(frozen=True, eq=False)
class TablePair:
    """An original table, a release of it, and which original row each released row came from.

    ``origin`` says the latter; −1 is a synthetic row, nobody's. Where there is one
    the pair is not ``aligned``: nobody can ask for its ``rows``, and whatever follows persons from
    one table to the other does not apply. ``learnt_from`` are then the original rows that the drawn
    ones were learnt from, and ``held_out`` those that were set aside before, as a control; each
    None where it is not known.

    What columns are (kinds, hierarchies, orders) is said by the original's schema; roles by either.
    ``levels`` says at which level of its hierarchy a column was released as a whole, where that is
    known. ``drawn_from`` is how many records the whole table has, where both are a sample of it;
    ``counted`` is then the whole table before and after as counted combinations of some columns,
    whose rows stand for several records, where that is known. ``coarsened`` are columns whose cells
    were rounded, cut off or recoded by a rule that is the same for everybody: what they say is
    true, although it is another number.
    """

    has_intruders: ClassVar[bool] = True
    """Whether named intruders, who know columns, try it."""

    original: Table
    released: Table
    origin: NDArray[np.int64]
    levels: Mapping[str, ColumnLevel] = dataclasses.field(default_factory=dict)
    drawn_from: int | None = None
    counted: TablePair | None = None
    learnt_from: NDArray[np.int64] | None = None
    held_out: NDArray[np.int64] | None = None
    coarsened: frozenset[str] = frozenset()
    memo: dict[Any, Any] = dataclasses.field(default_factory=dict, init=False, repr=False)

    @property
    def as_other(self) -> TablePair:
        """What attacks on another release take it for: the pair itself."""
        return self

    @property
    def of_a_sample(self) -> str:
        """Words that go after a number that was measured, where it was so in a sample only."""
        if self.drawn_from is None:
            return ""
        return of_a_sample(len(self.original), self.drawn_from)

    @classmethod
    def of(
        cls,
        original: Table,
        released: Table,
        levels: Mapping[str, ColumnLevel] | None = None,
        *,
        learnt_from: NDArray[np.int64] | None = None,
        held_out: NDArray[np.int64] | None = None,
    ) -> TablePair:
        """Put two tables side by side; raises :class:`SchemaError` where rows cannot be aligned or
        nothing is common.
        """
        origin = origins_of(released, original)
        pair = cls(
            original, released, origin, levels or {}, learnt_from=learnt_from, held_out=held_out
        )
        if not pair.columns:
            raise SchemaError(
                f"{released.source.name} and {original.source.name} have no column in "
                "common; give tables that share at least one"
            )
        return pair

    def with_roles_of(self, schema: Schema) -> TablePair:
        """The same tables where columns have other roles; what columns are stays as the release was
        made.
        """
        schema.check(self.original.columns, self.original.source)
        original, released = (_in_roles(table, schema) for table in (self.original, self.released))
        return dataclasses.replace(self, original=original, released=released, counted=None)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns both tables have, in the order of the original."""
        return tuple(name for name in self.original.columns if name in self.released.columns)

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers both tables have."""
        return tuple(name for name in self.original.schema.quasi if name in self.released.columns)

    @functools.cached_property
    def aligned(self) -> bool:
        """Whether every released row is somebody's: synthetic rows are not."""
        return not len(self.origin) or int(self.origin.min()) != NOBODY

    @property
    def rows(self) -> NDArray[np.int64]:
        """The original row of every released row; raises :class:`SchemaError` where some are
        nobody's.
        """
        if not self.aligned:
            raise SchemaError(NOBODYS)
        return self.origin

    @functools.cached_property
    def persons(self) -> NDArray[np.int64] | None:
        """Per original row the code of its person; None where every row is a person of its own."""
        column = self.original.schema.person
        if column is None:
            return None
        codes = self.original.encoded(column).codes
        if len(np.unique(codes)) == len(codes):
            return None
        return codes

    def one_row_each(self, rows: NDArray[np.int64], draw: np.random.Generator) -> NDArray[np.int64]:
        """Some original rows, of each person only one, drawn at random; in order."""
        if self.persons is None:
            return rows
        order = draw.permutation(len(rows))
        _, first = np.unique(self.persons[rows[order]], return_index=True)
        return np.sort(rows[order[first]])

    def share_of_people(self, hit: NDArray[np.bool_]) -> float:
        """The share of people of whom some released row was hit: a person with several rows counts
        once.
        """
        if self.persons is None:
            return float(hit.mean())
        persons = self.persons[self.rows]
        return len(np.unique(persons[hit])) / max(1, len(np.unique(persons)))

    def mean_of_people(self, shares: NDArray[np.float64] | NDArray[np.bool_]) -> float:
        """The mean of what is found of each released row; a person with several rows counts once,
        by their own mean.
        """
        if self.persons is None:
            return float(shares.mean())
        _, person, rows = np.unique(
            self.persons[self.rows], return_inverse=True, return_counts=True
        )
        sums = np.bincount(person, weights=shares.astype(np.float64))
        return float((sums / rows).mean())

    @property
    def kept(self) -> int:
        """Records that were released."""
        return self.released.records

    @property
    def suppressed(self) -> int:
        """Original records of which nothing was released; none where rows are synthetic, since
        they stand for nobody.
        """
        if self.aligned:
            return self.original.records - self.kept
        return 0

    def reading(self, name: str) -> Reading:
        """A column as it was and as it is; read once.

        A hierarchy made from the data is another one where rows were left out before it
        was climbed: where the level that the plan says does not explain the released cells, labels
        are read at all levels together, or as whatever was not released as itself, if that does.
        """
        if name not in self.memo:
            self.original.require([name])
            self.released.require([name])
            attribute = self.original.schema[name]
            tables = (self.original, self.released)
            encoded = self.encoded(name)
            types = tables[0].dtype(name), tables[1].dtype(name)
            own_reading = read_codes(
                name, attribute, encoded, types, self.levels.get(name) or self._unchanged(name)
            )
            # Only a level that the plan tells, of rows that can be followed, can be contradicted by
            # cells.
            if (
                name in self.levels
                and self.aligned
                and not own_reading.true_pairs(self.joint(name)).all()
            ):
                anywhere = read_codes(name, attribute, encoded, types)
                wider = (anywhere, anywhere.widened())
                own_reading = next(
                    (
                        candidate
                        for candidate in wider
                        if candidate.true_pairs(self.joint(name)).all()
                    ),
                    own_reading,
                )
            self.memo[name] = own_reading
        reading: Reading = self.memo[name]
        return reading

    def of_released(self, rows: NDArray[np.int64]) -> TablePair:
        """The pair of some released rows; what was read of columns for all of them is not read
        again.
        """
        records = self.released.take(rows)
        origin = self.origin[rows]
        pair = dataclasses.replace(self, released=records, origin=origin)
        # With copies a row stands for several records, and counts of rows would be wrong.
        for name in self.columns if self.released.copies is None else ():
            reading: Reading | None = self.memo.get(name)
            if reading is not None and self._read_alike(reading):
                after = reading.after.taken(rows)
                pair.memo["encoded", name] = (reading.before, after)
                pair.memo[name] = reading.of_released(after)
        return pair

    def _read_alike(self, reading: Reading) -> bool:
        """Whether some of the released rows would be read as all are: at a level, or without any
        hierarchy.

        Where no level explains all cells, one may explain those of a few rows.
        """
        return reading.level is not None or (
            reading.name not in self.levels and self.original.schema[reading.name].hierarchy is None
        )

    def truthful(self, name: str) -> NDArray[np.bool_]:
        """Per released row whether its cell of a column may stand for its own original; found
        once.
        """
        if name in self.coarsened:
            return np.ones(len(self.rows), dtype=bool)
        if ("truthful", name) not in self.memo:
            joint = self.joint(name)
            self.memo["truthful", name] = self.reading(name).true_pairs(joint)[joint.which]
        is_truthful: NDArray[np.bool_] = self.memo["truthful", name]
        return is_truthful

    def _unchanged(self, name: str) -> ColumnLevel | None:
        """The lowest level for a column whose cells are all as they were, or drawn from its values;
        None for any other.
        """
        if not self.aligned:
            before, after = self.encoded(name)
            # Nobody's rows cannot be followed: it is enough that every label is an original value.
            if (positions_in(before.labels, after.labels) >= 0).all():
                return ColumnLevel(0, 0)
            return None
        if len(self.released) != len(self.rows):
            return None
        if self.as_it_was(name).all():
            return ColumnLevel(0, 0)
        return None

    def encoded(self, name: str) -> tuple[Encoded, Encoded]:
        """A column as codes, original and released; tables do not keep the codes of very many
        labels, the pair does.
        """
        if ("encoded", name) not in self.memo:
            before = encode_column(self.original, name)
            codes, rows = self.released.known.codes, self.origin
            # A large column that was released as it is has the codes of the original: taking them
            # along costs less than encoding it again.
            if len(rows) >= LARGE and len(rows) == len(self.released) and name not in codes:
                self._know_unchanged(name, before)
            self.memo["encoded", name] = (before, encode_column(self.released, name))
        encodings: tuple[Encoded, Encoded] = self.memo["encoded", name]
        return encodings

    def forget_measures(self) -> None:
        """Let go of what was worked out about cells; columns that were read stay read.

        Where hardly two rows are alike that is as much as the table itself.
        """
        for key in list(self.memo):
            is_reading = isinstance(key, str)
            if not is_reading and key[0] != "encoded":
                del self.memo[key]

    def frequencies(self, name: str) -> NDArray[np.int64]:
        """How many released rows have each label of a column, in the order of labels; nothing large
        is kept for it.
        """
        encodings = self.memo.get(("encoded", name))
        if encodings is not None and self.released.copies is None:
            return np.asarray(encodings[1].counts)
        return self.released.frequencies(name)

    def _know_unchanged(self, name: str, before: Encoded) -> None:
        """Let the released table know the codes of a large column that was released as it is: they
        are those of the original rows.
        """
        dtype = self.original.dtype(name)
        if not self.aligned or dtype != self.released.dtype(name) or dtype == pl.String:
            return
        original = self.original.column(name).gather(self.origin)
        if original.equals(self.released.column(name), null_equal=True):
            self.released.known.codes[name] = before.taken(self.origin)

    def as_it_was(self, name: str) -> NDArray[np.bool_]:
        """Per pair of :meth:`joint` whether the released label is the original value itself; found
        once.
        """
        if ("as it was", name) not in self.memo:
            joint = self.joint(name)
            # A cell is as it was where its label is written like the record's own value.
            self.memo["as it was", name] = self.own_values(name)[joint.label] == joint.value
        is_unchanged: NDArray[np.bool_] = self.memo["as it was", name]
        return is_unchanged

    def own_values(self, name: str) -> NDArray[np.int64]:
        """Per released label the code of the original value that is written so, -1 where there is
        none; looked up once.
        """
        if ("own values", name) not in self.memo:
            before, after = self.encoded(name)
            self.memo["own values", name] = positions_in(before.labels, after.labels)
        codes: NDArray[np.int64] = self.memo["own values", name]
        return codes

    def joint(self, name: str) -> Joint:
        """The distinct pairs of value and label of a column, and the pair of every released row;
        found once.
        """
        if ("joint", name) not in self.memo:
            self.memo["joint", name] = Joint.of(
                *self.encoded(name), self.rows, self.released.copies
            )
        joint: Joint = self.memo["joint", name]
        return joint

    def losses(self, name: str) -> NDArray[np.float64]:
        """Iyengar's loss of every released cell of a column; a cell that was missing and still is
        has lost nothing.

        Nor has one that was drawn missing, where the original has missing cells.
        """
        column = self.reading(name)
        if len(column.labels):
            losses = column.loss[column.released]
        else:
            losses = np.zeros(0)
        if None in column.values and None in column.labels:
            if self.aligned:
                was = column.original[self.rows] == column.values.index(None)
            else:
                was = np.True_
            is_blank = column.released == column.labels.index(None)
            losses = np.where(was & is_blank, 0.0, losses)
        return losses


def levels_of(plans: Iterable[Fields]) -> dict[str, ColumnLevel]:
    """The level each column was released at as a whole, from the plans of a release as plain data,
    in their order.

    Of several recodings the highest counts. A column that was recoded cell by cell at any time, or
    masked before it was recoded, may hold labels of several levels: it stands on none. Cells that
    were suppressed later are still read as such.
    """
    levels: dict[str, ColumnLevel] = {}
    mixed: set[str] = set()
    for plan in plans:
        recoded = plan.get("columns", ())
        suppressed = plan.get("suppressed_cells", ())
        mixed |= set(recoded) - set(suppressed)
        for name, entry in plan.get("levels", {}).items():
            fresh = ColumnLevel(int(entry["level"]), int(entry["top"]))
            levels[name] = max(
                levels.get(name, fresh), fresh, key=lambda column_level: column_level.level
            )
        # One that was recoded before it was masked has its level by now.
        mixed |= set(plan.get("masked", ())) - set(levels)
    return {name: column_level for name, column_level in levels.items() if name not in mixed}


def _in_roles(table: Table, schema: Schema) -> Table:
    attributes = {}
    for name, attribute in table.schema.attributes.items():
        attributes[name] = dataclasses.replace(attribute, roles=schema[name].roles)
    return table.with_schema(Schema(attributes))
