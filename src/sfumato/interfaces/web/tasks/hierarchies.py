"""Tasks about hierarchies: what each level of a column would show, what has no place, and changes
of groups.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core import registry
from sfumato.core.choices import required_fields
from sfumato.core.classes import ClassTable, count_classes
from sfumato.core.encoding import label, positions_in
from sfumato.core.hierarchy import TOP, Hierarchy, Ladder, bind
from sfumato.core.schema import Role
from sfumato.core.step import Goal
from sfumato.errors import ParameterError, SchemaError, SfumatoError
from sfumato.guidance.profiling.columns import look_at
from sfumato.guidance.profiling.proposed_hierarchies import suggest as suggest_hierarchy
from sfumato.interfaces.web import choices, edits
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.forms import starting_values
from sfumato.interfaces.web.groups import Grouping
from sfumato.interfaces.web.tasks.data import describe_table, without_hierarchies
from sfumato.methods.hierarchies.file import read_hierarchy
from sfumato.methods.hierarchies.leaf_lists import write_hierarchy
from sfumato.methods.hierarchies.ordered_values import in_reading_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.progress import Progress
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table
    from sfumato.interfaces.web.data_process import Bench

# Values of a level that are shown.
SHOWN = 60
# Values without a place that are listed.
LISTED = 200
# A label that adopts what a hierarchy does not list, to find it; no table can hold it.
NOWHERE = "\x00no place"
KEPT = 4
DELIMITERS = (";", ",", "\t", "|")


# A hierarchy fitted to a column, also where it does not cover all values.


@dataclasses.dataclass(frozen=True, eq=False)
class Fitted:
    """A hierarchy on the values of a column in a given order.

    ``ladder`` has these values on its lowest level; those without a place stand under one extra
    node from level 1 on, at the top with all others. ``extra`` says that there is such a node.
    """

    ladder: Ladder
    counts: NDArray[np.int64]
    uncovered: NDArray[np.bool_]

    @property
    def extra(self) -> bool:
        """Whether some values have no place."""
        return bool(self.uncovered.any())

    def records(self, level: int) -> NDArray[np.int64]:
        """Records under every node of a level."""
        codes = self.ladder.climb(0, level)
        size = len(self.ladder.labels[level])
        return np.bincount(codes, weights=self.counts, minlength=size).astype(np.int64)


def fit(hierarchy: Hierarchy | None, values: Sequence[str | None], counts: Sequence[int]) -> Fitted:
    """Fit a hierarchy to values that occur so often; raises what the hierarchy says where it fails
    for all of them together.
    """
    try:
        bound = bind(hierarchy, values, [int(count) for count in counts])
    except SchemaError:
        if hierarchy is None:
            lost = set()
        else:
            lost = uncovered(hierarchy, [value for value in values if value is not None])
        if not lost:  # each value alone, and not all together: the rule says itself what is wrong
            raise
        covered = [
            (value, int(count))
            for value, count in zip(values, counts, strict=True)
            if value not in lost
        ]
        bound = bind(hierarchy, [value for value, _ in covered], [count for _, count in covered])
    positions = positions_in(bound.labels[0], values)
    return Fitted(
        _in_order(bound, values, positions), np.asarray(counts, dtype=np.int64), positions < 0
    )


def _in_order(bound: Ladder, values: Sequence[str | None], positions: NDArray[np.int64]) -> Ladder:
    """The ladder with its lowest level in the order of the values, those without a place under a
    node of their own.
    """
    lost = positions < 0
    if bound.top == 0:
        nothing = np.zeros(len(values))
        return Ladder((tuple(values),), (), (nothing,), (nothing,))
    labels: list[tuple[str | None, ...]] = [tuple(values)]
    ups: list[NDArray[np.int64]] = []
    for level in range(1, bound.depth):
        below = len(labels[-1])
        extra = bool(lost.any()) and level < bound.top
        level_labels = bound.labels[level] or (
            (TOP,) if level == bound.top else ()
        )  # nothing has a place: only the top is there
        labels.append((*level_labels, NOWHERE) if extra else tuple(level_labels))
        last = len(bound.labels[level]) if extra else 0
        # what has no place climbs to the extra node; at the top there is only one
        up = np.full(below, last, dtype=np.int64)
        if level == 1:
            up[~lost] = bound.up[0][positions[~lost]]
        else:
            up[: len(bound.up[level - 1])] = bound.up[level - 1]
        ups.append(up)
    nothings = tuple(np.zeros(len(level)) for level in labels)
    return Ladder(tuple(labels), tuple(ups), nothings, nothings)


def uncovered(hierarchy: Hierarchy, values: Sequence[str]) -> set[str]:
    """The values that a hierarchy has no path for."""
    if _covers(hierarchy, values):
        return set()
    adopting = hierarchy.adopting(NOWHERE)
    if adopting is not None and hierarchy.catch_all is None:
        # one call tells all: what is adopted has no place of its own
        rows = adopting.paths(values, [1] * len(values)).rows
        adopted = {row[0] for row in rows if len(row) > 2 and row[1] == NOWHERE}
        if adopted:
            return adopted
    return set(_halved(hierarchy, list(values)))


def _halved(hierarchy: Hierarchy, values: list[str]) -> list[str]:
    """The same by halves: quick where most values are covered, and right for any rule."""
    if _covers(hierarchy, values):
        return []
    if len(values) == 1:
        return values
    # n values of which m have no place take about m log n calls
    middle = len(values) // 2
    return _halved(hierarchy, values[:middle]) + _halved(hierarchy, values[middle:])


def _covers(hierarchy: Hierarchy, values: Sequence[str]) -> bool:
    try:
        hierarchy.paths(values, [1] * len(values))
    except SchemaError:
        return False
    return True


# What the bench remembers of classes and hierarchies.


@dataclasses.dataclass(eq=False)
class Lately:
    """What was fitted and rolled up last, by a digest of what it was made from."""

    entries: OrderedDict[str, Any] = dataclasses.field(default_factory=OrderedDict)

    def recall_or_make(self, parts: Any, make: Any, limit: int) -> Any:
        """What was made of the same parts before, else what is made now."""
        key = hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()
        if key not in self.entries:
            self.entries[key] = make()
        self.entries.move_to_end(key)
        while len(self.entries) > limit:
            self.entries.popitem(last=False)
        return self.entries[key]


def _fitted(
    bench: Bench, table: Table, column: str, hierarchy: Any, labels: Any, counts: Any
) -> Fitted:
    memory: Lately = bench.recall_or_make("fitted hierarchies", Lately)
    intake = table.source.intake
    fitted: Fitted = memory.recall_or_make(
        ("fit", column, hierarchy, intake), lambda: fit(hierarchy, labels, counts), 100
    )
    return fitted


def _base(table: Table) -> ClassTable:
    """The classes of the quasi-identifiers as they are; the rows are counted once, whatever the
    hierarchies.
    """
    return count_classes(without_hierarchies(table))


def _of_column(bench: Bench, table: Table, base: ClassTable, column: str, hierarchy: Any) -> Fitted:
    position = base.columns.index(column)
    labels = base.ladders[position].labels[0]
    encoded = table.encoded(column)
    where = positions_in(encoded.labels, labels)
    return _fitted(bench, table, column, hierarchy, labels, encoded.counts[where])


def hierarchy_of(table: Table, column: str, spec: Mapping[str, Any] | None, base: Path) -> Any:
    """The hierarchy that a recipe writes so, ready for this table; without one, that of the
    schema.
    """
    if spec is None:
        return table.schema[column].hierarchy
    built = registry.build("hierarchies", spec).resolved(base)
    return table.with_schema(table.schema.replace(column, hierarchy=built)).schema[column].hierarchy


# The list of columns.


def overview(bench: Bench, progress: Progress, *, recipe: Recipe) -> list[Fields]:
    """Every quasi-identifier: how it is generalised, up to which level, and what has no place
    there.
    """
    if not recipe.schema.quasi:
        return []
    table = describe_table(bench, recipe)
    base = _base(table)
    return [_line(bench, table, base, column) for column in base.columns]


def _line(bench: Bench, table: Table, base: ClassTable, column: str) -> Fields:
    hierarchy = table.schema[column].hierarchy
    line = {"column": column, "builder": None if hierarchy is None else hierarchy.name}
    try:
        fitted = _of_column(bench, table, base, column, hierarchy)
    except SfumatoError as error:
        return {**line, "top": None, "uncovered": 0, "records": 0, "error": str(error)}
    return {**line, "top": fitted.ladder.top, **_lost(fitted), "error": None}


def _lost(fitted: Fitted) -> dict[str, int]:
    return {
        "uncovered": int(fitted.uncovered.sum()),
        "records": int(fitted.counts[fitted.uncovered].sum()),
    }


# All levels of a column side by side.


def levels(
    bench: Bench,
    progress: Progress,
    *,
    recipe: Recipe,
    column: str,
    at: Mapping[str, int],
    hierarchy: Mapping[str, Any] | None = None,
    alone: bool = False,
) -> Fields:
    """What each level of a column would show: its values, and the classes with the other columns at
    the levels ``at``, or of this column ``alone``.

    ``hierarchy`` is tried instead of that of the recipe, in a recipe's words. Labels are values
    of people: the owner's eyes only.
    """
    table, k = describe_table(bench, recipe), edits.crowd_of(recipe)
    base = _base(table)
    rule = hierarchy_of(table, column, hierarchy, recipe.base)
    fitted = _of_column(bench, table, base, column, rule)
    top, lost = fitted.ladder.top, _lost(fitted)
    if alone:
        other_classes = _base(_only(table, column))
    else:
        other_classes = _classes_of_others(bench, table, base, column, at)
    classes = dataclasses.replace(
        other_classes, ladders=_with_own(other_classes, column, fitted.ladder)
    )
    shown = []
    for number in range(fitted.ladder.depth):
        level = _level(fitted, classes.roll_up({column: number}), number, k, rule)
        level["name"] = ""
        if rule is not None and 0 < number < top:
            level["name"] = rule.level_name(number, top)
        shown.append(level)
    return {
        "column": column,
        "k": k,
        "records": base.total,
        "top": top,
        "uncovered": lost["uncovered"],
        "records_lost": lost["records"],
        "words": words_of(table, column),
        "levels": shown,
    }


def words_of(table: Table, column: str) -> dict[str, str]:
    """What the file says that the codes of a column mean: SPSS, Stata and SAS keep words beside
    numbers.
    """
    return {
        label(code): str(words)
        for code, words in table.source.labels.get("values", {}).get(column, {}).items()
    }


def _with_own(classes: ClassTable, column: str, ladder: Ladder) -> tuple[Ladder, ...]:
    return tuple(
        ladder if name == column else own
        for name, own in zip(classes.columns, classes.ladders, strict=True)
    )


def _only(table: Table, column: str) -> Table:
    """The table with this column as its only quasi-identifier."""
    schema = table.schema
    for name in schema.quasi:
        if name != column:
            other_roles = tuple(role for role in schema[name].roles if role is not Role.QUASI)
            schema = schema.replace(name, roles=other_roles or (Role.KEEP,))
    return table.with_schema(schema)


def _classes_of_others(
    bench: Bench, table: Table, base: ClassTable, column: str, at: Mapping[str, int]
) -> ClassTable:
    """The classes with the other columns at their levels, and this one as it is."""
    ladders, chosen_levels = [], {}
    for name, own in zip(base.columns, base.ladders, strict=True):
        ladder = own
        if name != column and at.get(name, 0) > 0:
            try:
                ladder = _of_column(bench, table, base, name, table.schema[name].hierarchy).ladder
                chosen_levels[name] = min(at[name], ladder.top)
            except SfumatoError:  # told where that column is looked at; here it stays as it is
                ladder = own
        ladders.append(ladder)
    memory: Lately = bench.recall_or_make("classes at levels", Lately)
    parts = (base.columns, table.schema, table.source.intake, column, sorted(chosen_levels.items()))
    # the other columns at their levels are rolled up once, then every level of this column
    raised = dataclasses.replace(base, ladders=tuple(ladders))
    classes: ClassTable = memory.recall_or_make(parts, lambda: raised.roll_up(chosen_levels), KEPT)
    return classes


def _level(
    fitted: Fitted, classes: ClassTable, level: int, k: int, hierarchy: Hierarchy | None = None
) -> Fields:
    labels, records = fitted.ladder.labels[level], fitted.records(level)
    nodes = [
        (name, int(n)) for name, n in zip(labels, records.tolist(), strict=True) if name != NOWHERE
    ]
    sizes, amounts = classes.sizes, classes.records
    small = sizes < k
    ordered = in_reading_order(nodes, None if hierarchy is None else hierarchy.day_of)
    return {
        "level": level,
        "values": len(nodes),
        "rare": sum(n < k for _, n in nodes),
        "small": int(amounts[small].sum()),
        "classes": len(classes),
        "smallest": int(sizes.min()) if len(sizes) else 0,
        "mean": classes.total / len(classes) if len(classes) else 0.0,
        "bands": [int(amounts[(sizes >= low) & (sizes < high)].sum()) for low, high in bands(k)],
        "items": ordered[:SHOWN],
        "more": max(0, len(ordered) - SHOWN),
        "most": max((n for _, n in nodes), default=0),
    }


def bands(k: int) -> tuple[tuple[int, float], ...]:
    """Sizes of classes that a picture tells apart: alone, below k, below twice, below ten times k,
    and above.

    >>> bands(5)
    ((1, 2), (2, 5), (5, 10), (10, 50), (50, inf))
    """
    if k <= 2:
        return ((1, 2), (2, 2), (2, 4), (4, 20), (20, float("inf")))
    return ((1, 2), (2, k), (k, 2 * k), (2 * k, 10 * k), (10 * k, float("inf")))


def without_place(
    bench: Bench,
    progress: Progress,
    *,
    recipe: Recipe,
    column: str,
    hierarchy: Mapping[str, Any] | None = None,
) -> Fields:
    """The values that a hierarchy has no place for, the commonest first; for the owner's eyes."""
    table = describe_table(bench, recipe)
    fitted = _of_column(
        bench, table, _base(table), column, hierarchy_of(table, column, hierarchy, recipe.base)
    )
    labels = fitted.ladder.labels[0]
    lost = [(labels[i], int(fitted.counts[i])) for i in np.flatnonzero(fitted.uncovered).tolist()]
    lost.sort(key=lambda node: (-node[1], str(node[0])))
    return {"values": lost[:LISTED], "more": max(0, len(lost) - LISTED)}


