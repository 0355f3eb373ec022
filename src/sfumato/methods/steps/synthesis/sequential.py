"""Column after column: each is drawn from the leaves of a tree grown on those before it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core.threads import side_by_side
from sfumato.core.words import join_words
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.synthesis.material import ColumnForm, Material
from sfumato.methods.steps.synthesis.tree_growth import (
    AllowedValues,
    DrawnColumn,
    Learnt,
    Predictor,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.methods.steps.synthesis.material import Rows
    from sfumato.methods.steps.synthesis.rules import Clause, RowRule
    from sfumato.methods.steps.synthesis.tree_growth import Mask

Streams = Callable[[str], np.random.Generator]
"""The random numbers of every column, by its name."""


def chosen_order(
    materials: Mapping[str, Material],
    first: Sequence[str],
    rules: Sequence[RowRule],
    predictors: Mapping[str, Sequence[str]],
) -> tuple[str, ...]:
    """An order of columns: strata first, then premises of rules, then by the number of distinct
    values, the most first.

    What predicts a column by name, and what a rule about it looks at, comes before it. On the Adult
    table the other way round, the fewest first, is as near to the original and copies nearly twice
    as many of the records that are unique: a column of many values that comes last is drawn from
    leaves that know all others.
    """
    before = _required_before(materials, rules, predictors)
    premises: set[str] = set()
    for rule in rules:
        premises.update(clause.column for clause in rule.premise)

    def rank(name: str) -> tuple[int, int, str]:
        if name in first:
            group = 0
        elif name in premises:
            group = 1
        else:
            group = 2
        return group, -materials[name].present, name

    ordered: list[str] = []
    waiting = sorted(materials, key=rank)
    while waiting:
        ready = next((name for name in waiting if before[name] <= set(ordered)), None)
        if ready is None:
            raise ParameterError(
                "synthesize: rules or predictors form a circle between "
                f"{', '.join(sorted(waiting))}; remove one, since a column cannot depend on itself"
            )
        ordered.append(ready)
        waiting.remove(ready)
    return tuple(ordered)


def _required_before(
    materials: Mapping[str, Material],
    rules: Sequence[RowRule],
    predictors: Mapping[str, Sequence[str]],
) -> dict[str, set[str]]:
    """The columns that must come before each."""
    before: dict[str, set[str]] = {
        name: set(predictors.get(name, ())) & set(materials) for name in materials
    }
    for rule in rules:
        if rule.conclusion.column in before:
            before[rule.conclusion.column] |= {c.column for c in rule.premise} & set(materials)
    return before


def require_order(
    order: Sequence[str],
    materials: Mapping[str, Material],
    rules: Sequence[RowRule],
    predictors: Mapping[str, Sequence[str]],
) -> tuple[str, ...]:
    """The given order, once it names every column and nothing comes before what it depends on."""
    wrong = sorted(set(order) ^ set(materials))
    if wrong:
        raise ParameterError(
            f"synthesize: order must name every synthesised column once; check {', '.join(wrong)} "
            "(units and constant columns are not synthesised)"
        )
    before = _required_before(materials, rules, predictors)
    for number, name in enumerate(order):
        late = sorted(before[name] - set(order[:number]))
        if late:
            raise ParameterError(
                f"synthesize: {', '.join(late)} must come before {name!r} in the order, because it "
                "decides its value"
            )
    return tuple(order)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Sequential:
    """Columns to draw in their order, what was learnt of each, and the rules about them.

    ``known`` are columns that are learnt from and not drawn; keys are names of columns of the
    record itself, or anything else that distinguishes columns of other records (the head of the
    household, the member before).
    """

    order: tuple[Any, ...]
    materials: Mapping[Any, Material]
    predictors: Mapping[Any, Predictor]
    learnt: Mapping[Any, Learnt]
    rules: tuple[RowRule, ...]

    @classmethod
    def of(
        cls,
        materials: Mapping[Any, Material],
        order: Sequence[Any],
        rules: Sequence[RowRule],
        min_leaf: int,
        allowed: Callable[[Any, Any], bool],
        fixed_materials: Mapping[Any, Material] | None = None,
    ) -> Sequential:
        """Grow a tree for each column; ``allowed`` says whether a column may be predicted from
        another.
        """
        fixed_materials = fixed_materials or {}
        every = {**fixed_materials, **materials}
        predictors = {key: Predictor.of(material) for key, material in every.items()}
        own = {str(key): m for key, m in every.items() if isinstance(key, str)}
        size = 0
        if every:
            size = len(next(iter(every.values())))

        def learn(number: int) -> Learnt:
            name = order[number]
            # A column may look at all columns before it, and at what is known of the record.
            keys = [key for key in (*fixed_materials, *order[:number]) if allowed(name, key)]
            usable = {key: predictors[key] for key in keys}
            return Learnt.of(materials[name], usable, min_leaf, _not_fixed(name, rules, own, size))

        models = side_by_side(learn, range(len(order)), rows=size * len(order))
        learnt = dict(zip(order, models, strict=True))
        return cls(tuple(order), every, predictors, learnt, tuple(rules))

    def draw(
        self,
        size: int,
        streams: Streams,
        fixed_values: Mapping[Any, NDArray[Any]] | None = None,
        own: Rows | None = None,
        settle: Callable[[str, DrawnColumn], DrawnColumn] = lambda _, draw: draw,
    ) -> dict[Any, DrawnColumn]:
        """Draw all columns for so many records; ``fixed_values`` are codes or values of the columns
        that are known of them.

        ``own`` are the records that they stand for, which are no donors then. ``settle`` may have
        the last word on a column, so that members of a household agree.
        """
        raw: dict[Any, NDArray[Any]] = dict(fixed_values or {})
        predictor_values = {key: self.predictors[key].show(values) for key, values in raw.items()}
        draws: dict[Any, DrawnColumn] = {}
        for name in self.order:
            model = self.learnt[name]
            stream = streams(name)
            # Rules are looked at before the draw, so that only values that they allow are drawn.
            limits, fixed = self._limits(name, raw, size)
            draw = model.draw(predictor_values, size, stream, limits, own)
            draw = settle(name, self._kept_to_rules(name, draw, limits, fixed))
            draws[name] = draw
            raw[name] = draw.raw(model.material)
            predictor_values[name] = self.predictors[name].show(raw[name])
        return draws

    def _limits(
        self, name: str, raw: Mapping[Any, NDArray[Any]], size: int
    ) -> tuple[list[AllowedValues], list[tuple[Rows, int]]]:
        """Who may have which values by the rules about a column; where one value only is left, the
        record that has it.
        """
        rules = [rule for rule in self.rules if rule.conclusion.column == name]
        if not rules:
            return [], []
        material = self.materials[name]
        own = {str(k): m for k, m in self.materials.items()}
        values = {str(key): column for key, column in raw.items() if isinstance(key, str)}
        applies = [rule.applies(own, values) for rule in rules]
        limits: list[AllowedValues] = []
        fixed: list[tuple[Rows, int]] = []
        # Records to which the same rules apply share one set of donors.
        for positions in _groups(applies, size):
            active = [rule for rule, mask in zip(rules, applies, strict=True) if mask[positions[0]]]
            conditions, allowed = _together(active, material)
            if any(condition.single for condition in conditions):
                fixed.append((positions, int(allowed.argmax())))
            else:
                limits.append(AllowedValues(positions, allowed, conditions))
        return limits, fixed

    def _kept_to_rules(
        self,
        name: str,
        draw: DrawnColumn,
        limits: Sequence[AllowedValues],
        fixed: Sequence[tuple[Rows, int]],
    ) -> DrawnColumn:
        """What was drawn, with the values that rules fix; a number that smoothing moved beyond a
        rule is the donor's again.
        """
        donors = draw.donors
        values = draw.values
        material = self.learnt[name].material
        for positions, record in fixed:
            donors[positions] = record
        if (donors < 0).any():
            raise _without_donor([rule for rule in self.rules if rule.conclusion.column == name])
        if values is None:
            return DrawnColumn(donors, None)
        for positions, record in fixed:
            values[positions] = material.values[record]
        for limited in limits:
            at = limited.places
            meets = [condition.meets(material, values[at]) for condition in limited.conditions]
            # Smoothing may move a number past a bound; the donor's own value keeps the rule.
            wrong = at[~np.logical_and.reduce(meets)]
            values[wrong] = material.values[donors[wrong]]
        return DrawnColumn(donors, values)


def _groups(applies: Sequence[Mask], size: int) -> list[Rows]:
    """The drawn records to which the same rules apply, those to which any does."""
    code = np.zeros(size, dtype=np.int64)
    for mask in applies:
        # One bit a rule; renumbered before the bits run out of a word.
        code = 2 * code + mask
        if code.max(initial=0) > 1 << 50:  # 0 stays 0: it sorts first, if it is there
            code = np.unique(np.append(0, code), return_inverse=True)[1][1:]
    order = np.flatnonzero(code)
    order = order[np.argsort(code[order], kind="stable")]
    borders = np.flatnonzero(np.diff(code[order])) + 1
    return [part for part in np.split(order, borders) if len(part)]


def _together(rules: Sequence[RowRule], material: Material) -> tuple[tuple[Clause, ...], Mask]:
    """What rules that apply at once ask for, and the records whose value all of them allow.

    A learnt rule gives way where no value would be left: nobody ever met all their premises at
    once.
    """
    conditions: list[Clause] = []
    allowed = np.ones(len(material), dtype=np.bool_)
    # Given rules first: a learnt rule (number 0) must not leave them without a value.
    for rule in sorted(rules, key=lambda rule: rule.number == 0):
        narrower = allowed & rule.conclusion.meets(material, material.raw)
        if narrower.any():
            allowed = narrower
            conditions.append(rule.conclusion)
        elif rule.number:
            raise _without_donor(rules)
    return tuple(conditions), allowed


def _without_donor(rules: Sequence[RowRule]) -> SchemaError:
    titles = join_words(rule.title for rule in rules)
    return SchemaError(
        f"synthesize: rules {titles} leave no value for a synthetic record; correct the rules, or "
        "remove one"
    )


def _not_fixed(
    name: str, rules: Sequence[RowRule], materials: Mapping[str, Material], size: int
) -> Mask | None:
    """The records whose value in a column no rule fixes; None: all."""
    fixing = [rule for rule in rules if rule.conclusion.column == name and rule.conclusion.single]
    if not fixing:
        return None
    raw = {key: material.raw for key, material in materials.items()}
    fixed = np.logical_or.reduce([rule.applies(materials, raw) for rule in fixing])
    return np.asarray(~fixed if size else fixed, dtype=np.bool_)


def _all_differ(material: Material) -> bool:
    """Whether every record that has a value has one of its own."""
    missing = [code for code, label in enumerate(material.labels) if label is None]
    present_codes = material.codes[~np.isin(material.codes, missing)]
    return len(present_codes) > 1 and len(np.unique(present_codes)) == len(present_codes)


def require_drawable(
    materials: Mapping[str, Material], source: str
) -> tuple[dict[str, Material], tuple[str, ...]]:
    """The columns that are drawn, and those that are constant; columns in which everybody differs
    are refused.
    """
    unique = []
    for name, material in materials.items():
        if material.form is not ColumnForm.NUMBERS and _all_differ(material):
            unique.append(name)
    if unique:
        raise SchemaError(
            f"synthesize: every record of {source} has its own value in {', '.join(unique)}, so "
            "synthetic values would be theirs. Give such columns the role drop, pseudonymize "
            "them, or make them coarser first"
        )
    constant = tuple(name for name, material in materials.items() if material.constant)
    return {name: m for name, m in materials.items() if not m.constant}, constant
