"""Personal privacy: everybody's values become at least as coarse as that person asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.classes import ladder_of, remap_to
from sfumato.core.encoding import Encoded
from sfumato.core.hierarchy import is_fixed
from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.schema import Attribute, Kind, Schema
from sfumato.core.step import Account, Declaration, Effect, Masked, Step
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.steps.recoding.safe_k_anonymization import fixed_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.step import Goal
    from sfumato.core.table import Table

Level = Annotated[int, Field(ge=0)]
Levels = dict[str, Level]


@parameters
class PersonalLevels(Step):
    r"""Raise each value to the lowest level that the policy of its row allows.

    A value *v* of a row under policy *p* is released as its generalization at level
    :math:`\max(L_{\text{everybody}}, L_p)` of the column's hierarchy. ``levels`` are for everybody;
    ``own`` says per policy what it asks for besides, and ``by`` is the column that names each row's
    policy (role drop: it is dropped at the end). A column may then hold values of several levels;
    a later recoding leaves those as they are that already are coarser.

    No property of the table is looked at, so this step guarantees nothing by itself: it comes
    before the steps that reach a promise. After them it could break it, since a value that is
    raised alone leaves its class. Missing values stay missing below the top. A policy that is not
    listed, or missing, is refused; where a step of the recipe accounts for an ε, a refusal would
    tell of a record, and such a row is raised to the highest level that any policy asks for. Rows
    are recoded in one pass per column, however many policies there are.

    Reference: Gerl, Bennani, Kosch & Brunie 2018, doi:10.1007/978-3-662-57932-9_2, for personal
    privacy in LPL.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> from sfumato.core.step import Account, Declaration, Effect, Goal
    >>> from sfumato.methods.hierarchies import mask_right
    >>> table = Table(pl.DataFrame({"policy": ["a", "b"], "zip": ["53711", "53712"]})).with_roles(
    ...     drop="policy", quasi="zip"
    ... )
    >>> table = table.with_hierarchies(zip=mask_right(5))
    >>> step = PersonalLevels(own={"a": {}, "b": {"zip": 2}}, by="policy")
    >>> step.apply(table, step.plan(table, Goal())).column("zip").to_list()
    ['53711', '537**']
    """

    levels: Annotated[
        Levels, COLUMNS, Field(description="column → lowest level, for everybody")
    ] = Field(default_factory=dict)
    own: Annotated[dict[str, Levels], Field(description="policy → column → lowest level")] = Field(
        default_factory=dict
    )
    by: Annotated[str | None, COLUMNS, Field(description="column that names each row's policy")] = (
        None
    )

    name: ClassVar[str] = "personal_levels"
    accounting: ClassVar[Declaration] = Declaration(
        Effect.DATA_INDEPENDENT,
        "with hierarchies that are fixed before the data are seen (not frequency)",
    )
    secret: ClassVar[tuple[str, ...]] = ("own",)

    @property
    def coarsens(self) -> bool:
        """Cells stand under nodes of their own hierarchy."""
        return True

    def __post_init__(self) -> None:
        if bool(self.own) != (self.by is not None):
            raise ParameterError(
                "PersonalLevels: own levels need the column that names the policy (by), and by "
                "needs own; give both"
            )
        if self.by is not None and self.by in self._columns():
            raise ParameterError(
                "PersonalLevels: the column that names the policy cannot be generalised "
                "itself; name other columns"
            )

    def _columns(self) -> list[str]:
        raised: set[str] = set()
        for wish in (self.levels, *self.own.values()):
            raised.update(c for c, level in wish.items() if level)
        return sorted(raised)

    @property
    def claims(self) -> tuple[str, ...]:
        """Direct identifiers that must still be there when this step runs."""
        if self.by is None:
            return ()
        return (self.by,)

    def account(self, schema: Schema) -> Account:
        """A level for every value by itself, where no hierarchy is made from the values that
        occur.
        """
        unfixed = []
        for c in self._columns():
            if c not in schema.attributes or not is_fixed(schema[c].hierarchy):
                unfixed.append(c)
        if unfixed:
            return Account(
                why=f"the hierarchy of {', '.join(unfixed[:5])} is made from the values that occur"
            )
        # The policy of a record shows in how coarse its other columns are.
        return Account(Effect.DATA_INDEPENDENT, sources=self.claims)

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Recode every column in question, row by row but in one pass."""
        dataset.require([*self._columns(), *self.claims])
        if self.by is None:
            policies = None
        else:
            policies = self._policies(dataset, fixed=goal.fixed)
        columns: dict[str, pl.Series] = {}
        attributes: dict[str, Attribute] = {}
        for name in self._columns():
            raised = self._labelled if goal.fixed else self._raised
            columns[name] = raised(dataset, name, policies)
            if name in dataset.schema.attributes:
                attributes[name] = _after(dataset.schema[name])
        levels_of_everybody = {c: v for c, v in self.levels.items() if v}
        return Masked(
            actions=dict.fromkeys(columns, "generalised to the level that each person asked for"),
            columns=columns,
            attributes=attributes,
            public={
                "personal_levels": {
                    "everybody": levels_of_everybody,
                    "policies": len(self.own),
                }
            },
        )

    def apply(self, dataset: Table, plan: Any) -> Table:
        """Put the coarser values in."""
        table: Table = plan.applied(dataset)
        return table

    def _policies(self, dataset: Table, *, fixed: bool) -> Encoded:
        encoded = dataset.encoded(str(self.by))
        if fixed:  # an error would tell of a record
            return encoded
        unknown = sum(
            int(count)
            for label, count in zip(encoded.labels, encoded.counts, strict=True)
            if label not in self.own
        )
        if unknown:
            raise SchemaError(
                f"personal_levels: {unknown:,} of {len(dataset):,} rows have no policy that is "
                "listed under own; list it, or remove these rows with the step authorised"
            )
        return encoded

    def _raised(self, dataset: Table, name: str, policies: Encoded | None) -> pl.Series:
        encoded = dataset.encoded(name)
        ladder = ladder_of(dataset, name, encoded)
        levels = self._levels_of_policies(name, policies)
        if int(levels.max(initial=0)) > ladder.top:
            raise SchemaError(
                f"personal_levels: level {int(levels.max())} of column {name!r} is asked for, but "
                f"its hierarchy ends at level {ladder.top}; choose a lower one"
            )
        used = np.unique(levels)
        labels: list[str | None] = []
        codes = np.zeros((len(used), len(encoded.labels)), dtype=np.int64)
        # All levels that occur side by side: row i of ``codes`` leads from a code to a label of
        # level i.
        for i, level in enumerate(used.tolist()):
            codes[i] = remap_to(ladder, encoded, level) + len(labels)
            labels += ladder.labels[level]
        position = np.searchsorted(used, levels)
        if policies is not None:
            rows = position[policies.codes]
        else:
            rows = np.full(len(dataset), position[0])
        labels_of_rows = pl.Series(name, labels, dtype=pl.String)
        return labels_of_rows.gather(codes[rows, encoded.codes]).alias(name)

    def _labelled(self, dataset: Table, name: str, policies: Encoded | None) -> pl.Series:
        """The same where no record may decide about others: every value is labelled by itself."""
        encoded = dataset.encoded(name)
        hierarchy = dataset.schema[name].hierarchy
        if hierarchy is None:
            raise SchemaError(f"personal_levels: column {name!r} has no hierarchy; give it one")
        levels = self._levels_of_policies(name, policies)
        possible = {wish.get(name, 0) for wish in (self.levels, *self.own.values())}
        labels = {}
        for level in sorted({*possible, *levels.tolist()}):
            labels[level] = fixed_labels(
                hierarchy, encoded.labels, level, f"personal_levels: column {name!r}"
            )
        codes = encoded.codes
        count = len(encoded.labels)
        if policies is not None:
            rows = levels[policies.codes]
        else:
            rows = np.full(len(dataset), levels[0])
        position = {level: i for i, level in enumerate(labels)}
        # Labels of all levels one behind the other: level · count + code.
        every = pl.Series(
            name, [text for level in labels for text in labels[level]], dtype=pl.String
        )
        level_positions = np.array([position[level] for level in rows.tolist()], dtype=np.int64)
        return every.gather(level_positions * count + codes)

    def _levels_of_policies(self, name: str, policies: Encoded | None) -> NDArray[np.int64]:
        """The level of a column per policy that occurs, or the one for everybody; a policy that is
        not listed asks for most.
        """
        minimum = self.levels.get(name, 0)
        if policies is None:
            return np.array([minimum], dtype=np.int64)
        strictest = {name: max(wish.get(name, 0) for wish in self.own.values())}
        own: list[Mapping[str, int]] = [
            self.own.get(str(label), strictest) for label in policies.labels
        ]
        return np.array([max(minimum, wish.get(name, 0)) for wish in own], dtype=np.int64)


def _after(attribute: Attribute) -> Attribute:
    """A column of ranges can be ordered, not computed with."""
    ordered = attribute.kind in (Kind.NUMERIC, Kind.DATE, Kind.ORDINAL)
    return dataclasses.replace(attribute, kind=Kind.ORDINAL if ordered else Kind.NOMINAL)
