"""Linkage by an intruder whose file has partly, or only, other columns than the release."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.attack import Attack, Finding, NothingToAttack, as_theirs
from sfumato.core.encoding import encode
from sfumato.core.parameters import parameters
from sfumato.core.words import percent
from sfumato.errors import ParameterError
from sfumato.methods.attacks.linkage.comparable_columns import common_columns, refusal
from sfumato.methods.attacks.linkage.files import files_of, same_person
from sfumato.methods.attacks.linkage.search import TIE, Credits, link_nearest
from sfumato.methods.attacks.linkage.success_rates import sampled_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.attack import Scene
    from sfumato.core.reading import Reading
    from sfumato.core.table import Table

    Numbers = NDArray[np.float64]

RIDGE = 1e-6
"""Added to every variance, relative to columns of variance 1: a column that others tell exactly
must not count without end.
"""
MOST_CLASSES = 200
"""Values of a column of categories that are predicted; columns with more tell people apart, not
each other.
"""
FEWEST = 10
"""People a model is learnt from, at least."""
MOST_CELLS = 4_000_000
"""Numbers held at a time."""
MOST_ASSIGNED = 4000
"""Rows of the longer file in an assignment of all at once."""


@parameters
class OtherColumnsLinkage(Attack):
    r"""An intruder whose file has other columns than the release links by what goes along with
    what.

    From a table of other people (``aux``) that has columns of both files the intruder learns what
    to expect of the released columns *a*, knowing the own ones *b*:

    .. math:: \mu(b) = m_A + \Sigma_{AB} \Sigma_{BB}^{-1} (b - m_B), \qquad S
        = \Sigma_{AA} - \Sigma_{AB} \Sigma_{BB}^{-1} \Sigma_{BA}

    and takes the released record with the
    least :math:`(a - \mu(b))^{\mathsf T} S^{-1} (a - \mu(b)) - 2 \sum_c \log P(a_c \mid b)`, the
    sum over released categories; their probabilities come from linear discriminants of *b*, a
    generalised cell has those of all it stands for, and a suppressed one costs nothing. Several
    ways are tried, and the best counts, since a model that is learnt may also mislead: ``shared``
    (distance in the columns both files have), ``model`` (all columns), ``different`` (only columns
    that the other file lacks). ``members_known``: the intruder also knows who is in the release,
    and assigns all of them at once (``one to one``). ``true_pairs``: the named worst case of a
    model that was fitted on the very pairs that are sought.

    Where a column of the intruder's file is not what the release has under that name (measured with
    errors, say), ``aux`` may hold it a second time as ``name (theirs)``. Numbers and categories of
    up to 200 values are used, dates are not. The time of the scene decides how many people are
    looked for, a random sample of all. ``victims`` are those linked rightly without a tie.

    Reference: Torra, Abowd & Domingo-Ferrer 2006, *Using Mahalanobis distance-based record linkage
    for disclosure risk assessment*, doi:10.1007/11930242_20.

    >>> OtherColumnsLinkage(members_known=True).name
    'other_columns_linkage'
    """

    members_known: Annotated[
        bool, Field(description="whether the intruder knows who is in the release")
    ] = False
    true_pairs: Annotated[
        bool, Field(description="also try a model fitted on the true pairs: a worst case")
    ] = False

    follows_rows: ClassVar[bool] = True
    name: ClassVar[str] = "other_columns_linkage"
    line: ClassVar[str] = "A person's own record is found by columns that are not in the release"
    tried_by: ClassVar[tuple[str, ...]] = ("worst case",)
    turn: ClassVar[int] = 4

    def applies(self, scene: Scene) -> str | None:
        """None for an intruder who has columns of its own, and a table to learn from."""
        if not scene.intruder.others:
            return NothingToAttack(
                "the intruder has no column beyond those of the release, or no table of other "
                "people with such a column (aux)"
            )
        if scene.aux is None:
            return "there is no table of other people to learn from (aux)"
        reason = refusal(scene)
        # No column in common is no hindrance here: a model links by different columns, too.
        if reason is not None and common_columns(scene):
            return reason
        if not (scene.intruder.truth >= 0).any():
            return "nobody in the intruder's file is in the original table"
        if not _predictable_columns(scene):
            return "the table of other people has no column of the release that could be predicted"
        if len(scene.aux) >= FEWEST:
            return None
        return f"the table of other people has fewer than {FEWEST} rows"

    def attack(self, scene: Scene) -> Finding:
        """Try every way and take the best."""
        if (reason := self.applies(scene)) is not None:
            raise ParameterError(f"{self.name}: {reason}")
        credits_by_way: dict[str, Credits] = {}
        shared = common_columns(scene)
        if shared:
            files = files_of(scene)
            credits_by_way["shared"] = link_nearest(scene, files, files.plain)
        credits_by_way["model"] = _link_nearest(
            scene, _learn_model(scene, shared, _predictable_columns(scene))
        )
        apart = [name for name in _predictable_columns(scene) if name not in shared]
        if shared and apart:
            credits_by_way["different"] = _link_nearest(scene, _learn_model(scene, (), apart))
        if self.members_known:
            credits_by_way["one to one"] = _assign_one_to_one(
                scene, _learn_model(scene, shared, _predictable_columns(scene))
            )
        if self.true_pairs:
            credits_by_way["fitted on the true pairs"] = _link_nearest(
                scene, _fitted_on_pairs(scene, shared)
            )
        return self._finding(scene, credits_by_way)

    def _finding(self, scene: Scene, credits_by_way: dict[str, Credits]) -> Finding:
        best = max(credits_by_way, key=lambda way: (round(credits_by_way[way].rate, 12), way))
        credit = credits_by_way[best]
        rates = ", ".join(
            f"{way} {percent(way_credit.rate)}" for way, way_credit in credits_by_way.items()
        )
        names = ", ".join((*common_columns(scene), *scene.intruder.others))
        sentence = (
            f"An intruder who knows {names}, and {len(scene.aux or ()):,} other people to learn"
            f" from, links {percent(credit.rate)} of {len(credit.rows):,} people to their own"
            f" released record{credit.sampled} ({rates}); guessing, 1 in"
            f" {len(scene.pair.released):,}."
        )
        ways = {
            way: {
                "value": way_credit.rate,
                "records": len(way_credit.rows),
                "complete": way_credit.complete,
            }
            for way, way_credit in credits_by_way.items()
        }
        everybody = credit.complete and not scene.intruder.sampled
        certain_people = credit.credit == 1.0
        details = {
            "best": best,
            "ways": ways,
            "strangers": int((scene.intruder.truth < 0).sum()),
        }
        return Finding(
            self.name,
            credit.rate,
            sentence=sentence,
            interval=sampled_interval(credit.credit, everybody=everybody),
            baseline=1.0 / len(scene.pair.released),
            victims=scene.intruder.truth[credit.rows[certain_people]],
            details=details,
            trials=len(credit.rows),
        )


def _predictable_columns(scene: Scene) -> tuple[str, ...]:
    """The released columns that a model can predict: numbers and categories that the table of other
    people has.
    """
    if scene.aux is None:
        return ()
    common_names = [name for name in sorted(scene.pair.columns) if name in scene.aux.columns]
    return tuple(name for name in common_names if _usable(scene, name))


def _usable(scene: Scene, name: str) -> bool:
    reading = scene.pair.reading(name)
    if reading.scale == "number":
        return bool(scene.pair.original.dtype(name).is_numeric())
    return 1 < len(reading.values) <= MOST_CLASSES


# What goes along with what.


@dataclasses.dataclass(frozen=True, eq=False)
class _Feature:
    """A column of the intruder's file as numbers of mean 0: itself, or a mark for each of its
    values.
    """

    name: str
    centre: float
    spread: float
    classes: tuple[str, ...] | None

    @classmethod
    def of(cls, name: str, column: pl.Series) -> _Feature | None:
        """What a column is; None where it has too many values."""
        if column.dtype.is_numeric():
            values = column.cast(pl.Float64).fill_nan(None).drop_nulls().to_numpy()
            spread = float(values.std()) if len(values) else 0.0
            return cls(name, float(values.mean()) if len(values) else 0.0, spread or 1.0, None)
        labels = tuple(text for text in encode(column).labels if text is not None)
        if len(labels) > MOST_CLASSES:
            return None
        return cls(name, 0.0, 1.0, labels)

    def values(self, column: pl.Series) -> Numbers:
        """The column by this measure; what is missing lies in the middle."""
        if self.classes is None:
            numbers = (
                column.cast(pl.Float64, strict=False)
                .fill_nan(None)
                .fill_null(self.centre)
                .to_numpy()
            )
            return ((numbers - self.centre) / self.spread).reshape(-1, 1)
        encoded = encode(column)
        class_positions = {text: at for at, text in enumerate(self.classes)}
        marks = np.zeros((len(encoded.labels) + 1, len(self.classes)))
        for code, text in enumerate(encoded.labels):
            if text in class_positions:
                marks[code, class_positions[text]] = 1.0
        return marks[encoded.codes]


@dataclasses.dataclass(frozen=True, eq=False)
class _Model:
    """What to expect of released numbers and categories, by what the intruder knows of each person,
    and the release itself.

    ``expected`` has a row a person, ``whitening`` makes residuals of numbers independent;
    ``surprise[c]`` is −2 log P of each label of category *c* for each person, and ``labels[c]`` the
    label of each released record.
    """

    expected: Numbers
    released: Numbers
    whitening: Numbers
    surprise: tuple[Numbers, ...]
    labels: tuple[NDArray[np.int64], ...]

    def distances(self, rows: NDArray[np.int64]) -> Numbers:
        """From some of the people to all released records."""
        total = np.zeros((len(rows), len(self.released)))
        if self.released.shape[1]:
            # A suppressed number has no middle (NaN): the gap counts as 0.
            expected = self.expected[rows][:, None, :]
            released = self.released[None, :, :]
            gaps = np.nan_to_num(expected - released)
            total += ((gaps @ self.whitening) ** 2).sum(axis=2)
        for surprise, labels in zip(self.surprise, self.labels, strict=True):
            total += surprise[rows][:, labels]
        return total

    @property
    def cost(self) -> int:
        """Cells of the release that one person is compared with."""
        width = self.released.shape[1]
        cells: int = len(self.released) * max(1, width + len(self.labels))
        return cells

    @property
    def step(self) -> int:
        """People whose distances are worked out at a time."""
        cells: int = len(self.released) * max(1, self.released.shape[1])
        return max(1, MOST_CELLS // max(1, cells))


def _learn_model(scene: Scene, shared: Sequence[str], predicted: Sequence[str]) -> _Model:
    """A model of released columns by the intruder's, from the table of other people."""
    aux = scene.aux
    if aux is None:
        raise ParameterError("there is no table of other people to learn from")
    # Columns as the intruder's file has them, where the table holds them so: a model must be learnt
    # from what it will be given.
    teaching = {}
    for name in shared:
        if name in aux.columns:
            teaching[name] = aux.column(as_theirs(name) if as_theirs(name) in aux.columns else name)
    teaching |= {name: aux.column(name) for name in scene.intruder.others}
    return _model(
        scene, teaching, {name: aux.column(name) for name in predicted}, scene.intruder.file
    )


