"""Metrics of generalised tables: worked numbers, naive definitions, what the search said."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.pair import TablePair
from sfumato.core.table import Table
from sfumato.release.evaluation import default_metrics
from tests.methods.utility.pairs_of_tables import patients, recoded
from tests.oracles import definitions as oracle
from tests.oracles import utility_metrics
from tests.random_tables import tables

QUASI = ["age", "sex", "zip"]


def raw(metric, pair):
    return metric.measure(pair).raw


@pytest.mark.parametrize(
    ("release", "metric", "expected"),
    [
        # G26: the patients of LeFevre et al. 2006 released with k = 2, one recoding a column or one
        # a region
        ("single", sf.Discernibility(), 20),
        ("multi", sf.Discernibility(), 12),
        ("single", sf.NormalisedClassSize(2), 1.5),
        ("multi", sf.NormalisedClassSize(2), 1.0),
        ("single", sf.AverageClassSize(), 3),
        ("multi", sf.AverageClassSize(), 2),
        ("single", sf.Loss(["age"]), 1),
        ("single", sf.Loss(["sex"]), 0),
        ("single", sf.Loss(["zip"]), 1 / 3),
        ("single", sf.Loss(), 0.44444),
        ("multi", sf.Loss(["age"]), 0.44444),
        ("multi", sf.Loss(["zip"]), 1 / 6),
        ("multi", sf.Loss(), 0.20370),
        ("single", sf.Ambiguity(), 6.6667),
        ("multi", sf.Ambiguity(), 3.0),
        ("single", sf.SquaredError(QUASI), 0.060185),
        ("multi", sf.SquaredError(QUASI), 0.025463),
        ("single", sf.NonUniformEntropy(["age"]), 11.5098),
        ("single", sf.NonUniformEntropy(["sex"]), 0),
        ("single", sf.NonUniformEntropy(["zip"]), 3.2451),
        ("multi", sf.NonUniformEntropy(["age"]), 6.9837),
        ("multi", sf.NonUniformEntropy(["zip"]), 2.4150),
        ("single", sf.KullbackLeibler(), 1.0),
        ("multi", sf.KullbackLeibler(), 0.52832),
    ],
)
def test_patients(release, metric, expected):
    assert raw(metric, patients(release)) == pytest.approx(expected, abs=5e-5)


def test_most_bits_of_the_patients():
    # G26: suppressing everything loses 11.5098, 5.5098 and 8.7549 bits
    nothing = TablePair.of(
        sf.examples.patients(), sf.examples.patients().take(np.zeros(0, dtype=np.int64))
    )
    for column, bits in (("age", 11.5098), ("sex", 5.5098), ("zip", 8.7549)):
        assert raw(sf.NonUniformEntropy([column]), nothing) == pytest.approx(bits, abs=5e-5)


def faggioli(node, k, budget):
    people = sf.examples.faggioli().drop(["ssn", "name"])
    levels = dict(zip(people.schema.quasi, [(level, level) for level in node], strict=True))
    step = sf.GlobalRecoding(levels=levels, budget=budget)
    return sf.anonymize(people, [sf.KAnonymity(k)], [step], seed=1)


def test_faggioli():
    # G04: the node (1,2,0,2,1) of the nine people has C_DM 29, Prec 0.36667 and the heights 1, 2/3,
    # 0, 1, 1/2
    release = faggioli((1, 2, 0, 2, 1), 2, 0)
    pair = TablePair.of(release.original, release.released)
    assert raw(sf.Discernibility(), pair) == 29
    assert raw(sf.Precision(), pair) == pytest.approx(0.36667, abs=5e-6)
    assert list(sf.Height().measure(pair).per_column.values()) == pytest.approx(
        [1, 2 / 3, 0, 1, 1 / 2]
    )
    assert raw(sf.Height(), pair) == 6


def test_faggioli_with_two_suppressed():
    # G04: the node (1,1,0,2,1) with two suppressed has C_DM 35 (DM* 21) and Prec 0.33704
    release = faggioli((1, 1, 0, 2, 1), 2, 0.25)
    pair = TablePair.of(release.original, release.released)
    assert pair.suppressed == 2
    assert raw(sf.Discernibility(), pair) == 35
    assert raw(sf.Discernibility(penalty="class"), pair) == 21
    assert raw(sf.Precision(), pair) == pytest.approx(0.33704, abs=5e-6)


def test_illness_tree():
    # G27: height 1/(3−1), LM(HIV → virus infection) = (2−1)/(5−1), LM(common cold → bacterial
    # infection) = 0
    people = sf.examples.illnesses()
    groups = ["Virus infection", "Virus infection", "Bacterial infection", "Fracture"]
    pair = TablePair.of(people, people.with_columns({"illness": pl.Series(groups)}))
    assert sf.Height(["illness"]).measure(pair).value == 0.5
    assert sf.Loss(["illness"]).measure(pair).per_record.tolist() == [0.25, 0.25, 0.0, 0.25]


@pytest.mark.slow
@given(data=st.data(), table=tables(most_rows=16), k=st.integers(1, 3))
def test_what_the_search_scores_is_what_is_measured(data, table, k):
    node = tuple(data.draw(st.integers(0, d - 1)) for d in table.depths)
    weights = {n: data.draw(st.sampled_from([0.5, 1.0, 2.0])) for n in table.names}
    pair, gone = recoded(table, node, k)
    scores = oracle.node_scores(
        table.rows,
        table.paths,
        table.leaves,
        table.depths,
        node,
        gone,
        [weights[n] for n in table.names],
    )
    assert sf.Loss(weights=weights).measure(pair).value == pytest.approx(scores["loss"], abs=1e-9)
    assert sf.NonUniformEntropy(weights=weights).measure(pair).value == pytest.approx(
        scores["entropy"], abs=1e-9
    )
    assert raw(sf.AverageClassSize(), pair) == pytest.approx(scores["class_size"])
    assert raw(sf.Discernibility(), pair) == pytest.approx(scores["discernibility"])
    # a column of nothing but missing values does not tell its level
    kept = [row for row, lost in zip(table.rows, gone, strict=True) if not lost]
    assume(kept and all(any(row[a] is not None for row in kept) for a in range(len(table.names))))
    assert sf.Precision(weights=weights).measure(pair).value == pytest.approx(
        scores["precision"], abs=1e-9
    )
    assert sf.Height(weights=weights).measure(pair).value == pytest.approx(
        scores["height"], abs=1e-9
    )


@given(data=st.data(), table=tables(most_rows=10, most_leaves=3), k=st.integers(1, 3))
def test_naive_definitions(data, table, k):
    node = tuple(data.draw(st.integers(0, d - 1)) for d in table.depths)
    pair, gone = recoded(table, node, k)
    boxes = utility_metrics.boxes(table.rows, table.paths, table.depths, [node] * len(gone), gone)
    assert raw(sf.Ambiguity(), pair) == pytest.approx(utility_metrics.ambiguity(table.rows, boxes))
    assert raw(sf.KullbackLeibler(), pair) == pytest.approx(
        utility_metrics.divergence(table.rows, boxes), abs=1e-9
    )
    assert sf.NormalisedCertaintyPenalty().measure(pair).value == pytest.approx(
        utility_metrics.certainty_penalty(table.rows, table.paths, table.depths, node, gone),
        abs=1e-9,
    )


@given(data=st.data(), table=tables(most_rows=8, most_leaves=3))
def test_naive_definitions_of_local_recoding(data, table):
    nodes = [tuple(data.draw(st.integers(0, d - 1)) for d in table.depths) for _ in table.rows]
    gone = data.draw(st.lists(st.booleans(), min_size=len(table.rows), max_size=len(table.rows)))
    kept = [i for i, lost in enumerate(gone) if not lost]
    labels = [
        oracle.generalised([row], table.paths, table.depths, node)[0]
        for row, node in zip(table.rows, nodes, strict=True)
    ]
    original = table.dataset()
    shared = original.take(np.array(kept, dtype=np.int64)).with_columns(
        {
            n: pl.Series(n, [labels[i][a] for i in kept], dtype=pl.String)
            for a, n in enumerate(table.names)
        }
    )
    pair = TablePair.of(original, shared)
    boxes = utility_metrics.boxes(table.rows, table.paths, table.depths, nodes, gone)
    assert raw(sf.Ambiguity(), pair) == pytest.approx(utility_metrics.ambiguity(table.rows, boxes))
    assert raw(sf.KullbackLeibler(), pair) == pytest.approx(
        utility_metrics.divergence(table.rows, boxes), abs=1e-9
    )


@pytest.mark.parametrize(
    "objective", ["loss", "precision", "entropy", "class_size", "discernibility", "height"]
)
def test_a_release_is_worth_what_its_search_found(objective):
    step = sf.GlobalRecoding(budget=0.05, objective=objective)
    release = sf.anonymize(sf.examples.hospital(), [sf.KAnonymity(3)], [step], seed=1)
    metrics = {
        "loss": ("loss", False),
        "precision": ("precision", False),
        "entropy": ("non_uniform_entropy", False),
        "class_size": ("average_class_size", True),
        "discernibility": ("discernibility", True),
        "height": ("height", False),
    }
    name, own_unit = metrics[objective]
    found = sf.evaluate(release, metrics=[name]).measures[0]
    assert (found.raw if own_unit else found.value) == pytest.approx(release.scores[objective])


def test_overlapping_boxes_are_compared_pair_by_pair():
    # the ring: four people, each released as itself or its neighbour; every value has density 1/4
    # again
    pair = TablePair.of(sf.examples.ring(), sf.examples.ring(released=True))
    assert raw(sf.KullbackLeibler(), pair) == pytest.approx(0, abs=1e-12)
    assert raw(sf.Ambiguity(), pair) == pytest.approx(2)


@pytest.mark.parametrize(
    "metric",
    [
        sf.Loss(),
        sf.NormalisedCertaintyPenalty(),
        sf.Precision(),
        sf.Height(),
        sf.Ambiguity(),
        sf.KullbackLeibler(),
        sf.NonUniformEntropy(),
        sf.AverageClassSize(),
        sf.Discernibility(),
        sf.NormalisedClassSize(2),
    ],
    ids=lambda m: m.name,
)
def test_changed_values_are_not_generalised_values(metric):
    people = sf.examples.patients()
    swapped = TablePair.of(people, people.with_columns({"zip": people.column("zip").reverse()}))
    assert metric.applies(swapped) == "values were changed, not generalised, in zip"
    with pytest.raises(
        sf.errors.SchemaError, match=f"{metric.name} cannot be measured: values were changed"
    ):
        metric.measure(swapped)


def test_a_column_that_was_not_released_is_lost():
    people = sf.examples.patients()
    pair = TablePair.of(people, people.drop(["zip"]))
    for metric in (
        sf.Loss(),
        sf.NormalisedCertaintyPenalty(),
        sf.Precision(),
        sf.Height(),
        sf.NonUniformEntropy(),
    ):
        assert metric.measure(pair).per_column == pytest.approx({"age": 0, "sex": 0, "zip": 1}), (
            metric.name
        )
    assert raw(sf.Ambiguity(), pair) == pytest.approx(3)
    assert sf.SquaredError(["zip"]).measure(pair).value == 1


def test_ambiguity_beyond_floats():
    columns = {f"c{i}": [str(v) for v in range(120)] for i in range(150)}
    table = sf.read(pl.DataFrame(columns)).with_roles(quasi=list(columns))
    hidden = table.with_columns({name: pl.Series(["*"] * 120) for name in columns})
    found = sf.Ambiguity().measure(TablePair.of(table, hidden))
    assert found.raw is None
    assert found.value == pytest.approx(1)
    half = table.with_columns({name: pl.Series(["*"] * 120) for name in list(columns)[:30]})
    assert sf.Ambiguity().measure(TablePair.of(table, half)).value == pytest.approx(0.2)


rows_of_counts = st.lists(
    st.tuples(
        st.sampled_from(["11", "12", "21", None]),
        st.integers(1, 5),
        st.integers(1, 4),
        st.booleans(),
    ),
    min_size=1,
)


@given(rows_of_counts)
def test_a_pair_of_counts_is_measured_as_the_records_it_stands_for(
    drawn: list[tuple[str | None, int, int, bool]],
) -> None:
    """Every combination was released once for all its records: at its level, or not at all."""
    frame = pl.DataFrame(
        drawn,
        schema={"zip": pl.String, "age": pl.Int64, "n": pl.Int64, "kept": pl.Boolean},
        orient="row",
    )
    made = frame.with_columns(zip=pl.col("zip").str.slice(0, 1) + "*", age=pl.col("age") // 2 * 2)

    def pair(counts: bool) -> TablePair:
        rows = (
            np.arange(len(frame))
            if counts
            else np.repeat(np.arange(len(frame)), frame["n"].to_numpy())
        )
        copies = frame["n"].to_numpy() if counts else None

        def table(of: pl.DataFrame) -> Table:
            held = Table(of[rows].select("zip", "age"), copies=copies)  # type: ignore[arg-type]
            return held.with_roles(quasi=["zip", "age"]).with_hierarchies(
                zip=sf.mask_right(2), age=sf.intervals(2)
            )

        return TablePair.of(
            table(frame), table(made).take(np.flatnonzero(frame["kept"].to_numpy()[rows]))
        )

    for metric in (each for each in default_metrics() if each.counts):
        few, all_records = pair(counts=True), pair(counts=False)
        assert (metric.applies(few) is None) == (metric.applies(all_records) is None)
        if metric.applies(few) is None:
            one, other = metric.measure(few), metric.measure(all_records)
            assert (one.value, one.raw) == (pytest.approx(other.value), pytest.approx(other.raw))
            assert one.per_column == pytest.approx(other.per_column)