# What a builder begins with.


def begin(
    bench: Bench, progress: Progress, *, recipe: Recipe, column: str, builder: str
) -> Fields | None:
    """A hierarchy of a kind that suits the column, in a recipe's words; None where somebody must
    say more first.
    """
    table = describe_table(bench, recipe)
    kind = registry.family("hierarchies")[builder]
    suggested = suggest_hierarchy(look_at(column, table.column(column))).hierarchy
    if builder in suggested:
        return {builder: suggested[builder]}
    hierarchy = kind.from_values(_counts(table, column))
    if kind.by_hand == "yes":
        hierarchy = _as_groups(table, column, builder)
    if hierarchy is not None:
        return registry.write(hierarchy)
    start = starting_values(kind, recipe.schema)
    if set(start) >= set(required_fields(kind)):
        return {builder: start}
    return None


def _as_groups(table: Table, column: str, kind: str) -> Hierarchy | None:
    """The groups that the column has now; the lowest level of them where this kind would count the
    levels otherwise.
    """
    now = _grouping(table, column, _counts(table, column))
    lowest = [(row[0], row[1], row[-1]) for row in now.rows]
    for rows in (now.rows, tuple(lowest)):
        hierarchy = dataclasses.replace(now, rows=rows).hierarchy(kind)
        if hierarchy.name == kind:
            return hierarchy
    return None


