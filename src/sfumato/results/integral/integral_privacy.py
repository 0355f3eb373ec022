"""Integral privacy: a result is published when many different sets of records give the same one."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

import numpy as np

from sfumato.core.block_html import Reportable
from sfumato.core.blocks import Block, Paragraph, VerdictBlock
from sfumato.core.fields import Document
from sfumato.core.options import CommandOption
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import Seed, canonical_order
from sfumato.core.words import percent
from sfumato.errors import ParameterError, SchemaError
from sfumato.results.integral.algorithms import MeanRuns, PreparedAlgorithm
from sfumato.results.integral.subset_sums import subset_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table
    from sfumato.results.integral.algorithms import IntegralAlgorithm

Status = Literal["proved", "not shown", "disproved"]

MOST_SETS = 200_000
"""Sets of records that are tried one by one."""
MOST_CELLS = 50_000_000
"""Record numbers of all samples that are held."""
CONFIDENCE = 0.95


EXACT = 1 << 53
"""Counts below this are told in full; no reader of JSON rounds them."""


def told_count(count: int) -> str:
    """A count that may be too long for anybody, and for a floating-point number.

    >>> told_count(1234), told_count(10**400 * 7)
    ('1,234', '7.000e+400')
    """
    if count < EXACT:
        return f"{count:,}"
    digits = str(count)
    return f"{digits[0]}.{digits[1:4]}e+{len(digits) - 1}"


@dataclasses.dataclass(frozen=True, eq=False)
class Recurring:
    """One result: how many sets of records are known to give it, and what they have in common.

    ``share`` is the largest share of them that hold one and the same record: the posterior that it
    was used, if each set is as likely. ``status`` says whether k-integral privacy is proved for the
    result, disproved (only when all sets were tried), or not shown. ``at_least`` is how many sets
    there are in all with 95 % confidence, where samples were drawn. ``form`` is the canonical
    result; it is for the owner unless the result is proved.
    """

    form: Any = dataclasses.field(repr=False)
    generators: int
    share: Fraction
    status: Status
    utility: float
    at_least: int | None = None

    @property
    def disjoint(self) -> bool:
        """Whether no record is in all of them."""
        return self.share < 1


@dataclasses.dataclass(frozen=True, eq=False)
class IntegralPrivacy(Reportable):
    """What is known about the results of an algorithm on sets of ``size`` of the records.

    ``outcomes`` are all results found, the most recurring first, for the owner. ``chosen`` is the
    most useful one that is proved, and ``result`` that one as it may be published; both None where
    none is.
    """

    algorithm: str
    k: int
    size: int
    records: int
    background: int
    sets: int
    tried: int | None
    outcomes: tuple[Recurring, ...] = dataclasses.field(repr=False)
    without_result: int = 0
    tell: Callable[[Any], Any] = dataclasses.field(default=str, repr=False)

    @property
    def exact(self) -> bool:
        """Whether all sets of records were counted."""
        return self.tried is None

    @property
    def chosen(self) -> Recurring | None:
        """The most useful of the proved results; of equally useful ones the one that recurs
        most.
        """
        proved = [outcome for outcome in self.outcomes if outcome.status == "proved"]
        return max(
            proved,
            key=lambda outcome: (outcome.utility, outcome.generators, -outcome.share),
            default=None,
        )

    @property
    def result(self) -> Any:
        """The chosen result as it may be published."""
        if self.chosen is None:
            return None
        return self.tell(self.chosen.form)

    def count(self, status: Status) -> int:
        """How many results have a status."""
        return sum(outcome.status == status for outcome in self.outcomes)

    def to_dict(self) -> Document:
        """What may be published: the chosen result, and counts; no other result."""
        outcome = self.chosen
        facts = {
            "algorithm": self.algorithm,
            "k": self.k,
            "size": self.size,
            "records": self.records,
            "background": self.background,
            "exact": self.exact,
            "samples": self.tried,
            "results": len(self.outcomes),
            "proved": self.count("proved"),
            "not_shown": self.count("not shown"),
            "disproved": self.count("disproved"),
            "without_result": self.without_result,
            "result": self.result,
        }
        if outcome is None:
            return facts
        result_fields = {
            "generators": (
                outcome.generators if outcome.generators < EXACT else told_count(outcome.generators)
            ),
            "largest_share": float(outcome.share),
            "at_least": None if outcome.at_least is None else told_count(outcome.at_least),
            "confidence": None if outcome.at_least is None else CONFIDENCE,
        }
        return {**facts, **result_fields}

    def __repr__(self) -> str:
        return str(self)

    def blocks(self) -> Sequence[Block]:
        """Whether a result may be published, and how many were tried."""
        trial_sentence, verdict = self.sentences()
        return [
            VerdictBlock(self.chosen is not None, verdict, headline=True),
            Paragraph(trial_sentence),
        ]

    def sentences(self) -> list[str]:
        """What a data steward reads; nothing but a proved result is told."""
        how = "all of them" if self.exact else f"{self.tried:,} drawn at random"
        head = (
            f"{self.algorithm} of {self.size:,} of {self.records:,} records:"
            f" {told_count(self.sets)} sets, {how}; {len(self.outcomes):,} different results,"
            f" {self.count('proved'):,} proved {self.k}-integrally private,"
            f" {self.count('not shown'):,} not shown, {self.count('disproved'):,} disproved"
        )
        outcome = self.chosen
        if outcome is None:
            if self.exact:
                why = "coarsen the grid, or lower k"
            else:
                why = "draw more samples, coarsen the grid, or lower k"
            return [head, f"no result may be published; {why}"]
        if outcome.at_least is None:
            sure = ""
        else:
            sure = (
                f" (in all at least {told_count(outcome.at_least)} with {percent(CONFIDENCE)}"
                " confidence)"
            )
        verdict_text = (
            f"publish {self.result}: {told_count(outcome.generators)} different sets give it{sure},"
            f" no record is in all of them, and none in more than {percent(float(outcome.share))}"
        )
        return [head, verdict_text]


class IntegralKeywords(TypedDict, total=False):
    """The further keywords of :func:`integral_privacy`, for verbs that pass them on."""

    samples: int | None
    background: Iterable[int]
    seed: Seed | int | str | None
    progress: Progress


def integral_privacy(
    dataset: Table,
    algorithm: IntegralAlgorithm,
    k: Annotated[
        int,
        CommandOption("different sets of records that must give the same result", ("-k", "--k")),
    ],
    *,
    size: Annotated[
        int, CommandOption("records of each set: as many as the result is computed from")
    ],
    samples: Annotated[
        int | None, CommandOption("draw this many sets at random instead of counting all")
    ] = None,
    background: Annotated[
        Iterable[int],
        CommandOption(
            "rows that the intruder knows to be used, from 1, separated by commas",
            ("--known",),
            typed=str,
        ),
    ] = (),
    seed: Annotated[
        Seed | int | str | None,
        CommandOption("hexadecimal text, to draw the same samples again", typed=str),
    ] = None,
    progress: Progress = silent,
) -> IntegralPrivacy:
    r"""Which results of an algorithm recur often enough to be published.

    .. math:: \mathrm{Gen}^*(G, S^*)
        = \{S \setminus S^* : S^* \subseteq S \subseteq P,\ |S| = s,\ A(S) = G\}

    A result *G* is *k-integrally private* when :math:`|\mathrm{Gen}^*| \ge k` and no record is in
    all of these sets: from the result nobody can tell which of k sets of records it was computed
    from, and nobody is certainly among them. *P* are the records of the table, *s* is
    ``size``, :math:`S^*` the ``background``, rows that the intruder knows to be used. Results are
    compared in canonical form, and that form is what is published.

    Without ``samples`` all sets are counted: means by a recurrence over sums, without listing a
    set; everything else set by set, up to 200,000. Then a result is *proved* or *disproved*. With
    ``samples`` so many sets are drawn at random. What is found is a part of all generators, so that
    k different ones without a common record still **prove** the promise; its absence is never
    shown. Besides, h hits in B samples tell that the share of generators among all sets is at least
    the Clopper–Pearson limit, with 95 % confidence.

    An empty intersection is weak: a record may still be in nearly all generators. So the largest
    share is told with every result. The promise is about who was *used*, not about who is in the
    table. Records are counted, equal or not; persons with several rows are refused.

    Reference: Torra & Navarro-Arribas 2016, *Integral privacy*, doi:10.1007/978-3-319-48965-0_44.

    >>> import polars as pl
    >>> from sfumato.core.table import Table
    >>> from sfumato.results.integral import MeanOf
    >>> table = Table(pl.DataFrame({"x": [1, 2, 3, 4, 5, 6]}))
    >>> found = integral_privacy(table, MeanOf("x"), 3, size=2)
    >>> found.result, found.chosen.generators, found.count("disproved")
    (3.5, 3, 8)
    """
    background_rows = _known_rows(dataset, background)
    _require_sense(dataset, algorithm, k, size, samples, len(background_rows))
    # the same seed draws the same records, however the rows of the table are ordered
    order = canonical_order(dataset)
    runs = algorithm.on(dataset.take(order))
    # the inverse of the order: where each old row stands now
    new_positions = np.empty(len(order), dtype=np.int64)
    new_positions[order] = np.arange(len(order))
    background_rows = np.sort(new_positions[background_rows])
    free = np.setdiff1d(np.arange(len(order)), background_rows)
    free_count = size - len(background_rows)
    total = math.comb(len(free), free_count)
    if samples is None and isinstance(runs, MeanRuns):
        results_found, none = _by_sums(runs, free, background_rows, free_count), 0
    elif samples is None:
        results_found, none = _by_listing(runs, free, background_rows, free_count, progress)
    else:
        key = Seed.of(seed).stream("integral privacy: samples")
        results_found, none = _by_samples(
            runs, free, background_rows, free_count, samples, key, progress
        )
    outcomes = [_judge_result(result, k, samples, total, runs) for result in results_found]
    # the text of the result comes last, so that the order is always the same
    outcomes.sort(key=lambda result: (-result.generators, result.share, str(result.form)))
    return IntegralPrivacy(
        algorithm.name,
        k,
        size,
        len(dataset),
        len(background_rows),
        total,
        samples,
        tuple(outcomes),
        none,
        runs.told,
    )


def _known_rows(dataset: Table, background: Iterable[int]) -> NDArray[np.int64]:
    rows = np.unique(np.array(list(background), dtype=np.int64))
    if len(rows) and (rows[0] < 0 or rows[-1] >= len(dataset)):
        raise ParameterError(f"background: rows must be numbers from 0 to {len(dataset) - 1:,}")
    return rows


def _require_sense(
    dataset: Table,
    algorithm: IntegralAlgorithm,
    k: int,
    size: int,
    samples: int | None,
    background_count: int,
) -> None:
    dataset.require(algorithm.columns)
    if k < 1 or (samples is not None and samples < 1):
        raise ParameterError("integral privacy: k and the number of samples must be at least 1")
    if not background_count < size <= len(dataset):
        raise ParameterError(
            f"integral privacy: sets of {size:,} records must be larger than the background"
            f" ({background_count:,}) and no larger than the table ({len(dataset):,})"
        )
    if samples is not None and samples * size > MOST_CELLS:
        raise ParameterError(
            f"integral privacy: {samples:,} samples of {size:,} records are too many to hold; draw"
            " fewer"
        )
    person = dataset.schema.person
    if person is not None and len(set(dataset.encoded(person).codes.tolist())) < len(dataset):
        raise SchemaError(
            f"integral privacy counts records, but persons ({person!r}) have several; keep one row "
            "per person"
        )


@dataclasses.dataclass(frozen=True, eq=False)
class _Outcome:
    """A result, how many generators are known, the largest number of them that hold one record, and
    how often it was drawn.
    """

    form: Any
    generators: int
    most: int
    hits: int = 0


def _judge_result(
    result: _Outcome, k: int, samples: int | None, total: int, runs: PreparedAlgorithm
) -> Recurring:
    share = Fraction(result.most, result.generators)
    proved = result.generators >= k and share < 1
    status: Status = "proved" if proved else "disproved" if samples is None else "not shown"
    if samples is None:
        lower_bound = None
    else:
        lower_bound = math.floor(Fraction(lower_limit(result.hits, samples)) * total)
    # the sets that were drawn are certain: a limit below their number would say less than is known
    if lower_bound is not None:
        lower_bound = max(lower_bound, result.generators)
    return Recurring(
        result.form, result.generators, share, status, runs.utility(result.form), lower_bound
    )


def lower_limit(hits: int, trials: int, confidence: float = CONFIDENCE) -> float:
    """The Clopper–Pearson lower limit of a share: with so much confidence it is at least this.

    >>> round(lower_limit(10, 100), 4), lower_limit(0, 5)
    (0.0553, 0.0)
    """
    from scipy.stats import beta

    # the limit is a quantile of Beta(hits, trials − hits + 1), which does not exist for no hits
    if not hits:
        return 0.0
    return float(beta.ppf(1 - confidence, hits, trials - hits + 1))


def _by_sums(
    runs: MeanRuns, free: NDArray[np.int64], background_rows: NDArray[np.int64], free_count: int
) -> list[_Outcome]:
    """All means at once, from the numbers of subsets with each sum."""
    values = [runs.scaled[row] for row in free.tolist()]
    base = sum(runs.scaled[row] for row in background_rows.tolist())
    sums = subset_sums(values, free_count)
    groups: dict[Fraction, list[int]] = {}
    for total in np.flatnonzero(sums.counts).tolist():
        groups.setdefault(runs.of_sum(base + total, free_count + len(background_rows)), []).append(
            total
        )
    results_found = []
    for form, totals in groups.items():
        every = int(sums.counts[totals].sum())
        # the record that is in most generators is the one that fewest leave out; records of the
        # same value are left out by equally many, so one per value is enough
        fewest = min(int(sums_without[totals].sum()) for sums_without in sums.without.values())
        results_found.append(_Outcome(form, every, every - fewest))
    return results_found


def _by_listing(
    runs: PreparedAlgorithm,
    free: NDArray[np.int64],
    background_rows: NDArray[np.int64],
    free_count: int,
    progress: Progress,
) -> tuple[list[_Outcome], int]:
    """Every set of records, one by one."""
    total = math.comb(len(free), free_count)
    if total > MOST_SETS:
        raise ParameterError(
            f"integral privacy: there are {told_count(total)} sets of records, and at most "
            f"{MOST_SETS:,} can be tried one by one; draw samples instead"
        )
    sets = np.array(
        list(itertools.combinations(free.tolist(), free_count)), dtype=np.int64
    ).reshape(total, free_count)
    return _group_by_result(runs, sets, background_rows, progress, exactly=True)


def _by_samples(
    runs: PreparedAlgorithm,
    free: NDArray[np.int64],
    background_rows: NDArray[np.int64],
    free_count: int,
    samples: int,
    stream: np.random.Generator,
    progress: Progress,
) -> tuple[list[_Outcome], int]:
    """Random sets of records, each as likely as any other."""
    sets = np.empty((samples, free_count), dtype=np.int64)
    for number in range(samples):
        # sorted: the same set drawn again has the same bytes, by which it is recognised
        sets[number] = np.sort(stream.choice(free, free_count, replace=False))
    return _group_by_result(runs, sets, background_rows, progress, exactly=False)


def _group_by_result(
    runs: PreparedAlgorithm,
    sets: NDArray[np.int64],
    background_rows: NDArray[np.int64],
    progress: Progress,
    *,
    exactly: bool,
) -> tuple[list[_Outcome], int]:
    """Sets by the result they give; sets that were drawn twice are one generator, and two hits."""
    if not exactly and not runs.recurs:
        raise ParameterError(
            "integral privacy: samples of this algorithm are computed in floating point; give it a"
            " grid"
        )
    groups: dict[Any, list[int]] = {}
    none = 0
    for number, rows in enumerate(sets):
        if number % 256 == 0:
            progress(number / len(sets), "computing results")
        form = runs.form(np.concatenate([background_rows, rows]), exactly=exactly)
        if form is None:
            none += 1
        else:
            groups.setdefault(form, []).append(number)
    return [_common(form, sets, numbers) for form, numbers in groups.items()], none


def _common(form: object, sets: NDArray[np.int64], numbers: Sequence[int]) -> _Outcome:
    # digests instead of the sets themselves: a large sample would be held twice
    distinct = {
        hashlib.blake2b(sets[number].tobytes(), digest_size=16).digest(): number
        for number in numbers
    }
    # sets hold free records only: the background is in all of them and would make every share 1
    _, amounts = np.unique(sets[list(distinct.values())], return_counts=True)
    return _Outcome(form, len(distinct), int(amounts.max(initial=0)), len(numbers))
