"""Rules that hold in every drawn record, or in every drawn household, as people write them.

``age < 15 => marital_status = single``: where the conditions on the left hold (several are joined
by ``and``), the one on the right does. A condition compares a column with ``=``, ``!=``, ``<``,
``<=``, ``>``, ``>=``, asks whether it is ``in {a, b}`` (one of) or ``in [1, 5]`` (from, to), or
``is missing`` or ``is not missing``. Names and values with signs of their own stand in quotes.
``count(relation = head) = 1`` says how many members of every household meet conditions.
"""

from __future__ import annotations

import dataclasses
import datetime
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.synthesis.material import ColumnForm, Material

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]

TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>"[^"]*"|'[^']*')"""
    r"|(?P<sign>=>|⇒|<=|>=|!=|≤|≥|≠|∈|[<>={}\[\](),])"
    r"""|(?P<word>[^\s<>=!{}\[\](),⇒≤≥≠∈"']+))"""
)
SAME = {"⇒": "=>", "≤": "<=", "≥": ">=", "≠": "!=", "∈": "in"}
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
EPOCH = datetime.date(1970, 1, 1)
LEAST_ROWS = 50
"""Records that must meet a premise before a rule is learnt from them."""


@dataclasses.dataclass(frozen=True)
class Clause:
    """A column, how it is compared, and with what: a value, several (``in``), two ends
    (``between``), or none (``missing``).
    """

    column: str
    sign: str
    values: tuple[str, ...] = ()

    def meets(self, material: Material, raw: NDArray[Any]) -> Mask:
        """Which cells meet it; ``raw`` are codes of categories, values of everything else. What is
        missing meets no comparison.
        """
        if material.form is ColumnForm.CATEGORIES:
            mask: Mask = self._levels(material)[raw]
            return mask
        # NaN compares false with everything but !=, where it would be true.
        gone = np.isnan(raw)
        if self.sign in ("missing", "known"):
            return np.asarray(gone if self.sign == "missing" else ~gone)
        numbers = [self._number(material, value) for value in self.values]
        with np.errstate(invalid="ignore"):
            if self.sign == "in":
                return np.asarray(np.isin(raw, numbers))
            if self.sign == "between":
                return np.asarray((raw >= numbers[0]) & (raw <= numbers[1]))
            is_met = COMPARED[self.sign](raw, numbers[0])
            return np.asarray(is_met & ~gone)

    def _levels(self, material: Material) -> Mask:
        labels = material.labels
        missing = np.array([label is None for label in labels], dtype=np.bool_)
        if self.sign in ("missing", "known"):
            return missing if self.sign == "missing" else ~missing
        if self.sign not in ("=", "!=", "in"):
            raise ParameterError(
                f"a rule compares column {self.column!r} by {self._value_text}, but its values "
                "have no order; give kind: ordinal and order: [...], or write = or in {...}"
            )
        listed = np.array([label in self.values for label in labels], dtype=np.bool_)
        if self.sign != "!=":
            return listed
        # What is missing meets no comparison, != not either.
        return ~listed & ~missing

    @property
    def _value_text(self) -> str:
        return "in [ , ]" if self.sign == "between" else self.sign

    def _number(self, material: Material, value: str) -> float:
        """A value of a rule as the column has it: a number, a day, or a place in a listed order."""
        if material.form is ColumnForm.ORDERED:
            if value not in material.order:
                raise ParameterError(
                    f"a rule compares column {self.column!r} with a value that its order does not "
                    "list; add it to the order"
                )
            return float(material.order.index(value))
        try:
            if material.temporal:
                moment = datetime.datetime.fromisoformat(value)
                days = (moment.date() - EPOCH).days
                if material.temporal == "day":
                    return float(days)
                # Times are written without a zone, as the column counts them.
                since = moment.replace(tzinfo=None) - datetime.datetime.combine(
                    EPOCH, datetime.time()
                )
                return float(since // datetime.timedelta(microseconds=1))
            return float(value)
        except ValueError:
            raise ParameterError(
                f"a rule compares column {self.column!r} with something that is neither "
                "a number nor a date"
            ) from None

    @property
    def single(self) -> bool:
        """Whether exactly one value meets it."""
        return self.sign in ("=", "missing") or (self.sign == "in" and len(self.values) == 1)


@dataclasses.dataclass(frozen=True)
class RowRule:
    """Where all conditions of the premise hold, the conclusion does; ``number`` says which of the
    recipe it is, 0: a learnt one.
    """

    premise: tuple[Clause, ...]
    conclusion: Clause
    number: int = 0

    @property
    def title(self) -> str:
        """The rule by its number and columns, without values."""
        which = f"rule {self.number}" if self.number else "a learnt rule"
        return (
            f"{which} ({' and '.join(c.column for c in self.premise)} => {self.conclusion.column})"
        )

    def applies(self, materials: Mapping[str, Material], raw: Mapping[str, NDArray[Any]]) -> Mask:
        """The records that meet the premise."""
        masks = [c.meets(materials[c.column], raw[c.column]) for c in self.premise]
        return np.asarray(np.logical_and.reduce(masks))


@dataclasses.dataclass(frozen=True)
class UnitRule:
    """How many members of every household meet some conditions."""

    conditions: tuple[Clause, ...]
    sign: str
    count: int
    number: int

    @property
    def title(self) -> str:
        """The rule by its number and columns, without values."""
        return f"rule {self.number} (count of {' and '.join(c.column for c in self.conditions)})"

    def broken(
        self,
        materials: Mapping[str, Material],
        raw: Mapping[str, NDArray[Any]],
        units: NDArray[np.int64],
        number: int,
    ) -> Mask:
        """The units in which it does not hold."""
        met_conditions = [c.meets(materials[c.column], raw[c.column]) for c in self.conditions]
        meets = np.logical_and.reduce(met_conditions)
        counts = np.bincount(units, weights=meets, minlength=number)
        is_met = COMPARED[self.sign](counts, self.count)
        return ~np.asarray(is_met, dtype=np.bool_)


class _Reader:
    """Reads one rule, sign by sign."""

    def __init__(self, text: str, number: int) -> None:
        self.number = number
        self.place = 0
        self.tokens = list(self._tokens(text))

    def _tokens(self, text: str) -> Iterator[tuple[str, str]]:
        # One token at a time; what matches none of the patterns cannot be part of a rule.
        at = 0
        text = text.strip()
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                raise self.error("has a sign that rules do not know, or an unclosed quote")
            at = match.end()
            if match["quoted"] is not None:
                yield "value", match["quoted"][1:-1]
            elif match["sign"] is not None:
                sign = SAME.get(match["sign"], match["sign"])
                yield ("word" if sign == "in" else "sign"), sign
            else:
                yield "word", match["word"]

    def error(self, fault: str) -> ParameterError:
        return ParameterError(
            f"rule {self.number} {fault}; write it like age < 15 => marital_status = single, or"
            " count(relation = head) = 1"
        )

    @property
    def next(self) -> tuple[str, str]:
        if self.place < len(self.tokens):
            return self.tokens[self.place]
        return ("end", "")

    def take(self, *texts: str) -> bool:
        """Go on where the next sign or word is one of those."""
        kind, text = self.next
        if kind in ("sign", "word") and text in texts:
            self.place += 1
            return True
        return False

    def phrase(self, *ends: str) -> str:
        """Words up to a sign or one of the words that end them, joined by blanks; or what stands in
        quotes.
        """
        words = []
        while self.next[0] in ("word", "value") and not (
            self.next[0] == "word" and self.next[1] in ends
        ):
            words.append(self.next[1])
            self.place += 1
        if not words:
            raise self.error("lacks a column or a value")
        return " ".join(words)

    def condition(self) -> Clause:
        # Names and values may have blanks: words are joined up to a word that ends them.
        column = self.phrase("in", "is", "and")
        if self.take("is"):
            sign = "known" if self.take("not") else "missing"
            if not self.take("missing"):
                raise self.error("has 'is' without 'missing'")
            return Clause(column, sign)
        if self.take("in"):
            return self._listed(column)
        sign = self.next[1]
        if self.next[0] != "sign" or not self.take(*COMPARED):
            raise self.error("lacks a comparison of a column")
        return Clause(column, sign, (self.phrase("and"),))

    def _listed(self, column: str) -> Clause:
        one_of = self.next[1] == "{"
        if not self.take("{", "["):
            raise self.error("needs {a, b} or [lowest, highest] after 'in'")
        values = [self.phrase()]
        while self.take(","):
            values.append(self.phrase())
        if not self.take("}" if one_of else "]") or (not one_of and len(values) != 2):
            raise self.error("needs {a, b} or [lowest, highest] after 'in'")
        return Clause(column, "in" if one_of else "between", tuple(values))

    def conditions(self) -> tuple[Clause, ...]:
        conditions = [self.condition()]
        while self.take("and"):
            conditions.append(self.condition())
        return tuple(conditions)

    def rule(self) -> RowRule | UnitRule:
        # count is a word like any other unless a bracket follows: a column may have that name.
        is_unit_rule = self.next == ("word", "count") and self.tokens[1:2] == [("sign", "(")]
        rule = self._unit_rule() if is_unit_rule else self._row_rule()
        if self.next[0] != "end":
            raise self.error("continues after its end")
        return rule

    def _row_rule(self) -> RowRule:
        premise = self.conditions()
        if not self.take("=>"):
            raise self.error("lacks the sign =>")
        conclusion = self.condition()
        # A rule about the column it looks at would have to be known before it is drawn.
        if conclusion.column in {c.column for c in premise}:
            raise self.error("has the same column on both sides")
        return RowRule(premise, conclusion, self.number)

    def _unit_rule(self) -> UnitRule:
        self.place = 2
        conditions = self.conditions()
        if not self.take(")"):
            raise self.error("lacks the bracket that ends count(")
        sign = self.next[1]
        if self.next[0] != "sign" or not self.take(*COMPARED):
            raise self.error("lacks a comparison of a count")
        number = self.phrase()
        if not number.isdigit():
            raise self.error("compares a count with something that is not a whole number")
        return UnitRule(conditions, sign, int(number), self.number)


def parse_rules(texts: Sequence[str]) -> tuple[RowRule | UnitRule, ...]:
    """The rules of a recipe.

    >>> rule = parse_rules(["age < 15 and sex = f => marital_status in {single, never married}"])[0]
    >>> rule.title, rule.conclusion.values
    ('rule 1 (age and sex => marital_status)', ('single', 'never married'))
    """
    return tuple(_Reader(text, number).rule() for number, text in enumerate(texts, start=1))


def columns_in(rules: Sequence[RowRule | UnitRule]) -> tuple[str, ...]:
    """All columns that rules name."""
    columns: dict[str, None] = {}
    for rule in rules:
        if isinstance(rule, RowRule):
            conditions = (*rule.premise, rule.conclusion)
        else:
            conditions = rule.conditions
        columns.update(dict.fromkeys(c.column for c in conditions))
    return tuple(columns)


def require_true(
    rules: Sequence[RowRule], materials: Mapping[str, Material], source: str
) -> tuple[str, ...]:
    """Refuse rules that the table breaks, that no value can meet, or that contradict each other;
    warn of those that never apply.
    """
    raw = {name: material.raw for name, material in materials.items()}
    problems, idle = [], []
    for rule in rules:
        applies = rule.applies(materials, raw)
        target = rule.conclusion.column
        allowed = rule.conclusion.meets(materials[target], raw[target])
        broken = int((applies & ~allowed).sum())
        if broken:
            problems.append(f"{rule.title} does not hold in {broken:,} record(s) of {source}")
        elif not allowed.any():
            problems.append(
                f"{rule.title} is a rule without donor: no record of {source} has a "
                "value that it allows"
            )
        elif not applies.any():
            idle.append(f"synthesize: {rule.title} applies to no record of the table")
    problems += _contradictions(rules, materials)
    if problems:
        raise SchemaError(
            [f"synthesize: {problem}; correct the rule or the table" for problem in problems]
        )
    return tuple(idle)


def _contradictions(rules: Sequence[RowRule], materials: Mapping[str, Material]) -> Iterator[str]:
    """Two rules about one column whose premises can hold together, in the product of the values
    that occur, but no value meets both.

    A premise is a conjunction of conditions on single columns, so the product has a record that
    meets both exactly when every column has a value that meets all conditions on it.
    """
    # The values that occur, once each: pairs of rules are tried on these.
    raw = {name: np.unique(material.raw) for name, material in materials.items()}
    for number, first in enumerate(rules):
        for second in rules[number + 1 :]:
            if first.conclusion.column != second.conclusion.column:
                continue
            together = (*first.premise, *second.premise)
            if _possible(together, materials, raw) and not _possible(
                (first.conclusion, second.conclusion), materials, raw
            ):
                yield f"{first.title} and {second.title} contradict each other"


def _possible(
    conditions: Sequence[Clause], materials: Mapping[str, Material], raw: Mapping[str, NDArray[Any]]
) -> bool:
    for name in {c.column for c in conditions}:
        meets = [c.meets(materials[name], raw[name]) for c in conditions if c.column == name]
        if not np.logical_and.reduce(meets).any():
            return False
    return True


def learnt_rules(materials: Mapping[str, Material], order: Sequence[str]) -> tuple[RowRule, ...]:
    """Rules with one column on the left that hold in the whole table and that 50 records or more
    bear out.

    On the left: a category, or all numbers up to or from one; on the right: the one value all those
    records have in a column of categories, which has others elsewhere. Premises come before
    conclusions in the order of the columns.
    """
    rules: list[RowRule] = []
    for number, name in enumerate(order):
        target = materials[name]
        if target.form is ColumnForm.NUMBERS or target.constant:
            continue
        for earlier in order[:number]:
            rules += _implied_rules(materials[earlier], target)
    return tuple(rules)


def _implied_rules(premise: Material, target: Material) -> Iterator[RowRule]:
    if premise.form is ColumnForm.CATEGORIES:
        pairs = premise.codes.astype(np.int64) * target.levels + target.codes
        joint = np.bincount(pairs, minlength=premise.levels * target.levels).reshape(
            premise.levels, target.levels
        )
        # Enough records, and all of them with one value of the target.
        sure = (joint.sum(axis=1) >= LEAST_ROWS) & ((joint > 0).sum(axis=1) == 1)
        for code in range(target.levels):
            labels = []
            for level in np.flatnonzero(sure & (joint[:, code] > 0)).tolist():
                labels.append(premise.labels[level])
            # A missing value is no member of a list: it needs a premise of its own.
            if None in labels:
                yield RowRule((Clause(premise.name, "missing"),), _exactly(target, code))
            if present_labels := tuple(label for label in labels if label is not None):
                yield RowRule((Clause(premise.name, "in", present_labels),), _exactly(target, code))
        return
    present_rows = np.flatnonzero(~np.isnan(premise.values))
    ascending = present_rows[np.argsort(premise.values[present_rows], kind="stable")]
    # From the lowest number on, then from the highest: how far does the first value reach?
    for sign, rows in (("<=", ascending), (">=", ascending[::-1])):
        codes = target.codes[rows]
        values = premise.values[rows]
        if len(rows):
            # The first record that differs; 0 where all are the same, which is no rule.
            run = int((codes != codes[0]).argmax())
        else:
            run = 0
        if run == 0:
            continue
        # a value that occurs on both sides belongs to neither
        while run and values[run - 1] == values[run]:
            run -= 1
        if run >= LEAST_ROWS:
            premises = (_up_to(premise, sign, values[run - 1]),)
            conclusion = _exactly(target, int(codes[0]))
            yield RowRule(premises, conclusion)


def _up_to(premise: Material, sign: str, value: float) -> Clause:
    if premise.form is ColumnForm.ORDERED:
        return Clause(premise.name, sign, (premise.order[int(value)],))
    return Clause(premise.name, sign, (premise.written(value),))


def _exactly(target: Material, level: int) -> Clause:
    label = target.labels[level]
    if label is None:
        return Clause(target.name, "missing")
    return Clause(target.name, "=", (label,))
