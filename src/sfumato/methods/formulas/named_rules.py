"""Rules as people write them, and the items of a table.

In a table an item is a column and one of its values, ``smoker=yes``; a missing or suppressed cell
is no item. A column without a value stands for each of its
values: ``smoker, sex -> diagnosis`` are all rules between these columns, and no data value is told.
Without an arrow it is the set of items itself that is meant.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field

from sfumato.core.encoding import label
from sfumato.core.fields import Fields
from sfumato.core.groups import group_starts
from sfumato.core.hierarchy import TOP
from sfumato.core.metric import Measure, Utility
from sfumato.core.randomness import canonical_order
from sfumato.core.schema import UNITS, Kind, Role, Schema
from sfumato.core.words import count_of
from sfumato.errors import SchemaError, did_you_mean
from sfumato.methods.formulas.rules import Association, Thresholds, Transactions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table


ARROWS = ("->", "→")
Support = Annotated[int, Field(ge=1, description="records from which a rule counts as found")]
Confidence = Annotated[
    float, Field(gt=0, le=1, description="confidence from which a rule counts as found")
]


class Item(NamedTuple):
    """A column and its value, None for every value; of baskets, an item by its name alone."""

    column: str
    value: str | None = None


@dataclasses.dataclass(frozen=True)
class NamedRule:
    """``left`` goes along with ``right``; without a right side, a set of items."""

    left: tuple[Item, ...]
    right: tuple[Item, ...] = ()

    @property
    def items(self) -> tuple[Item, ...]:
        """All items of the rule."""
        return self.left + self.right

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all items, by name."""
        return tuple(sorted({item.column for item in self.items}))


def parse(spoken: str | Fields, *, values: bool = True) -> NamedRule:
    """A rule from text, or from ``{if: {column: value}, then: {column: value}}`` where values hold
    commas or arrows.

    ``values``: items are columns with values; else names, and ``if`` and ``then`` lists of them.

    >>> parse("smoker=yes, sex -> diagnosis=lung").right
    (Item(column='diagnosis', value='lung'),)
    """
    if isinstance(spoken, str):
        arrow = next((arrow_text for arrow_text in ARROWS if arrow_text in spoken), None)
        sides = [spoken] if arrow is None else spoken.split(arrow)
        if len(sides) > 2:
            raise ValueError("must have one arrow")
        parts = [[_item(text, values=values) for text in side.split(",")] for side in sides]
    else:
        if not set(spoken) <= {"if", "then"} or "if" not in spoken:
            raise ValueError(
                "must be text such as 'a=x, b=y -> c=z', or a mapping with 'if' and 'then'"
            )
        parts = [
            _list_items(spoken[side], values=values) for side in ("if", "then") if side in spoken
        ]
    # Sides are sorted, so that a rule written in another order is the same rule.
    rule = NamedRule(
        *(
            tuple(sorted(part, key=lambda arrow_text: (arrow_text.column, arrow_text.value or "")))
            for part in parts
        )
    )
    # An arrow with nothing behind it is a slip, not a set of items.
    if not rule.left or not all(parts):
        raise ValueError("must name something on each side of its arrow")
    names = [item.column for item in rule.items]
    if len(set(names)) < len(names):
        raise ValueError("must not name an item twice")
    return rule


def _item(text: str, *, values: bool) -> Item:
    if not values:
        name = text
        equals = ""
        value = ""
    else:
        name, equals, value = text.partition("=")
    if not name.strip() or (equals and not value.strip()):
        raise ValueError("must name columns and values, such as 'a=x, b=y -> c=z'")
    return Item(name.strip(), value.strip() if equals else None)


def _list_items(side: object, *, values: bool) -> list[Item]:
    if not values:
        if isinstance(side, str | Mapping) or not isinstance(side, Sequence):
            raise ValueError("must list items under 'if' and 'then'")
        return [Item(label(name)) for name in side]
    if not isinstance(side, Mapping):
        raise ValueError("must map columns to values under 'if' and 'then'")
    return [
        Item(str(name), None if value is None else label(value)) for name, value in side.items()
    ]


def _as_list(rules: object) -> Any:
    if isinstance(rules, str | Mapping):
        return [rules]
    return rules