def _fitted_on_pairs(scene: Scene, shared: Sequence[str]) -> _Model:
    """A model that was fitted on the true pairs themselves."""
    pairs = same_person(scene.intruder.truth, scene.pair.rows)
    if len(pairs) < FEWEST:
        raise ParameterError(
            f"other_columns_linkage: fewer than {FEWEST} true pairs to fit a model on"
        )
    file = scene.intruder.file.take(pairs[:, 0])
    people = scene.pair.original.take(scene.pair.rows[pairs[:, 1]])
    teaching = {name: file.column(name) for name in (*shared, *scene.intruder.others)}
    return _model(
        scene,
        teaching,
        {name: people.column(name) for name in _predictable_columns(scene)},
        scene.intruder.file,
    )


def _model(
    scene: Scene, teaching: dict[str, pl.Series], taught: dict[str, pl.Series], file: Table
) -> _Model:
    features_by_name = {name: _Feature.of(name, column) for name, column in teaching.items()}
    features = [feature for feature in features_by_name.values() if feature is not None]
    if not features:
        raise ParameterError(
            "other_columns_linkage: no column of the intruder's file can be learnt from"
        )
    training_values = np.concatenate(
        [feature.values(teaching[feature.name]) for feature in features], axis=1
    )
    intruder_values = np.concatenate(
        [feature.values(file.column(feature.name)) for feature in features], axis=1
    )
    middle = training_values.mean(axis=0)
    training_values = training_values - middle
    intruder_values = intruder_values - middle
    lines = [name for name in taught if scene.pair.reading(name).scale == "number"]
    numbers = _numbers(scene, taught, lines, training_values, intruder_values)
    categories = [name for name in taught if name not in lines]
    readings = [scene.pair.reading(name) for name in categories]
    surprise = tuple(
        _surprises(reading, taught[name], training_values, intruder_values)
        for name, reading in zip(categories, readings, strict=True)
    )
    return _Model(*numbers, surprise, tuple(reading.released for reading in readings))


