"""Composition: two releases that share people, each safe, together not."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.attack import Attack, Finding, Learns, NothingToAttack
from sfumato.core.fields import Document
from sfumato.core.parameters import parameters
from sfumato.core.schema import Role
from sfumato.errors import SchemaError
from sfumato.methods.attacks.crowd import crowd_of, no_target, targets, true_labels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.pair import TablePair
    from sfumato.core.table import Table

    Ints = NDArray[np.int64]


@parameters
class Composition(Attack):
    r"""The share of people in several releases whose sensitive value follows from all of them
    together.

    Whoever knows that a person is in all releases intersects the values of that person's classes:

    .. math:: P(s) \propto \prod_r q_r(s) \quad\text{or}\quad \prod_r q_r(s) \Big/ p(s)^{R-1}

    with :math:`q_r` the distribution in the class of release *r* and *p* the one of the first
    release's whole table (``divide=True``, the form that corrects for values which are frequent
    anyway). A person is a victim when the posterior of the true value reaches ``confidence``. Needs
    the same sensitive column, under the same labels, in all releases.

    The releases may be of one table, or of different tables that share people (a patient of two
    doctors). Then ``people`` names the columns that tell in both originals who is who; without it
    direct identifiers that both have are taken, else all quasi-identifiers that both have. Somebody
    whom these columns do not name uniquely in each table is left out, and counted. In another table
    the intruder knows that table's quasi-identifiers.
    Reference: Ganta, Kasiviswanathan & Smith 2008, doi:10.1145/1401890.1401926.
    """

    confidence: Annotated[
        float, Field(gt=0, le=1, description="posterior from which a value is certain")
    ] = 1.0
    divide: Annotated[
        bool, Field(description="divide by how frequent a value is in the whole table")
    ] = False

    people: Annotated[
        tuple[str, ...],
        Field(
            description=(
                "columns that identify the same people in originals of different tables; none: "
                "identifiers, then quasi-identifiers"
            )
        ),
    ] = ()

    name: ClassVar[str] = "composition"
    learns: ClassVar[Learns] = "attribute"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = "A sensitive value follows from several releases together"
    remembers: ClassVar[bool] = True
    tried_by: ClassVar[tuple[str, ...]] = ("worst case",)

    def applies(self, scene: Scene) -> str | None:
        """None when there are several releases with a sensitive column in common."""
        if not scene.others:
            return NothingToAttack("there is no other release of these people")
        common = []
        for c in targets(scene):
            if all(c in release.released.columns for release in scene.others):
                common.append(c)
        reason = no_target(scene)
        if reason is not None:
            return reason
        if not common:
            return NothingToAttack("the releases have no sensitive column in common")
        try:
            shared = [common_people(scene.pair, release, self.people) for release in scene.others]
        except SchemaError as error:
            return str(error)
        if not all(len(people.own_rows) for people in shared):
            return NothingToAttack("no person is in all tables")
        return None

    def attack(self, scene: Scene) -> Finding:
        """Intersect the classes of every person that is in all releases."""
        common = []
        for c in targets(scene):
            if all(c in release.released.columns for release in scene.others):
                common.append(c)
        findings = [self._attack_column(scene, column) for column in common]
        return max(findings, key=lambda finding: finding.value)

    def _attack_column(self, scene: Scene, column: str) -> Finding:
        rows, posteriors = self.posteriors(scene, column)
        pair = scene.pair
        under = np.full(len(pair.original), -1, dtype=np.int64)
        under[pair.rows] = true_labels(pair, column)
        if len(rows):
            true = posteriors[np.arange(len(rows)), under[rows]]
        else:
            true = np.zeros(0)
        # A true value under no released label has −1, which looked up the last label above.
        hit = (true >= self.confidence - 1e-12) & (under[rows] >= 0)
        message = (
            f"{int(hit.sum()):,} of {len(rows):,} people in all {1 + len(scene.others)} releases "
            f"reveal their {column}"
        )
        details: Document = {
            "people": len(rows),
            "values": len(pair.reading(column).labels),
            "column": column,
        }
        unclear = sum(
            common_people(pair, release, self.people).ambiguous for release in scene.others
        )
        if unclear:
            details["not_named_uniquely"] = unclear
        return Finding(
            self.name,
            _share_of_people(pair, rows, hit),
            message,
            victims=rows[hit],
            details=details,
        )

    def posteriors(self, scene: Scene, column: str) -> tuple[Ints, NDArray[np.float64]]:
        """The rows of the first original whose people are in all releases, and per row the
        posterior of each label of the first release.
        """
        pair = scene.pair
        rows = np.unique(pair.rows)
        matches = [common_people(pair, release, self.people) for release in scene.others]
        for match, release in zip(matches, scene.others, strict=True):
            # Who is in both originals and was released from the other one.
            rows = np.intersect1d(rows, match.own_rows[np.isin(match.other_rows, release.rows)])
        labels = tuple(pair.reading(column).labels)
        product = _distributions(pair, scene.intruder.knows, column, rows, labels)
        for match, release in zip(matches, scene.others, strict=True):
            knows = scene.intruder.knows if match.same_table else release.quasi
            product *= _distributions(release, knows, column, match.rows_of(rows), labels)
        if self.divide:
            share = crowd_of(pair, (), column).totals / len(pair.released)
            # Every class distribution holds the prior once: of R factors all but one are taken out.
            product /= share ** len(scene.others)
        total = product.sum(axis=1, keepdims=True)
        # Classes that have no value in common leave nothing: no posterior, and no victim.
        return rows, np.divide(product, total, out=np.zeros_like(product), where=total > 0)


def _share_of_people(pair: TablePair, rows: Ints, hit: NDArray[np.bool_]) -> float:
    """The share of the people of some original rows of whom one was hit."""
    people = rows if pair.persons is None else pair.persons[rows]
    return len(np.unique(people[hit])) / max(1, len(np.unique(people)))


@dataclasses.dataclass(frozen=True, eq=False)
class CommonPeople:
    """People who are in two originals: row ``here[i]`` of the first and ``there[i]`` of the second
    are one person's; ``own_rows`` is sorted.
    """

    own_rows: Ints
    other_rows: Ints
    same_table: bool = False
    ambiguous: int = 0
    """Rows of the first table whose person is not named uniquely in both."""

    def rows_of(self, rows: Ints) -> Ints:
        """The rows of the second table of the people of some rows of the first, all of whom are in
        both.
        """
        return self.other_rows[np.searchsorted(self.own_rows, rows)]


def common_people(
    pair: TablePair, second_pair: TablePair, columns: Sequence[str] = ()
) -> CommonPeople:
    """Who is in the originals of two releases: row for row where these are one table, else by
    columns that name people.
    """
    key = ("common people", id(second_pair), tuple(columns))
    if key not in pair.memo:
        pair.memo[key] = _common_people(pair.original, second_pair.original, columns)
    people: CommonPeople = pair.memo[key]
    return people


def _common_people(first_table: Table, second_table: Table, columns: Sequence[str]) -> CommonPeople:
    if not columns and _same_table(first_table, second_table):
        rows = np.arange(len(first_table))
        return CommonPeople(rows, rows, same_table=True)
    names = list(columns) or _naming_columns(first_table, second_table)
    first_table.require(names)
    second_table.require(names)
    first, second = (_named_people(table, names) for table in (first_table, second_table))
    is_alone = pl.col("times") == 1
    matches = first.filter(is_alone).join(second.filter(is_alone), on="person").sort("row")
    candidates = first.join(second, on="person", how="semi")["times"].sum()
    return CommonPeople(
        matches["row"].to_numpy(),
        matches["row_right"].to_numpy(),
        ambiguous=int(candidates) - len(matches),
    )


def _same_table(first_table: Table, second_table: Table) -> bool:
    """Whether two originals are one table: as many rows, and the same values in all columns that
    both have.
    """
    if first_table.frame is second_table.frame:
        return True
    if len(first_table) != len(second_table):
        return False
    shared = [name for name in first_table.columns if name in second_table.columns]
    return bool(shared) and all(
        _text_of(first_table, name).equals(_text_of(second_table, name), null_equal=True)
        for name in shared
    )


def _text_of(table: Table, name: str) -> pl.Series:
    """A column as the text of its labels, so that 7 and 7.0 are one value."""
    return table.encoded(name).text(name)


def _naming_columns(first_table: Table, second_table: Table) -> list[str]:
    """The columns by which people are recognised in two tables: identifiers that both have, else
    quasi-identifiers.
    """
    for role in (Role.DROP, Role.QUASI):
        shared = []
        for name in first_table.schema.columns(role):
            if name in second_table.schema.columns(role):
                shared.append(name)
        if shared:
            return shared
    raise SchemaError(
        "the releases are of different tables that share neither an identifier nor a "
        "quasi-identifier; name the columns that identify people in both: composition: {people: "
        "[patient_id]}"
    )


def _named_people(table: Table, names: Sequence[str]) -> pl.DataFrame:
    """One row a person: a text of all columns that name people, a row of that person, and how many
    rows there are. Nobody is named by a gap.
    """
    texts = pl.DataFrame([_text_of(table, name).alias(name) for name in names])
    rows = texts.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64)).drop_nulls()
    person = pl.concat_list(names).alias("person")
    return rows.group_by(person).agg(pl.col("row").first(), pl.len().alias("times"))


def _distributions(
    pair: TablePair,
    knows: tuple[str, ...],
    column: str,
    rows: Ints,
    labels: tuple[str | None, ...],
) -> NDArray[np.float64]:
    """Per original row the distribution of the column in its class, under the labels of the first
    release.
    """
    crowd = crowd_of(pair, tuple(k for k in knows if k in pair.released.columns), column)
    label_codes = {label: i for i, label in enumerate(labels)}
    # −1: labels that only the other release has; the first cannot confirm them.
    codes = np.array([label_codes.get(label, -1) for label in crowd.labels], dtype=np.int64)
    table = np.zeros((len(crowd.sizes), len(labels)))
    in_labels = codes[crowd.pair_values] >= 0
    table[crowd.pair_classes[in_labels], codes[crowd.pair_values[in_labels]]] = crowd.shares[
        in_labels
    ]
    class_of = np.zeros(len(pair.original), dtype=np.int64)
    class_of[pair.rows] = crowd.classes
    return table[class_of[rows]]