def _readable(rules: Sequence[str | Fields], *, values: bool = True) -> tuple[Any, ...]:
    """The rules as they were given, once each could be read; messages number them and tell no
    value.
    """
    for number, spoken in enumerate(rules, start=1):
        try:
            parse(spoken, values=values)
        except ValueError as error:
            raise ValueError(f"rule {number} {error}") from None
    return tuple(spoken if isinstance(spoken, str) else dict(spoken) for spoken in rules)


def _readable_items(rules: Sequence[str | Fields]) -> tuple[Any, ...]:
    return _readable(rules, values=False)


Spoken = Annotated[
    str | Sequence[str | Mapping[str, Any]],
    BeforeValidator(_as_list),
    Field(
        min_length=1,
        description="rules such as 'smoker=yes, sex=f -> diagnosis=lung'; stay with the owner",
    ),
    AfterValidator(_readable),
]
"""Rules of a table, in a recipe."""


SpokenItems = Annotated[
    str | Sequence[str | Mapping[str, Any]],
    BeforeValidator(_as_list),
    Field(min_length=1, description="rules such as 'bread, butter -> wine'; stay with the owner"),
    AfterValidator(_readable_items),
]
"""Rules of baskets, in a recipe."""


def promise_to_hide(rules: int, support: int, confidence: float) -> str:
    """The promise that so many rules are not found, in a few words."""
    return f"{count_of(rules, 'rule')} hidden at support {support} and confidence {confidence:g}"


def all_parsed(spoken: Iterable[str | Fields], *, values: bool = True) -> tuple[NamedRule, ...]:
    """Rules as written, each once."""
    return tuple(dict.fromkeys(parse(rule_text, values=values) for rule_text in spoken))


def require_columns(method: str, rules: Iterable[NamedRule], schema: Schema) -> None:
    """Refuse rules about columns that the schema does not have, or that are never released."""
    names = dict.fromkeys(name for rule in rules for name in rule.columns)
    unknown = [name for name in names if name not in schema.attributes]
    direct = [name for name in names if name not in unknown and schema[name].has(Role.DROP)]
    if unknown or direct:
        raise SchemaError(
            [
                f"{method}: the schema has no column"
                f" {name!r}.{did_you_mean(name, schema.attributes)}"
                for name in unknown
            ]
            + [
                f"{method}: column {name!r} is a direct identifier, which is dropped; remove it "
                "from the rules"
                for name in direct
            ]
        )


# The items of a table.


def item_columns(
    schema: Schema, rules: Iterable[NamedRule], among: Sequence[str] | None
) -> tuple[str, ...]:
    """The columns whose values are items: those of the rules, and ``among`` or, where nobody says
    which, all categories.
    """
    rule_columns: set[str] = set()
    for rule in rules:
        rule_columns.update(rule.columns)
    left_out = (Role.DROP, *UNITS, Role.WEIGHT)
    if among is None:
        among = []
        for name, attribute in schema.attributes.items():
            if attribute.kind in (Kind.NOMINAL, Kind.ORDINAL) and not any(
                attribute.has(role) for role in left_out
            ):
                among.append(name)
    return tuple(sorted(rule_columns | set(among)))