def _numbers(
    scene: Scene,
    taught: dict[str, pl.Series],
    names: Sequence[str],
    training_values: Numbers,
    intruder_values: Numbers,
) -> tuple[Numbers, Numbers, Numbers]:
    """What to expect of released numbers, the numbers themselves, and what makes residuals
    independent.
    """
    measures = [_Feature.of(name, taught[name].cast(pl.Float64, strict=False)) for name in names]
    scales = [scale for scale in measures if scale is not None]
    if not scales:
        return (
            np.zeros((len(intruder_values), 0)),
            np.zeros((len(scene.pair.released), 0)),
            np.zeros((0, 0)),
        )
    values = np.concatenate([scale.values(taught[scale.name]) for scale in scales], axis=1)
    readings = [scene.pair.reading(scale.name) for scale in scales]
    standardised = []
    for reading, scale in zip(readings, scales, strict=True):
        middles = reading.middle[reading.released]
        standardised.append((middles - scale.centre) / scale.spread)
    released = np.stack(standardised, axis=1)
    joint_values = np.concatenate([values, training_values], axis=1)
    covariance = np.cov(joint_values, rowvar=False).reshape(
        values.shape[1] + training_values.shape[1], -1
    )
    size = values.shape[1]
    # The slope of released numbers on known ones: solves Σ_BB · slope = Σ_BA.
    ridge = RIDGE * np.eye(training_values.shape[1])
    slope = np.linalg.solve(covariance[size:, size:] + ridge, covariance[size:, :size])
    explained = covariance[:size, size:] @ slope
    residual = covariance[:size, :size] - explained + RIDGE * np.eye(size)
    # With the residual covariance S = L Lᵀ, a gap times L⁻ᵀ has the squared length gᵀ S⁻¹ g.
    whitening = np.linalg.inv(np.linalg.cholesky(_definite(residual))).T
    return values.mean(axis=0) + intruder_values @ slope, released, whitening