def _grouping(table: Table, column: str, counts: Mapping[str, int]) -> Grouping:
    """The groups that the column has now; where its hierarchy fails, none."""
    try:
        return Grouping.of(table.schema[column].hierarchy, counts)
    except SchemaError:
        return Grouping.of(None, counts)


# Levels that the search would choose.


def search_levels(bench: Bench, progress: Progress, *, recipe: Recipe) -> dict[str, int]:
    """The levels that the recipe's recoding chooses, without making a release."""
    step = choices.lattice_step(recipe)
    if step is None:
        raise ParameterError("the recipe has no step that gives whole columns a level")
    plan = step.plan(
        describe_table(bench, recipe).checked(), Goal(models=recipe.goals, progress=progress)
    )
    return {column: int(level["level"]) for column, level in plan.describe()["levels"].items()}


# Groups of categories.


def groups(bench: Bench, progress: Progress, *, recipe: Recipe, column: str, level: int) -> Fields:
    """The groups of a level with what stands in each and how often it occurs, and the values
    without a group.
    """
    table, k = describe_table(bench, recipe), edits.crowd_of(recipe)
    counts = _counts(table, column)
    grouping = Grouping.of(table.schema[column].hierarchy, counts)
    return {**grouping.to_dict(level, counts), "k": k}


