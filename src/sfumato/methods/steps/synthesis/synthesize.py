"""Synthetic records: drawn from what was learnt of the table, column after column or by a
copula.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.classes import count_rows
from sfumato.core.design import marks_by, strata_of
from sfumato.core.fields import Document
from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.randomness import canonical_order
from sfumato.core.schema import UNITS, Attribute, Kind, Role
from sfumato.core.step import Goal, Step, Synthetic
from sfumato.core.table import NOBODY
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.swapping.step_columns import Columns, Strata, Within, require_columns
from sfumato.methods.steps.synthesis.copula import require_numbers
from sfumato.methods.steps.synthesis.households import UnitRows, shared_by_units
from sfumato.methods.steps.synthesis.material import (
    ColumnForm,
    Material,
    materials_of,
    written_back,
)
from sfumato.methods.steps.synthesis.outcome import (
    COPY,
    MARGINALS,
    identifiers,
    put_cells,
    stack_copies,
    summarize_draws,
    weights_kept,
    with_totals,
)
from sfumato.methods.steps.synthesis.rules import (
    RowRule,
    UnitRule,
    columns_in,
    learnt_rules,
    parse_rules,
    require_true,
)
from sfumato.methods.steps.synthesis.sequential import chosen_order, require_drawable, require_order
from sfumato.methods.steps.synthesis.table_draws import (
    Copy,
    Groundwork,
    fully_drawn,
    partly_drawn,
    require_premises_of_units,
    strata_apart,
)
from sfumato.methods.steps.synthesis.tree_growth import DrawnColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

    Rows = NDArray[np.int64]

USUAL_HOLDOUT = 0.2
FEWEST = 5
"""Tables with fewer records are refused, whatever the size of leaves."""
BY_TREES: Document = {
    "columns": None,
    "order": None,
    "smoothing": "auto",
    "predictors": {},
    "special": {},
    "rules": (),
    "learn_rules": False,
    "members": (),
    "risky_below": None,
    "not_self": False,
}
"""Parameters of trees alone, and what they are where nobody says anything."""


@parameters
class Synthesize(Step):
    r"""Draw records again, from what was learnt of the table: nobody's, or people's with some
    values replaced.

    ``trees``: the columns are drawn one after the other. The first is drawn from its values; for
    every other a tree is grown on the **original** columns before it, a drawn record is sent down
    the tree by its **drawn** values, and takes the value of one original record of its leaf, all
    equally likely. Leaves have ``min_leaf`` records or more. Categories are split by Gini impurity
    (so are whole numbers of up to 64 values), numbers and dates by variance, by that of their ranks
    where they are skewed. Missing values are drawn like others: for numbers, whether there is one
    (or a ``special`` code, such as −9 for *refused*) is drawn first. With ``smoothing`` numbers are
    moved by a normal kernel as wide as Silverman's rule says for the leaf, reflected at the bounds
    of the column (declared ones where there are any) and rounded as the column is; ``auto`` does so
    for numbers of which more than 90 % are distinct. ``rules``
    (``age < 15 => marital_status = single``) hold in every drawn record; see the page on synthesis
    for how they are written.

    ``copula``: for numbers, dates and ordered categories. Normal numbers with
    correlations :math:`2\sin(\pi\rho_S/6)` of the rank correlations :math:`\rho_S` are drawn, and
    turned into values of every column by rank. ``marginals: exact`` gives back every original value
    of every column, extremes included, and has to be asked for.

    ``columns`` names the columns to replace while all others stay what they are, and
    ``risky_below`` replaces values in records only whose combination of quasi-identifiers fewer
    records have (with households: in all members of theirs): *partly* synthetic. Then records keep
    whose they are, and so do their kept values: promises and attacks look at them as at any masked
    release. Otherwise all is drawn, ``records`` of them, and no record stands for anybody.
    Households (a column with role household) are drawn whole: their common columns, size and head
    first, then member after member; ``records`` counts households then. ``within`` (by default the
    columns with role stratum) learns every stratum by itself that has 10 · ``min_leaf`` records;
    smaller ones together. ``holdout`` sets a share of the people aside, before anything is learnt,
    for attacks to compare with: a fifth by default, and nobody where records stay people's, because
    who is set aside is not released then. ``copies`` draws several tables, one below the other,
    numbered in a column ``copy``; :func:`sfumato.combine` says what they tell together. (Copies of
    partly synthetic tables are releases of their own: everybody would stand several times in one.)

    Survey weights are drawn like other columns and then multiplied by one number, so that those of
    every copy add up to what all weights of the table do: totals of the population stay estimable
    whoever was set aside. Columns that are constant are copied. A column of text in which everybody
    differs is refused. Synthetic is not the same as
    anonymous: what leaves repeat is somebody's, and attacks tell how much that is.

    References: Reiter 2005, Journal of Official Statistics 21, 441–462; Nowok, Raab & Dibben 2016,
    doi:10.18637/jss.v074.i11. Their package draws from leaves of 5 records; ours by default from
    20, which halves what is copied.

    >>> from sfumato import examples
    >>> from sfumato.core.randomness import Seed
    >>> people = examples.hospital(rows=300).drop(["patient_name"])
    >>> plan = Synthesize(records=1000).plan(people, Goal(seed=Seed(1)))
    >>> plan.table.height, set(plan.origin.tolist())
    (1000, {-1})
    """

    method: Annotated[
        Literal["trees", "copula"], Field(description="how records are modelled and drawn")
    ] = "trees"
    columns: Annotated[
        Columns | None, Field(description="replace these columns only; all others stay")
    ] = None
    records: Annotated[
        int | None,
        Field(
            ge=1,
            description="records to create, or households; by default as many as are learnt from",
        ),
    ] = None
    order: Annotated[
        Columns | None, Field(description="the columns in the order in which they are synthesised")
    ] = None
    min_leaf: Annotated[int, Field(ge=1, description="least number of records of a leaf")] = 20
    smoothing: Annotated[
        Literal["auto", "kernel", "none"],
        Field(description="whether numbers are moved a little: auto where most are distinct"),
    ] = "auto"
    predictors: Annotated[
        Mapping[str, Within], Field(description="column: the only columns that may predict it")
    ] = dataclasses.field(default_factory=dict)
    special: Annotated[
        Mapping[str, Sequence[float]],
        COLUMNS,
        Field(description="column of numbers: codes in it that are not measurements"),
    ] = dataclasses.field(default_factory=dict)
    rules: Annotated[
        Sequence[str], Field(description="what must hold in every record: age < 15 => married = no")
    ] = ()
    learn_rules: Annotated[
        bool, Field(description="whether rules that the table itself satisfies are preserved")
    ] = False
    within: Strata = None
    members: Annotated[
        Within,
        Field(
            description=(
                "columns that order the members of a household, '-age' for the oldest first"
            )
        ),
    ] = ()
    holdout: Annotated[
        float | None,
        Field(
            ge=0,
            le=0.5,
            description=(
                "share of people set aside before training; a fifth if all columns are synthetic"
            ),
        ),
    ] = None
    risky_below: Annotated[
        int | None,
        Field(
            ge=2, description="replace values only in records whose quasi-identifiers fewer share"
        ),
    ] = None
    not_self: Annotated[
        bool, Field(description="whether a record may not receive its own value by chance")
    ] = False
    copies: Annotated[int, Field(ge=1, le=100, description="tables to draw")] = 1
    marginals: Annotated[
        Literal["smoothed", "exact"],
        Field(description="whether a copula gives back the original values of each column"),
    ] = "smoothed"

    name: ClassVar[str] = "synthesize"
    secret: ClassVar[tuple[str, ...]] = ("rules", "special")

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(self.rules))
        object.__setattr__(self, "members", tuple(self.members))
        # Rules are read once to refuse what cannot be read before any data are looked at.
        parse_rules(self.rules)
        partly = not self.draws_anew
        if self.method == "copula":
            tree_options = []
            for name, usual in BY_TREES.items():
                if getattr(self, name) != usual:
                    tree_options.append(name)
            if tree_options:
                raise ParameterError(
                    f"synthesize: {', '.join(tree_options)} are for method: trees; leave them out "
                    "for a copula"
                )
        elif self.marginals == "exact":
            raise ParameterError(
                "synthesize: marginals: exact is for method: copula; leave it out for trees"
            )
        if partly and self.records is not None:
            raise ParameterError(
                "synthesize: records is for tables that are fully synthetic; columns and "
                "risky_below keep all records, so leave it out"
            )
        if partly and self.copies > 1:
            raise ParameterError(
                "synthesize: copies is for tables that are fully synthetic; with columns or "
                "risky_below everybody would be in the release several times and seem to hide in "
                "a crowd; run the recipe once for each copy, with another seed"
            )
        if self.not_self and not partly:
            raise ParameterError(
                "synthesize: not_self is for columns or risky_below; otherwise no synthetic "
                "record belongs to anybody, so leave it out"
            )

    @property
    def masks(self) -> tuple[str, ...]:
        """The columns it is told to replace; none where it draws all."""
        return tuple(self.columns or ())

    @property
    def draws_anew(self) -> bool:
        """Whether all of a record is drawn, so that it is nobody's."""
        return self.columns is None and self.risky_below is None

    @property
    def aside(self) -> float:
        """The share of people set aside: as said, or a fifth where all is drawn and nobody where
        records stay people's.
        """
        if self.holdout is None:
            return USUAL_HOLDOUT if self.draws_anew else 0.0
        return self.holdout

    def plan(self, dataset: Table, goal: Goal) -> Synthetic:
        """Learn, and draw."""
        if self.copies > 1 and goal.models:
            raise ParameterError(
                "synthesize: several copies repeat people, and a promise would count them several"
                " times; judge one copy (copies: 1)"
            )
        if self.copies > 1 and COPY in dataset.columns:
            raise ParameterError(
                f"synthesize numbers copies in a column {COPY!r}, which the table already has; "
                "rename that"
            )
        return _Run(self, dataset, goal).plan()

    def rows_set_aside(self, dataset: Table, goal: Goal) -> NDArray[np.int64]:
        """The rows that planning sets aside, by their place in the table; nothing is learnt."""
        run = _Run(self, dataset, goal)
        return np.sort(run.canonical[run.held])

    def apply(self, dataset: Table, plan: Synthetic) -> Table:
        """Put the drawn records in the place of all others."""
        return plan.applied(dataset)