def _definite(matrix: Numbers) -> Numbers:
    """The same matrix with no variance below the ridge: rounding makes some negative."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, RIDGE)) @ vectors.T, dtype=np.float64)


def _surprises(
    reading: Reading, column: pl.Series, training_values: Numbers, intruder_values: Numbers
) -> Numbers:
    """−2 log P of each released label for each person, by linear discriminants of what is known of
    them.
    """
    encoded = encode(column)
    classes = [code for code, text in enumerate(encoded.labels) if text is not None]
    amounts = np.array([encoded.counts[code] for code in classes], dtype=np.float64)
    means = np.stack([training_values[encoded.codes == code].mean(axis=0) for code in classes])
    position = {code: at for at, code in enumerate(classes)}
    inside = np.array([encoded.labels[code] is not None for code in encoded.codes])
    class_numbers = [position[code] for code in encoded.codes[inside].tolist()]
    residuals = training_values[inside] - means[class_numbers]
    scatter = residuals.T @ residuals
    penalty = RIDGE * np.eye(training_values.shape[1])
    within = scatter / max(1, len(residuals) - len(classes)) + penalty
    # Linear discriminants with one covariance for all classes: the score of a class with mean m is
    # bᵀ W⁻¹ m − ½ mᵀ W⁻¹ m + log of its share.
    slopes = np.linalg.solve(_definite(within), means.T)
    norms = (means.T * slopes).sum(axis=0)
    log_shares = np.log(amounts / amounts.sum())
    scores = intruder_values @ slopes - 0.5 * norms + log_shares
    # Less the largest, so that the exponential cannot overflow; the shares are the same.
    scores -= scores.max(axis=1, keepdims=True)
    shares = np.exp(scores)
    shares /= shares.sum(axis=1, keepdims=True)
    class_positions = {encoded.labels[code]: at for code, at in position.items()}
    floor = 1.0 / (len(training_values) + len(classes))  # what nobody had may still occur
    surprises = np.zeros((len(intruder_values), len(reading.labels)))
    for code, text in enumerate(reading.labels):
        if text is None or reading.everything[code]:
            continue
        members = reading.members[reading.starts[code] : reading.starts[code + 1]].tolist()
        values = {reading.values[value] for value in members} or {text}
        # A generalised label is as likely as all the values together that it stands for.
        total = sum(
            (
                shares[:, class_positions[value]]
                for value in sorted(v for v in values if v in class_positions)
            ),
            np.zeros(len(intruder_values)),
        )
        surprises[:, code] = -2 * np.log(np.maximum(total, floor))
    return surprises


# Who is linked to whom.


def _own_records(scene: Scene) -> dict[int, list[int]]:
    """Per row of the intruder's file, the released records of the same person."""
    own: dict[int, list[int]] = {}
    for row, record in same_person(scene.intruder.truth, scene.pair.rows).tolist():
        own.setdefault(row, []).append(record)
    return own


