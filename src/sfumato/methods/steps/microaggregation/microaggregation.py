"""Microaggregation: small groups of records that lie close together, each released as its mean."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.core.step import Centres, Clue, ColumnStep, Goal, Masked, Runs
from sfumato.methods.steps.masking.masking_fields import Names, Strata, require_table
from sfumato.methods.steps.microaggregation.centres import centres
from sfumato.methods.steps.microaggregation.group_values import without_hierarchies
from sfumato.methods.steps.microaggregation.grouped_table import GroupedTable, table_of
from sfumato.methods.steps.microaggregation.methods import Method, grouping, require_options
from sfumato.methods.steps.microaggregation.preserved_groups import preserved_facts
from sfumato.methods.steps.step_fields import GroupSize

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from sfumato.core.table import Table
    from sfumato.methods.steps.microaggregation.inputs import FormedGroups

    Labels = NDArray[np.int64]

INDIVIDUAL = (
    "individual ranking protects little: columns averaged one by one are re-identified by simple "
    "record linkage"
)


@parameters
class Microaggregate(ColumnStep):
    r"""Put records into groups of at least k that lie close together, and release each as the mean
    of its group.

    Groups are chosen so that the squared error :math:`SSE = \sum_g \sum_{i \in g} |x_i - \bar
    x_g|^2` is small; as a share of the total :math:`SST = \sum_i |x_i - \bar x|^2` it is the
    information lost, 0 to 1. Distances are taken after ``standardize`` (z-scores with the
    population standard deviation over the whole table), values are released in their own units.

    ===================  ==============================================================  ===========
    method               groups                                                          work
    ===================  ==============================================================  ===========
    single_axis          k consecutive records by the column ``axis``; the last takes    n log n
                         the rest
    z_score_sum          the same by the sum of z-scores                                 n log n
    principal_component  the same by the first principal component                       n log n
    individual_ranking   each column by itself: **little protection**, the plan warns    n log n
    optimal              least SSE, one column: shortest path over runs of k to 2k − 1   k n
    projected_optimal    best runs in the order of the first principal component         k n
    mdav                 textbook MDAV: k records around the farthest ones               n²/k
    v_mdav               MDAV with k to 2k − 1 records, where ``gamma`` (0.2) lets one   n²
                         more in
    partitioned          MDAV in blocks of at most ``block`` (20 000) records, for       n · block/k
                         large tables
    k_ward               Ward's joining, never of two groups with k each; larger ones    n²
                         again
    generalized_k_ward   the same with ⌈``mixability`` · k⌉ instead of k                 n²
    genetic              MDAV, then evolved in macro-clusters of some dozens of records  n
    refined              MDAV, then move, swap, dissolve, create while the SSE falls     n²/k
    best                 refined, then simulated annealing while ``effort`` or           as given
                         ``seconds`` last
    ===================  ==============================================================  ===========

    ``genetic``, ``refined`` and ``best`` are never worse than ``mdav``. ``effort`` counts the
    changes that ``best`` tries (default 30 million); ``seconds`` stands for as many as one core
    tries in them, by a fixed rate for the table's dimensions and k, so that neither the machine nor
    its load changes the groups. Equal distances are decided by a canonical order of the records, so
    that neither their order nor the kind of frame matters. ``mdav`` is exact whatever the size of
    the table: a million records of one column take n log n (two seconds), of two or three n³ᐟ²/k or
    n⁵ᐟ³/k. Of more columns and some 10⁵ records take ``partitioned``, which loses a few percent of
    SSE.

    Numbers and dates are released as means (dates as whole days where all are), ordered columns as
    the lower median, nominal ones by ``nominal``: with ``taxonomy``, as the lowest node of the
    column's hierarchy above all values of the group, where it has a hierarchy; otherwise as the
    mode. See :mod:`sfumato.methods.steps.microaggregation.inputs` for their distances. The mode is
    a value of some of the group's people: it protects less than a mean does. With survey weights
    centres are weighted, so that weighted means stay; groups are formed without them. Whole numbers
    become fractions where means are.

    Groups are formed within strata (``within``; the columns with role stratum when not said), and a
    stratum with fewer than k records is refused. Missing values are refused, or with ``pattern``
    records that lack the same columns are grouped among themselves and lack them still, or with
    ``leave`` records that lack any are left as they are: unprotected, as the plan warns.

    Applied to all quasi-identifiers together, the release is k-anonymous. Applied to some of them
    it is not, and groups of several subsets can be intersected: the plan warns. What hierarchies
    say about numbers does not hold for means, so masked numbers, dates and taxonomies have none any
    more.

    MDAV here has groups of k while 3k or more are left, then one of k and the rest, as
    Domingo-Ferrer & Torra have it; sdcMicro's differs in the rest. V-MDAV's records that are left
    over join the nearest group, which may so exceed 2k − 1. The generalized k-Ward follows a
    description without its paper; mixability 1 is k-Ward.

    References: Domingo-Ferrer & Mateo-Sanz 2002, doi:10.1109/69.979982; Hansen & Mukherjee 2003,
    doi:10.1109/TKDE.2003.1209020; Domingo-Ferrer & Torra 2005, doi:10.1007/s10618-005-0007-5;
    Solanas & Martínez-Ballesté 2006, *V-MDAV: a multivariate microaggregation with variable group
    size*.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> table = Table(pl.DataFrame({"cost": [2, 12, 16, 25, 29, 45]}))
    >>> plan = Microaggregate(["cost"], 2).plan(table, Goal())
    >>> plan.columns["cost"].to_list(), round(plan.owner["sse_over_sst"], 6)
    ([7.0, 7.0, 20.5, 20.5, 37.0, 37.0], 0.194828)
    """

    columns: Annotated[Names, Field(description="columns that are averaged together")]
    k: GroupSize
    method: Annotated[Method, Field(description="how groups are found")] = "mdav"
    within: Strata = None
    standardize: Annotated[
        bool, Field(description="compare z-scores instead of the numbers themselves")
    ] = True
    nominal: Annotated[
        Literal["taxonomy", "mode"], Field(description="what nominal values are released as")
    ] = "taxonomy"
    missing: Annotated[
        Literal["refuse", "pattern", "leave"],
        Field(description="what to do with records that lack values"),
    ] = "refuse"
    axis: Annotated[
        str | None, COLUMNS, Field(description="single_axis: the column that orders the records")
    ] = None
    gamma: Annotated[
        float | None,
        Field(ge=0, allow_inf_nan=False, description="v_mdav: 0.2 scattered data, 1.1 clustered"),
    ] = None
    mixability: Annotated[
        float | None,
        Field(gt=0, le=2, description="generalized_k_ward: share of k that keeps groups apart"),
    ] = None
    block: Annotated[
        int | None, Field(ge=100, description="partitioned: most records of a block")
    ] = None
    effort: Annotated[int | None, Field(ge=1, description="best: changes to try")] = None
    seconds: Annotated[
        float | None,
        Field(
            gt=0,
            allow_inf_nan=False,
            description="best: work as seconds of one core, instead of effort",
        ),
    ] = None

    name: ClassVar[str] = "microaggregate"

    def __post_init__(self) -> None:
        require_options(self)

    @property
    def clue(self) -> Clue:
        """Runs of neighbours where columns are grouped one by one, otherwise the centres of
        groups.
        """
        alone = self.method == "individual_ranking" or len(self.columns) == 1
        if alone:
            return Runs(bool(self.within))
        return Centres(bool(self.within))

    def plan(self, dataset: Table, goal: Goal) -> Masked:
        """Find the groups and their means."""
        required = [*self.columns, *(self.within or ()), *([self.axis] if self.axis else ())]
        require_table(dataset, self.name, required)
        table = table_of(
            dataset,
            self.columns,
            k=self.k,
            within=self.within,
            standardize=self.standardize,
            nominal=self.nominal,
            missing=self.missing,
        )
        groupings = grouping(self, table, goal)
        groups = _with_gaps(table, groupings)
        columns = {name: _release_column(table, name, groups[name]) for name in self.columns}
        facts = preserved_facts(table, columns, groups)
        columns_in_order = {
            name: _in_table_order(column, table.order) for name, column in columns.items()
        }
        return Masked(
            actions=dict.fromkeys(
                self.columns, f"averaged over groups of at least {self.k} ({self.method})"
            ),
            columns=columns_in_order,
            attributes=self._attributes(dataset.schema),
            preserved=facts.preserved,
            warnings=tuple(self._warnings(dataset.schema, table)),
            public={"method": self.method, "k": self.k, "groups": facts.groups},
            owner={**facts.owner, **next(iter(groupings.values())).notes},
        )

    def apply(self, dataset: Table, plan: Masked) -> Table:
        """Release the means."""
        return plan.applied(dataset)

    def locked(self, plan: Masked) -> Microaggregate:
        """The step that makes the same plan again: with the effort that was reached where seconds
        are given.
        """
        if plan.owner.get("stopped_by") != "seconds":
            return self
        return dataclasses.replace(self, effort=plan.owner["effort"], seconds=None)

    def released_schema(self, schema: Schema, columns: Sequence[str]) -> Schema:
        """What a released table is, when ``schema`` says what the original is."""
        return Schema({**schema.attributes, **self._attributes(schema)})

    def _attributes(self, schema: Schema) -> dict[str, Attribute]:
        """The columns whose hierarchies do not list what is released."""
        kinds = [Kind.NUMERIC, Kind.DATE]
        if self.nominal == "taxonomy":
            kinds += [Kind.NOMINAL, Kind.TEXT]
        return without_hierarchies(schema, self.columns, kinds)

    def _warnings(self, schema: Schema, table: GroupedTable) -> Iterator[str]:
        if self.method == "individual_ranking":
            yield INDIVIDUAL
        strata = schema.columns(Role.STRATUM) if self.within is None else self.within
        unaveraged = [name for name in schema.quasi if name not in (*self.columns, *strata)]
        if unaveraged and set(schema.quasi) & set(self.columns):
            yield (
                f"only some of the quasi-identifiers are averaged together, {len(unaveraged)} are "
                f"not: the table is not {self.k}-anonymous, and groups of different subsets can be "
                "intersected"
            )
        if table.left_out:
            yield (
                f"{table.left_out:,} record(s) with missing values are unchanged and not protected"
            )
        if schema.person is not None:
            yield "groups count records, not persons: one person may fill a group"


def _with_gaps(table: GroupedTable, groupings: Mapping[str, FormedGroups]) -> dict[str, Labels]:
    """By column the group of every record; −1 for those that are left out."""
    groups_of: dict[int, Labels] = {}
    for column_grouping in groupings.values():
        if id(column_grouping) not in groups_of:  # most methods group all columns at once
            groups_of[id(column_grouping)] = np.full(len(table.order), -1, dtype=np.int64)
            groups_of[id(column_grouping)][table.rows] = column_grouping.groups
    return {name: groups_of[id(column_grouping)] for name, column_grouping in groupings.items()}


def _release_column(table: GroupedTable, name: str, groups: Labels) -> pl.Series:
    return centres(
        table.dataset,
        name,
        table.forms[name],
        line=table.lines.get(name),
        groups=groups,
        weights=table.weights,
    )


def _in_table_order(column: pl.Series, order: Labels) -> pl.Series:
    return column.gather(np.argsort(order))