class _Run:
    """One run of the step: everything it knows of the table, in canonical order."""

    def __init__(self, step: Synthesize, dataset: Table, goal: Goal) -> None:
        self.step = step
        self.dataset = dataset
        self.goal = goal
        self.warnings: list[str] = []
        self.owner: Document = {}
        self.partly = not step.draws_anew
        # In an order that depends on the records alone: shuffled rows give the same result.
        self.canonical = canonical_order(dataset)
        self.units = self._units()
        self.held = self._held_out()
        # Whoever is set aside takes part in nothing that is learnt below.
        self.rows: Rows = np.flatnonzero(~self.held)
        if len(self.rows) < max(FEWEST, step.min_leaf):
            raise SchemaError(
                f"synthesize needs at least {max(FEWEST, step.min_leaf)} records to learn from; "
                f"{dataset.source.name} has "
                f"{len(self.rows):,}{' beside those set aside' if self.held.any() else ''}"
            )
        self.constant: tuple[str, ...] = ()
        self.kept_rules = 0

    def plan(self) -> Synthetic:
        """The drawn table and what is to be told of it."""
        ground = self._ground()
        if self.partly:
            return self._partly(ground)
        return self._fully(ground)

    # Who belongs together, who is set aside, what is learnt from.

    def _units(self) -> Rows | None:
        """Per record the number of its person or household, where any has several records."""
        names = self.dataset.schema.units
        if not names:
            return None
        if len(names) > 1 and not self.partly:
            raise SchemaError(
                f"synthesize draws persons or households, not both, but {', '.join(names)} have "
                "the roles person and household; give one of them the role drop"
            )
        encoded = self.dataset.encoded(names[0])
        codes = np.array(encoded.codes, dtype=np.int64)
        # A record without a household is unique: each gets a number of its own.
        if None in encoded.labels:
            alone = codes == encoded.labels.index(None)
            codes[alone] = len(encoded.labels) + np.arange(int(alone.sum()))
        unit_codes: Rows = np.unique(codes[self.canonical], return_inverse=True)[1].astype(np.int64)
        # Fewer units than records: some have several.
        repeated = int(unit_codes.max(initial=-1)) + 1 < len(unit_codes)
        if repeated and self.step.method == "copula":
            raise SchemaError(
                "synthesize by a copula draws independent records; use method: trees for households"
            )
        return unit_codes if repeated else None

    def _held_out(self) -> NDArray[np.bool_]:
        """The records set aside, persons or households whole."""
        count = len(self.canonical)
        if not self.step.aside:
            return np.zeros(count, dtype=np.bool_)
        # Words drawn by the content of each record: who is set aside does not depend on row order.
        words = self.goal.keyed("holdout").words(marks_by(self.dataset, "row"))[self.canonical]
        if self.units is None:
            of = np.arange(count)
        else:
            of = self.units
        # The word of the first record decides for all records of a unit.
        _, first, groups = np.unique(of, return_index=True, return_inverse=True)
        by_word = np.lexsort((np.arange(len(first)), words[first]))
        aside = np.zeros(len(first), dtype=np.bool_)
        aside[by_word[: round(self.step.aside * len(first))]] = True
        return aside[groups]

    def _names(self) -> list[str]:
        """The columns that are learnt from: neither units nor direct identifiers."""
        schema = self.dataset.schema.attributes
        out = (*UNITS, Role.DROP)
        return [
            n
            for n in self.dataset.columns
            if not (n in schema and any(schema[n].has(role) for role in out))
        ]

    def _ground(self) -> Groundwork:
        step = self.step
        dataset = self.dataset
        names = self._names()
        rules = parse_rules(step.rules)
        names_in_options = [
            *columns_in(rules),
            *step.special,
            *step.predictors,
            *itertools.chain(*step.predictors.values()),
        ]
        dataset.require([*names_in_options, *(step.order or ()), *(step.within or ())])
        unknown = sorted(set(names_in_options) - set(names))
        if unknown:
            raise ParameterError(
                f"synthesize cannot use {', '.join(unknown)}: units and direct identifiers are not "
                "synthesised"
            )
        special = {name: tuple(codes) for name, codes in step.special.items()}
        arranged = self._arranged(names)
        materials = materials_of(
            dataset, names, arranged, special=special, smoothing=step.smoothing, among=self.rows
        )
        wrong = [name for name in special if materials[name].form is not ColumnForm.NUMBERS]
        if wrong:
            raise ParameterError(
                f"synthesize: special codes are for columns of numbers, which {', '.join(wrong)} "
                "are not; remove them"
            )
        # Levels keep their numbers, but only records that are not set aside are learnt from.
        training = {name: material.taken(self.rows) for name, material in materials.items()}
        row_rules = tuple(rule for rule in rules if isinstance(rule, RowRule))
        unit_rules = tuple(rule for rule in rules if isinstance(rule, UnitRule))
        if unit_rules and (self.units is None or self.partly):
            raise ParameterError(
                "synthesize: count(...) is for households that are drawn; give the column that"
                " numbers them the role household"
            )
        self.warnings += require_true(row_rules, training, dataset.source.name)
        self._require_unit_rules(unit_rules, training)
        targets = self._targets(materials, training)
        order = self._order(targets, row_rules)
        self._require_decidable(row_rules, order, training)
        about = tuple(rule for rule in row_rules if rule.conclusion.column in order)
        if step.learn_rules:
            weights = dataset.schema.columns(Role.WEIGHT)  # these are multiplied later
            learnt_rules_found = learnt_rules(
                training, [name for name in order if name not in weights]
            )
            learnt_rules_found = self._possible_for_units(learnt_rules_found, training)
            self.owner["learnt_rules"] = len(learnt_rules_found)
            about += learnt_rules_found
        return Groundwork(
            materials,
            order,
            rules=about,
            unit_rules=unit_rules,
            predictors=step.predictors,
            min_leaf=step.min_leaf,
            method=step.method,
            exact=step.marginals == "exact",
        )

    def _arranged(self, names: Sequence[str]) -> Rows:
        """The records in canonical order, members of a household in the order that was asked
        for.
        """
        by = [name.removeprefix("-") for name in self.step.members]
        wrong = [name for name in by if name not in names]
        if wrong:
            raise ParameterError(
                f"synthesize: members names {', '.join(wrong)}, which is not a "
                "synthesised column; remove it"
            )
        if not by or self.units is None:
            if by:
                raise ParameterError(
                    "synthesize: members is for households, but no column with role "
                    "person repeats; leave it out"
                )
            return self.canonical
        keys = []
        for name, column in zip(self.step.members, by, strict=True):
            material = materials_of(self.dataset, [column], self.canonical, {}, "none")[column]
            if material.form is not ColumnForm.CATEGORIES:
                values = material.values
            else:
                values = material.codes.astype(np.float64)
            keys.append(-values if name.startswith("-") else values)
        # By unit, then by the keys in the order given: the last key of lexsort leads.
        order = np.lexsort((*reversed(keys), self.units))
        # Everything that follows the order of records is put into the new order as well.
        self.units, self.held = self.units[order], self.held[order]
        self.canonical = self.canonical[order]
        self.rows = np.flatnonzero(~self.held)
        return self.canonical

    def _require_unit_rules(
        self, rules: Sequence[UnitRule], training: Mapping[str, Material]
    ) -> None:
        if not rules or self.units is None:
            return
        # Numbered without gaps, as units set aside are missing among these.
        numbers = np.unique(self.units[self.rows], return_inverse=True)[1].astype(np.int64)
        raw = {name: material.raw for name, material in training.items()}
        count = int(numbers.max()) + 1
        broken = []
        for rule in rules:
            is_broken = rule.broken(training, raw, numbers, count)
            broken.append((rule.title, int(is_broken.sum())))
        problems = []
        for title, households in broken:
            if households:
                problems.append(f"synthesize: {title} does not hold in {households:,} household(s)")
        if problems:
            raise SchemaError(problems)

    def _require_decidable(
        self, rules: Sequence[RowRule], order: Sequence[str], training: Mapping[str, Material]
    ) -> None:
        """Refuse rules that nothing drawn could keep: about a column that stays, or about a
        household by one of its members.
        """
        for rule in rules:
            # A premise that stays is known beforehand; one that is replaced may turn out otherwise.
            replaced = [c.column for c in rule.premise if c.column in order]
            if (
                replaced
                and rule.conclusion.column not in order
                and rule.conclusion.column not in self.constant
            ):
                raise ParameterError(
                    f"synthesize: {rule.title} uses {', '.join(replaced)}, which is replaced, to "
                    "decide a column that stays; replace both, or remove the rule"
                )
        if rules and self.units is not None:
            require_premises_of_units(rules, self._shared(training))

    def _possible_for_units(
        self, rules: tuple[RowRule, ...], training: Mapping[str, Material]
    ) -> tuple[RowRule, ...]:
        """Learnt rules but for those that decide about a household by one of its members."""
        if self.units is None:
            return rules
        shared = self._shared(training)
        mixed = []
        for r in rules:
            mixed.append(
                r.conclusion.column in shared and any(c.column not in shared for c in r.premise)
            )
        return tuple(rule for rule, wrong in zip(rules, mixed, strict=True) if not wrong)

    def _shared(self, training: Mapping[str, Material]) -> list[str]:
        """The columns in which all members of every household have the same."""
        if self.units is None:
            units = np.zeros(0, dtype=np.int64)
        else:
            units = self.units
        _, unit_numbers = np.unique(units[self.rows], return_inverse=True)
        ranked = UnitRows.of(unit_numbers.astype(np.int64), ())
        return [name for name, material in training.items() if shared_by_units(material, ranked)]

    def _targets(
        self, materials: Mapping[str, Material], training: Mapping[str, Material]
    ) -> dict[str, Material]:
        """The columns that are drawn."""
        step = self.step
        source = self.dataset.source.name
        if self.partly:
            if step.columns is None:
                names = self.dataset.schema.quasi
            else:
                names = tuple(step.columns)
            if not names:
                raise SchemaError(
                    "synthesize: risky_below needs quasi-identifiers, and no column has that "
                    "role; give it to one"
                )
            require_columns(self.dataset, names, step.name)
            return {name: training[name] for name in names}
        if step.method == "copula":
            require_numbers(training)
        targets, self.constant = require_drawable(training, source)
        if self.constant:
            hold = "hold" if len(self.constant) > 1 else "holds"
            self.warnings.append(
                f"synthesize: {', '.join(self.constant)} {hold} one value only, which is copied"
            )
        if not targets:
            raise SchemaError(
                f"synthesize: all columns of {source} are constant; there is nothing to learn"
            )
        return targets

    def _totals(self) -> dict[str, float]:
        """What survey weights add up to that are multiplied so that they do again: not those that
        rules or codes are about.
        """
        weights = self.dataset.schema.columns(Role.WEIGHT)
        excluded = {*columns_in(parse_rules(self.step.rules)), *self.step.special}
        numbers = []
        for name in weights:
            if self.dataset.column(name).dtype.is_numeric() and name not in excluded:
                numbers.append(name)
        if unscaled := [name for name in weights if name not in numbers]:
            self.warnings.append(
                f"synthesize: {', '.join(unscaled)} is synthesised unscaled, since rules or "
                "special codes use it, or it holds no numbers; rescale it before totals of the "
                "population are estimated"
            )
        # Of the whole table, those set aside included: totals are those of the population.
        return {name: float(self.dataset.column(name).sum()) for name in numbers}

    def _order(self, targets: Mapping[str, Material], rules: Sequence[RowRule]) -> tuple[str, ...]:
        step = self.step
        if step.order is not None:
            return require_order(step.order, targets, rules, step.predictors)
        return chosen_order(
            targets, self.dataset.schema.columns(Role.STRATUM), rules, step.predictors
        )

    # What comes out.

    def _streams(self, part: str) -> Callable[[str], np.random.Generator]:
        return lambda name: self.goal.stream(f"synthesize, {part}, column {name}")

    def _strata(self, ground: Groundwork) -> list[Rows]:
        if self.step.within is None:
            names = self.dataset.schema.columns(Role.STRATUM)
        else:
            names = tuple(self.step.within)
        if not names:
            return [self.rows]
        strata = strata_of(self.dataset, names)[0][self.canonical]
        if self.units is not None:
            # Pairs of unit and stratum beyond one for each unit: such units lie in several strata.
            pairs = np.stack([self.units, strata])
            torn = len(np.unique(pairs, axis=1).T) - len(np.unique(self.units))
            if torn:
                raise SchemaError(
                    "synthesize: some households are in more than one stratum; choose strata that "
                    "keep them whole"
                )
        parts, pooled = strata_apart(strata, self.rows, ground.min_leaf)
        if pooled:
            self.warnings.append(
                f"synthesize: {pooled:,} strata with fewer than {10 * ground.min_leaf} records are"
                " learnt together"
            )
        return parts

    def _fully(self, ground: Groundwork) -> Synthetic:
        step = self.step
        copies = fully_drawn(
            ground,
            self._strata(ground),
            self.units,
            size=step.records,
            copies=step.copies,
            streams=self._streams,
        )
        totals = self._totals()
        tables = [with_totals(self._table(copy), totals) for copy in copies]
        whole = sum(copy.whole for copy in copies)
        if whole:
            self.warnings.append(
                f"synthesize: {whole:,} household(s) were copied from the table, because no "
                "synthetic one satisfied the rules"
            )
            self.owner["whole_households"] = whole
        self._tell(ground, [copy.columns for copy in copies])
        actions = dict.fromkeys(
            tables[0].columns, f"synthetic ({'trees' if step.method == 'trees' else 'a copula'})"
        )
        actions |= dict.fromkeys(self.constant, "constant, copied")
        actions |= dict.fromkeys(self.dataset.schema.units, "numbered anew")
        # No drawn record stands for anybody.
        nobody = np.full(sum(table.height for table in tables), NOBODY)
        return self._build_plan(tables, nobody, actions, ground, totals)

    def _table(self, copy: Copy) -> pl.DataFrame:
        """One copy as a table with the columns of the original, in their order."""
        height = len(next(iter(copy.columns.values())).donors)
        unit = self.dataset.schema.units
        synthetic_names = set(self._names())
        columns = []
        for name in self.dataset.columns:
            column = self.dataset.column(name)
            if name in unit:
                if copy.units is None:
                    numbers = np.arange(height)
                else:
                    numbers = copy.units
                columns.append(identifiers(column, numbers + 1))
            elif name in copy.columns:
                columns.append(self._cells(name, copy.columns[name]))
            elif name in synthetic_names:
                example_row = self.canonical[self.rows[0]]
                columns.append(column.gather(np.full(height, example_row)))
        return pl.DataFrame(columns)

    def _cells(self, name: str, draw: DrawnColumn) -> pl.Series:
        return written_back(
            self.dataset.column(name), self.canonical[draw.donors], draw.values
        ).alias(name)

    def _partly(self, ground: Groundwork) -> Synthetic:
        step = self.step
        at_risk = self._at_risk()
        draws = partly_drawn(
            ground, self.rows, at_risk, self.units, self._streams("partly"), not_self=step.not_self
        )
        self._tell(ground, [draws])
        retained_rows = np.sort(self.canonical[self.rows])
        new_positions = np.full(len(self.canonical), -1)
        new_positions[retained_rows] = np.arange(len(retained_rows))
        where = new_positions[self.canonical[self.rows[at_risk]]]
        columns = {n: self.dataset.column(n).gather(retained_rows) for n in self.dataset.columns}
        columns |= {
            name: put_cells(columns[name], where, self._cells(name, draw))
            for name, draw in draws.items()
        }
        share = ""
        if step.risky_below is not None:
            share = f" in records whose quasi-identifiers fewer than {step.risky_below} share"
        actions = dict.fromkeys(ground.order, f"synthetic data (CART){share}")
        self.owner["replaced_records"] = len(at_risk)
        totals = self._totals() if self.held.any() else {}
        drawn_table = with_totals(pl.DataFrame(columns), totals)
        return self._build_plan([drawn_table], retained_rows, actions, ground, totals)

    def _at_risk(self) -> Rows:
        """The places, among the records learnt from, of those whose values are replaced."""
        if self.step.risky_below is None:
            return np.arange(len(self.rows))
        classes, ids = count_rows(self.dataset)
        risky = classes.sizes[ids][self.canonical[self.rows]] < self.step.risky_below
        if self.units is not None:  # what members share must stay shared: all of them, or none
            risky = np.isin(self.units[self.rows], self.units[self.rows][risky])
        rows_at_risk = np.flatnonzero(risky)
        if not len(rows_at_risk):
            self.warnings.append(
                "synthesize: no record is at risk by risky_below; nothing is replaced"
            )
        return rows_at_risk

    def _tell(self, ground: Groundwork, copies: Sequence[Mapping[str, DrawnColumn]]) -> None:
        summary = summarize_draws(ground, self.rows, copies)
        self.warnings += summary.warnings
        self.owner |= summary.owner
        self.kept_rules = summary.kept_rules

    def _build_plan(
        self,
        tables: Sequence[pl.DataFrame],
        origin: Rows,
        actions: Mapping[str, str],
        ground: Groundwork,
        totals: Mapping[str, float],
    ) -> Synthetic:
        step = self.step
        all_actions = dict(actions) | ({COPY: "numbers the copies"} if step.copies > 1 else {})
        for name in totals:
            all_actions[name] = (
                f"{all_actions.get(name, 'kept')}; multiplied, so that the sum equals that of the "
                "whole table"
            )
        public: Document = {
            "method": step.method,
            "synthetic": "partly" if self.partly else "fully",
            "copies": step.copies,
        }
        if step.copies > 1:
            public["copies_are_numbered_in"] = COPY
        if step.method == "copula":
            public["marginals"] = MARGINALS[step.marginals]
        if self.kept_rules:
            public["rules_that_hold"] = self.kept_rules
        if step.copies > 1:
            numbered = {COPY: Attribute((Role.KEEP,), Kind.NUMERIC)}
        else:
            numbered = {}
        if step.aside:
            held_out = np.sort(self.canonical[self.held])
        else:
            held_out = None
        return Synthetic(
            actions=all_actions,
            attributes=numbered,
            preserved=tuple(weights_kept(tables, totals)),
            warnings=tuple(self.warnings),
            public={"synthesis": public},
            owner=self.owner,
            table=stack_copies(tables, self.dataset.schema.units),
            origin=origin,
            held_out=held_out,
        )