def _link_nearest(scene: Scene, model: _Model) -> Credits:
    """Link everybody sought to the nearest record, or a random sample of them, as many as the work
    is enough for.
    """
    targets = np.flatnonzero(scene.intruder.truth >= 0)
    # In random order, so that those who are reached within the work are a random sample.
    order = targets[scene.seed.stream("other columns: in what order").permutation(len(targets))]
    own = _own_records(scene)
    credit = np.zeros(len(order))
    tied = np.zeros(len(order), dtype=np.int64)
    nearest_distance = np.zeros(len(order))
    done_count = 0
    affordable_count = scene.affordable(len(order), model.cost)
    while done_count < affordable_count:
        scene.require_time()
        rows = order[done_count : min(affordable_count, done_count + model.step)]
        table = model.distances(rows)
        for number, row in enumerate(rows.tolist()):
            lowest = float(table[number].min())
            tolerance = TIE * (1 + abs(lowest))
            near = table[number] <= lowest + tolerance
            tied[done_count + number], nearest_distance[done_count + number] = (
                int(near.sum()),
                lowest,
            )
            # Ties are shared out: own records among the nearest over all nearest ones.
            own_records = own.get(row, [])
            credit[done_count + number] = near[own_records].sum() / near.sum()
        done_count += len(rows)
    sorted_rows = np.argsort(order[:done_count], kind="stable")
    return Credits(
        order[:done_count][sorted_rows],
        credit[:done_count][sorted_rows],
        tied=tied[:done_count][sorted_rows],
        least=nearest_distance[:done_count][sorted_rows],
        complete=done_count == len(order),
    )


def _assign_one_to_one(scene: Scene, model: _Model) -> Credits:
    """Link all who are known to be in the release at once, nobody twice."""
    from scipy.optimize import linear_sum_assignment

    rows = np.flatnonzero(scene.intruder.truth >= 0)
    if max(len(rows), len(scene.pair.released)) > MOST_ASSIGNED:
        raise ParameterError(
            f"other_columns_linkage: one-to-one linkage takes files of up to {MOST_ASSIGNED:,} rows"
        )
    parts = []
    for at in range(0, len(rows), model.step):
        parts.append(model.distances(rows[at : at + model.step]))
    table = np.concatenate(parts)
    people, records = linear_sum_assignment(table)
    own = _own_records(scene)
    credit = np.zeros(len(rows))
    # In a release shorter than the file some people are assigned nobody: infinitely far.
    distances = np.full(len(rows), np.inf)
    credit[people] = [
        record in own.get(int(rows[person]), [])
        for person, record in zip(people, records.tolist(), strict=True)
    ]
    distances[people] = table[people, records]
    return Credits(rows, credit, np.ones(len(rows), dtype=np.int64), distances, complete=True)