@dataclasses.dataclass(frozen=True, eq=False)
class TableItems:
    """The rows of a table as transactions, in an order that depends on what they say alone.

    Item ``first[c] + v`` is value ``labels[c][v]`` of column *c*; transaction *t* is row
    ``order[t]``.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    first: tuple[int, ...]
    order: NDArray[np.int64]
    transactions: Transactions

    @classmethod
    def of(
        cls,
        dataset: Table,
        columns: Sequence[str],
        known_labels: Sequence[Sequence[str]] | None = None,
        order: NDArray[np.int64] | None = None,
    ) -> TableItems:
        """The items of some columns; ``known_labels`` are the values that have numbers already, in
        their order.
        """
        if order is None:
            order = canonical_order(dataset)
        labels, codes = [], []
        for at, name in enumerate(columns):
            encoded = dataset.encoded(name)
            # Missing and suppressed cells are no items.
            own_labels = [text for text in encoded.labels if text not in (None, TOP)]
            if known_labels is None:
                all_labels = own_labels
            else:
                # Labels that are known keep their numbers; new ones come behind them.
                unlisted = sorted(set(own_labels) - set(known_labels[at]))
                all_labels = [*known_labels[at], *unlisted]
            label_codes: dict[str | None, int] = {text: i for i, text in enumerate(all_labels)}
            new_codes = np.array(
                [label_codes.get(text, -1) for text in encoded.labels], dtype=np.int64
            )
            codes.append(
                new_codes[encoded.codes[order]] if len(new_codes) else np.zeros(0, dtype=np.int64)
            )
            labels.append(tuple(all_labels))
        first = tuple(
            itertools.accumulate((len(column_labels) for column_labels in labels), initial=0)
        )
        if codes:
            cells = np.stack(codes, axis=1)
        else:
            cells = np.zeros((len(order), 0), dtype=np.int64)
        has_item = cells >= 0
        first_items = np.array(first[:-1], dtype=np.int64)
        items = (cells + first_items)[has_item]
        # Rows have different numbers of items: starts[t] is where those of row t begin.
        starts = group_starts(has_item.sum(axis=1))
        transactions = Transactions(starts, items, first[-1])
        return cls(tuple(columns), tuple(labels), first[:-1], order, transactions)

    def numbers(self, item: Item) -> list[int]:
        """The items that are meant: one, none where the value does not occur, or all of a
        column.
        """
        at = self.columns.index(item.column)
        if item.value is None:
            start = self.first[at]
            return list(range(start, start + len(self.labels[at])))
        column_labels = self.labels[at]
        if item.value not in column_labels:
            return []
        return [self.first[at] + column_labels.index(item.value)]

    def column_of(self, item: int) -> str:
        """The column of an item."""
        return self.columns[self._column(item)]

    def told(self, rule: Association) -> NamedRule:
        """A rule with the columns and values of its items."""

        def item(number: int) -> Item:
            at = self._column(number)
            code = number - self.first[at]
            return Item(self.columns[at], self.labels[at][code])

        left = tuple(item(number) for number in rule.left)
        right = tuple(item(number) for number in rule.right)
        return NamedRule(left, right)

    def meant(self, rules: Iterable[NamedRule], thresholds: Thresholds) -> list[Association]:
        """The rules that could be found: those whose items enough rows hold. Fewer rows never make
        one of the others found.
        """
        associations: dict[Association, None] = {}
        for rule in rules:
            fixed = [self.numbers(item) for item in rule.items]
            # A value that does not occur cannot be found, with or without the others.
            if not all(fixed):
                continue
            for item_choice in self._frequent(fixed, thresholds.support):
                sides = item_choice[: len(rule.left)], item_choice[len(rule.left) :]
                associations[Association(tuple(sorted(sides[0])), tuple(sorted(sides[1])))] = None
        return list(associations)

    def _frequent(
        self, choices: Sequence[Sequence[int]], smallest_support: int
    ) -> Iterator[tuple[int, ...]]:
        """The combinations, one item of each list, that enough rows hold; those that occur are
        counted, not all there could be.
        """
        at = [self._column(column_choices[0]) for column_choices in choices]
        rows = np.stack([self._cells(column_number) for column_number in at], axis=1)
        hits = [np.isin(rows[:, i], column_choices) for i, column_choices in enumerate(choices)]
        inside = np.all(hits, axis=0)
        combined, counts = np.unique(rows[inside], axis=0, return_counts=True)
        for values in combined[counts >= smallest_support].tolist():
            yield tuple(values)

    def _column(self, item: int) -> int:
        # Items of a column are numbered from first[c] on: the last first at or below the item.
        return int(np.searchsorted(self.first, item, side="right")) - 1

    def _cells(self, at: int) -> NDArray[np.int64]:
        """The item of one column in every row, −1 where there is none."""
        low = self.first[at]
        high = self.first[at] + len(self.labels[at])
        cells = np.full(len(self.transactions), -1, dtype=np.int64)
        inside = (self.transactions.items >= low) & (self.transactions.items < high)
        cells[self.transactions.owners[inside]] = self.transactions.items[inside]
        return cells


def measure_side_effects(
    metric: Utility, rules: tuple[set[Any], set[Any]], hidden: tuple[int, int]
) -> Measure:
    """The share of the rules found before or after that were found only once.

    ``hidden``: how many hidden rules can still be found, and how many there are.
    """
    old, new = rules
    lost, ghosts = len(old - new), len(new - old)
    meaning = (
        f"share of rules that are lost ({lost:,} of {len(old):,}) or appear ({ghosts:,}); "
        f"{hidden[0]:,} of {hidden[1]:,} hidden rules can still be found"
    )
    share = (lost + ghosts) / max(1, len(old | new))
    return Measure(metric.name, share, metric.better, meaning, raw=float(lost + ghosts))
