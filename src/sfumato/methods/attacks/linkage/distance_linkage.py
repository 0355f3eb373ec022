"""Distance-based record linkage: every record is linked to the nearest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from sfumato.core.attack import Attack, Finding
from sfumato.core.fields import Document
from sfumato.core.parameters import COLUMNS, parameters
from sfumato.core.words import percent
from sfumato.errors import ParameterError
from sfumato.methods.attacks.linkage.comparable_columns import (
    only_generalised,
    refusal,
    require_linkable,
)
from sfumato.methods.attacks.linkage.comparison_arrays import Arrays, arrays_of
from sfumato.methods.attacks.linkage.distance_rules import (
    Ranges,
    Standard,
    Suppressed,
    distance_rule,
)
from sfumato.methods.attacks.linkage.files import Files, files_of
from sfumato.methods.attacks.linkage.implied_columns import implied_links
from sfumato.methods.attacks.linkage.posteriors import nearest_posterior
from sfumato.methods.attacks.linkage.search import Credits, link_nearest
from sfumato.methods.attacks.linkage.success_rates import sampled_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.model import Posterior
    from sfumato.methods.attacks.linkage.comparison_arrays import Arrays
    from sfumato.methods.attacks.linkage.files import Files


PLAIN = ("pooled", "nearest", "zero")
"""How numbers are standardised, ranges and suppressed cells taken in the distance that other
attacks search by, too.
"""

# All records linked at once, none twice, at the least total distance.

MOST_ASSIGNED = 4000
"""Rows of the longer file: the table of all distances takes 128 MB then, the assignment some ten
seconds.
"""


def assign_one_to_one(
    scene: Scene, files: Files, arrays: Arrays, *, backwards: bool = False
) -> Credits:
    """Link rows one to one (where one file is longer, some of it stays unlinked).

    Equal released records are interchangeable, so a row linked to one of the *c* records like its
    own is credited 1/c.
    """
    from scipy.optimize import linear_sum_assignment

    # In order of their kinds, so that ties are not decided by the order of rows in the files.
    order = [np.argsort(side.kind_of, kind="stable") for side in (files.intruder, files.released)]
    intruder_rows = files.intruder.kind_of[order[0]]
    released_rows = files.released.kind_of[order[1]]
    table = distances(arrays)[np.ix_(intruder_rows, released_rows)]
    row_numbers, column_numbers = linear_sum_assignment(table)
    if backwards:
        searching = files.released
        searched = files.intruder
    else:
        searching = files.intruder
        searched = files.released
    links = np.full(len(searching.kind_of), -1, dtype=np.int64)
    pairs = np.column_stack([order[0][row_numbers], order[1][column_numbers]])
    links[pairs[:, int(backwards)]] = searched.kind_of[pairs[:, 1 - int(backwards)]]
    if backwards:
        true_pairs = files.true_pairs[:, ::-1]
        rows = np.unique(true_pairs[:, 0])
    else:
        true_pairs = files.true_pairs
        rows = np.flatnonzero(scene.intruder.truth >= 0)
    own_records = true_pairs[:, 1]
    is_hit = links[true_pairs[:, 0]] == searched.kind_of[own_records]
    hits = np.bincount(true_pairs[is_hit, 0], minlength=len(searching.kind_of))
    # Rows without a link have −1, which would look up the last kind.
    tied = np.where(links >= 0, searched.records[links], 0)
    nearest_distance = np.full(len(searching.kind_of), np.inf)
    nearest_distance[pairs[:, int(backwards)]] = table[row_numbers, column_numbers]
    shares = hits / np.maximum(1, tied)
    return Credits(rows, shares[rows], tied[rows], nearest_distance[rows], complete=True)


def distances(arrays: Arrays) -> NDArray[np.float64]:
    """The distance of each distinct record of the intruder to each released one."""
    intruder_count = len(arrays.intruder.records)
    released_count = len(arrays.released.records)
    table = np.empty((intruder_count, released_count))
    released_kinds = np.arange(released_count)
    for i in range(intruder_count):
        kind_pairs = [np.full(released_count, i), released_kinds]
        table[i] = arrays.costs(np.column_stack(kind_pairs)).sum(axis=1)
    return table


def by_classes(files: Files, nearest: Credits) -> Credits:
    """Link the same people as one who knows which values every class stands for: a random record of
    their class is taken.
    """
    kind_of = files.released.kind_of
    # Per row of the intruder's file its class, −1 for people who were not released.
    own_class = np.where(files.own >= 0, kind_of[files.own], -1)
    people, records = files.true_pairs.T
    in_class = kind_of[records] == own_class[people]
    # A person with several records in the class is found by any of them.
    own_records = np.bincount(people[in_class], minlength=len(own_class))
    size = np.where(own_class >= 0, files.released.records[own_class], 0)
    own_size = size[nearest.rows]
    credit = own_records[nearest.rows] / np.maximum(1, own_size)
    return Credits(
        nearest.rows, credit, own_size, np.zeros(len(own_size)), complete=nearest.complete
    )


@parameters
class DistanceLinkage(Attack):
    r"""The intruder takes the nearest released record for the person's own.

    .. math:: \mathrm{link}(b) = \arg\min_a \sum_k w_k\, d_k(a_k, b_k), \qquad
              \text{value} = \frac1N \sum_b \frac{[\text{own record among the
              nearest}]}{\#\,\text{nearest}}

    over the *N* people of the intruder's file that are in the original table; who was not released
    cannot be linked and counts as a failure. A tie is shared out: a random one of the nearest is
    taken, and the value is what that gives on average.
    :mod:`sfumato.methods.attacks.linkage.comparable_columns` has the distances :math:`d_k` of
    numbers, ordered values, categories, ranges, sets, suppressed and missing cells.

    ``direction``: the intruder seeks each known person in the release (``intruder``), or each
    released record in the register (``released``; then over the released records of people in the
    register), or both, of which the better counts. Torra's formulation loops over the masked file;
    an intruder searches it. With many equal records the two differ. Labels may overlap: ``other``
    of one class leaves out what ``other`` of another holds. Where values were generalised and not
    changed, an intruder who knows all quasi-identifiers and which values each class stands for (as
    who can repeat the recoding does) takes a random record of the right class, and the better of
    the two counts: everybody together are never linked less often than classes over records, the
    marketer risk. Where other released columns imply quasi-identifiers beyond their labels
    (:mod:`sfumato.methods.formulas.dependence_search`), who knows these takes the record of the
    right class that those columns fit best, learnt from other people, and that counts where it is
    better. ``one_to_one`` takes the assignment of all records at once with the least total distance
    (both files up to 4,000 rows).

    The search is exact: both files are reduced to their distinct records, and a tree of boxes over
    numbers, ranges and categories leaves out only what cannot be nearest. Where the intruder looks
    for a random sample of the people, or the time of the scene runs out, the value is that of the
    sample, with its Wilson interval (95 %). ``victims`` are those linked rightly without a tie.
    Reference: Domingo-Ferrer & Torra 2003, Disclosure risk assessment in statistical microdata
    protection via advanced record linkage, doi:10.1023/A:1025666923033.

    >>> DistanceLinkage(direction="both").name
    'linkage'
    """

    direction: Annotated[
        Literal["intruder", "released", "both"],
        Field(description="which records search their nearest in the other file"),
    ] = "intruder"
    standard: Annotated[
        Standard,
        Field(
            description=(
                "numbers are standardised by both files together, by the release, or each by"
                " its own"
            )
        ),
    ] = "pooled"
    ranges: Annotated[
        Ranges,
        Field(
            description=(
                "a generalised cell is as far as its nearest value, or as its values on average"
            )
        ),
    ] = "nearest"
    suppressed: Annotated[
        Suppressed,
        Field(
            description=(
                "a suppressed cell is at distance zero, or at the mean distance of the column"
            )
        ),
    ] = "zero"
    weights: Annotated[
        Mapping[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]],
        COLUMNS,
        Field(description="weights of columns, 1 where none is given"),
    ] = Field(default_factory=dict)
    one_to_one: Annotated[bool, Field(description="whether a record may be linked only once")] = (
        False
    )

    name: ClassVar[str] = "linkage"
    follows_rows: ClassVar[bool] = True
    line: ClassVar[str] = "A person's own record is found"
    tried_by: ClassVar[tuple[str, ...]] = (
        "prosecutor",
        "neighbour",
        "colleague",
    )
    turn: ClassVar[int] = 1

    def applies(self, scene: Scene) -> str | None:
        """Why nothing can be linked here, or None."""
        larger_file = max(len(scene.intruder.file), len(scene.pair.released))
        if self.one_to_one and larger_file > MOST_ASSIGNED:
            return (
                f"one-to-one linkage takes files of up to {MOST_ASSIGNED:,} rows, this one has"
                f" {larger_file:,}"
            )
        return refusal(scene)

    def attack(self, scene: Scene) -> Finding:
        """Link the records and count who is linked to the own one."""
        require_linkable(scene)
        if self.one_to_one and (reason := self.applies(scene)):
            raise ParameterError(f"linkage: {reason}")
        files = files_of(scene)
        arrays = self._arrays(files)
        credits_by_way = {way: self._credits(scene, files, arrays, way) for way in self._ways()}
        if "intruder" in credits_by_way and not self.one_to_one and only_generalised(scene):
            credits_by_way["classes"] = by_classes(files, credits_by_way["intruder"])
        links = None
        if not (self.one_to_one or "intruder" not in credits_by_way):
            links = implied_links(scene, credits_by_way["intruder"].rows)
        if links is not None:
            nearest = credits_by_way["intruder"]
            # This way ranks records by what other columns imply, not by a distance.
            unknown = np.zeros(len(nearest.rows))
            credits_by_way["implied"] = Credits(
                nearest.rows, links.credit, links.tied, unknown, complete=nearest.complete
            )
        # Rates that differ by rounding alone are equal; then the way that assumes less is told.
        best = max(
            credits_by_way,
            key=lambda way: (
                round(credits_by_way[way].rate, 12),
                way not in ("classes", "implied"),
                way,
            ),
        )
        return self._finding(
            scene, files, credits_by_way, best, "" if links is None else links.told
        )

    def posterior(self, scene: Scene) -> Posterior | None:
        """The originals that are nearest to a released record, all equally likely; nothing is said
        of one-to-one links.
        """
        require_linkable(scene)
        if self.one_to_one:
            return None
        files = files_of(scene)
        return nearest_posterior(files, self._arrays(files), classes=only_generalised(scene))

    def _ways(self) -> tuple[str, ...]:
        if self.one_to_one:
            if self.direction != "released":
                return ("intruder",)
            return ("released",)
        if self.direction == "both":
            return ("intruder", "released")
        return (self.direction,)

    def _arrays(self, files: Files) -> Arrays:
        unknown = sorted(set(self.weights) - set(files.names))
        if unknown:
            raise ParameterError(
                f"linkage: weights are given for columns not in both files: {', '.join(unknown)}"
            )
        # The plain distance has its tree already, which other attacks search, too.
        if (self.standard, self.ranges, self.suppressed) == PLAIN and set(
            self.weights.values()
        ) <= {1.0}:
            return files.plain
        rules = []
        for column in files.columns:
            rules.append(
                distance_rule(
                    column,
                    weight=self.weights.get(column.name, 1.0),
                    standard=self.standard,
                    ranges=self.ranges,
                    suppressed=self.suppressed,
                )
            )
        return arrays_of(files, rules)

    def _credits(self, scene: Scene, files: Files, arrays: Arrays, way: str) -> Credits:
        if self.one_to_one:
            return assign_one_to_one(scene, files, arrays, backwards=way == "released")
        return link_nearest(scene, files, arrays, backwards=way == "released")

    def _finding(
        self,
        scene: Scene,
        files: Files,
        credits_by_way: Mapping[str, Credits],
        best: str,
        implied: str,
    ) -> Finding:
        credit = credits_by_way[best]
        rate = credit.rate
        people = credit.rows if best != "released" else None
        if people is not None:
            truth = scene.intruder.truth
        else:
            truth = scene.pair.rows
        how, assumption = "choosing the nearest record", ""
        if best == "classes":
            how, assumption = (
                "choosing a random record of the right class",
                " and which values each class stands for",
            )
        if best == "implied":
            how = f"choosing the record of the right class that other columns fit best ({implied})"
            assumption = ""
        sentence = (
            f"By {how}, an intruder who knows {', '.join(files.names)}{assumption} links"
            f" {percent(rate)} of {len(credit.rows):,} people to their own released"
            f" record{credit.sampled}; guessing, 1 in {len(scene.pair.released):,}."
        )
        everybody = credit.complete and not scene.intruder.sampled
        certain_people = credit.credit == 1.0
        return Finding(
            self.name,
            rate,
            sentence=sentence,
            interval=sampled_interval(credit.credit, everybody=everybody),
            baseline=1.0 / len(scene.pair.released),
            victims=truth[credit.rows[certain_people]],
            details=_details(scene, credits_by_way),
            trials=len(credit.rows),
        )


def _details(scene: Scene, credits_by_way: Mapping[str, Credits]) -> Document:
    """Counts behind the value."""
    per_way = {}
    for way, credit in credits_by_way.items():
        per_way[way] = {
            "value": credit.rate,
            "records": len(credit.rows),
            "linked_without_tie": int((credit.credit == 1.0).sum()),
            "mean_ties": float(credit.tied.mean()) if len(credit.rows) else 0.0,
            "complete": credit.complete,
        }
    return {"strangers": int((scene.intruder.truth < 0).sum()), "directions": per_way}