def regroup(
    bench: Bench,
    progress: Progress,
    *,
    recipe: Recipe,
    column: str,
    level: int,
    act: str,
    arguments: Mapping[str, Any],
) -> Fields:
    """The hierarchy after groups were changed (``move``, ``rename``, ``adopt``), in a recipe's
    words; it is not in use yet.
    """
    table = describe_table(bench, recipe)
    hierarchy = table.schema[column].hierarchy
    grouping = Grouping.of(hierarchy, _counts(table, column))
    changed = grouping.changed(act, level, **arguments)
    return registry.write(changed.hierarchy("" if hierarchy is None else hierarchy.name))


def _counts(table: Table, column: str) -> dict[str, int]:
    encoded = table.encoded(column)
    pairs = zip(encoded.labels, encoded.counts.tolist(), strict=True)
    return {value: int(count) for value, count in pairs if value is not None}


# Files.


def delimiter_of(bench: Bench, progress: Progress, *, path: str) -> Fields:
    """How a hierarchy file is written: the sign between its levels and its encoding, and how many
    values it lists.
    """
    problem: SfumatoError | None = None
    for encoding in ("utf-8", "cp1252"):
        for delimiter in DELIMITERS:
            try:
                table = read_hierarchy(path, delimiter=delimiter, encoding=encoding)
            except SfumatoError as error:
                problem = problem or error
                continue
            return {"delimiter": delimiter, "encoding": encoding, "listed": len(table.listed())}
    raise problem or ParameterError("this is not a hierarchy file")


def export_hierarchy(
    bench: Bench, progress: Progress, *, recipe: Recipe, column: str, path: str
) -> Fields:
    """Write the hierarchy of a column down in ARX's format, for the values that occur and have a
    place.
    """
    table = describe_table(bench, recipe)
    hierarchy = table.schema[column].hierarchy
    if hierarchy is None:
        raise ParameterError(f"column {column!r} has no hierarchy to save")
    counts = _counts(table, column)
    lost = uncovered(hierarchy, list(counts))
    covered = {value: count for value, count in counts.items() if value not in lost}
    ladder = bind(hierarchy, list(covered), list(covered.values()))
    file = write_hierarchy(ladder, list(covered), path)
    return {"path": str(file), "values": len(covered)}
