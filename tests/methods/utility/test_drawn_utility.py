"""What drawn rows are worth: tables of columns, propensity beside the right null, learning from
them, and what does not apply.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.consistency import NOBODYS
from sfumato.core.pair import TablePair
from sfumato.methods.utility.predictive import (
    PredictiveAccuracy,
    Propensity,
    expected_for_synthetic_data,
    propensity_test,
)
from sfumato.methods.utility.query_workload import QueryWorkload
from sfumato.methods.utility.tables import CountError, MarginalError
from sfumato.release.evaluation import default_metrics
from tests.methods.attacks.drawn_rows import DrawColumns, pair_of, people

ROLES = {"quasi": ["age", "sex", "zip"], "keep": ["income"], "sensitive": ["illness"]}


def naive_error(before, after, ways):
    """The mean L1 distance of all tables, straight from the definition."""
    names = before.columns
    errors = []
    for chosen in itertools.combinations(names, min(ways, len(names))):
        one, other = (Counter(table.select(chosen).rows()) for table in (before, after))
        errors.append(
            sum(
                abs(one[c] / len(before) - other[c] / len(after)) for c in one.keys() | other.keys()
            )
        )
    return sum(errors) / len(errors)


cells = st.tuples(st.sampled_from("abc"), st.sampled_from([None, "x", "y"]), st.integers(0, 3))


@given(st.lists(cells, min_size=1, max_size=20), st.data(), st.integers(1, 3))
def test_the_error_of_tables_is_that_of_the_definition(rows, data, ways):
    names = {"a": pl.String, "b": pl.String, "c": pl.Int64}
    before = pl.DataFrame(rows, schema=names, orient="row")
    places = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=20))
    after = before[places]
    found = MarginalError(ways=ways).measure(pair_of(before, after, [0]))
    assert found.raw == pytest.approx(naive_error(before, after, ways))
    assert 0 <= found.value <= 1


def test_the_error_of_tables_of_a_worked_example():
    # shares 1/4 each in the four cells, 1/2 and 1/2 in two of them after: |1/4-1/2| twice
    # and |1/4-0| twice
    before = pl.DataFrame({"a": ["0", "0", "1", "1"], "b": ["0", "1", "0", "1"]})
    after = pl.DataFrame({"a": ["0", "1"], "b": ["0", "1"]})
    found = MarginalError().measure(pair_of(before, after, None))
    assert found.raw == 1.0 and found.per_column == {"a": 0.5, "b": 0.5}
    assert MarginalError(ways=1).measure(pair_of(before, after, None)).value == 0.0


def test_the_error_of_tables_is_measured_alike_on_recoded_masked_and_drawn_records():
    table = people().with_hierarchies(
        age=sf.intervals(10, 20), sex=sf.suppress(), zip=sf.mask_right(4)
    )
    recoded = sf.anonymize(table, sf.KAnonymity(3), sf.GlobalRecoding(budget=0.1), seed=1)
    masked = sf.anonymize(
        table, (), sf.AddNoise(["age", "income"], alpha=0.1), limits={"linkage": 1}, seed=1
    )
    drawn = sf.anonymize(table, (), DrawColumns(), limits={"copied_records": 1}, seed=1)
    for release in (recoded, masked, drawn):
        assert 0 < release.evaluate(["marginal_error"]).measure("marginal_error").value < 1
    itself = MarginalError().measure(TablePair.of(table, table))
    assert itself.raw == 0.0


def test_a_number_that_only_the_release_has_counts_as_the_nearest():
    before = pl.DataFrame({"n": [1.0, 2.0, 4.0, 8.0]})
    near = pl.DataFrame({"n": [1.4, 2.9, 4.1, 100.0]})
    assert MarginalError(ways=1).measure(pair_of(before, near, None)).raw == 0.0


def test_the_null_of_propensity_is_that_of_draws_from_a_right_model():
    draw = np.random.default_rng(5)
    table = pl.DataFrame(draw.normal(size=(400, 3)), schema=["a", "b", "c"])
    after = pl.DataFrame(draw.normal(size=(200, 3)), schema=["a", "b", "c"])
    test = propensity_test(
        pair_of(table, after, None, keep=["a", "b", "c"]), Propensity(permutations=5)
    )
    assert test.parameters == 4 and test.share == pytest.approx(1 / 3)
    assert test.null_mean == pytest.approx(expected_for_synthetic_data(4, 600, 1 / 3))
    assert test.null_deviation == pytest.approx(math.sqrt(2 * 3) * (2 / 3) ** 2 * (1 / 3) / 600)


def test_draws_from_a_fitted_model_have_the_ratio_one():
    # normal with fitted mean and variance, k - 1 = 1: over 200 tables the mean ratio has a
    # deviation of sqrt(2/200) = 0.1; the bounds are four of them away: an error in less than 1 of
    # 10,000 runs
    draw, ratios = np.random.default_rng(6), []
    for _ in range(200):
        before = draw.normal(size=100)
        after = draw.normal(before.mean(), before.std(ddof=1), 100)
        pair = pair_of(pl.DataFrame({"n": before}), pl.DataFrame({"n": after}), None, keep=["n"])
        ratios.append(propensity_test(pair, Propensity(permutations=1)).ratio)
    assert 0.6 < float(np.mean(ratios)) < 1.4


def test_a_model_that_learned_from_drawn_rows_is_tested_on_people_set_aside():
    table = people(600)
    pair = pair_of(table.to_polars(), people(300, seed=2).to_polars(), range(50), **ROLES)
    learn, test = PredictiveAccuracy("illness")._people(pair)
    assert test.tolist() == list(range(50)) and learn.min() == 50
    found = PredictiveAccuracy("illness").measure(pair)
    assert "tested on people" not in found.meaning
    without = pair_of(table.to_polars(), people(300, seed=2).to_polars(), None, **ROLES)
    assert (
        "whom the synthetic rows may resemble"
        in PredictiveAccuracy("illness").measure(without).meaning
    )


def test_counts_of_drawn_rows_are_taken_as_shares():
    table = people(500).to_polars()
    twice, half = pl.concat([table, table]), table[::2]
    pair = pair_of(table, twice, None, **ROLES)
    assert CountError({"sex": "f"}).measure(pair).value == pytest.approx(0.0)
    assert QueryWorkload().measure(pair).raw == pytest.approx(0.0)
    assert QueryWorkload().measure(pair_of(table, half, None, **ROLES)).raw < 0.5


def test_every_metric_is_measured_on_drawn_rows_or_says_why_not():
    release = sf.anonymize(people(), (), DrawColumns(), limits={"copied_records": 1}, seed=3)
    found = release.evaluate()
    measured = {measure.name for measure in found.measures}
    assert {
        "propensity",
        "marginal_error",
        "means",
        "correlations",
        "query_workload",
        "validity",
    } <= measured
    for metric in default_metrics():
        assert metric.follows_rows == (found.skipped.get(metric.name) == NOBODYS), metric.name
    assert "rows are synthetic" in str(found) and "of 400 records released" not in str(found)


def test_a_contract_on_what_needs_originals_does_not_survive():
    from sfumato.core.recipe import Agreement
    from sfumato.methods.utility.squared_error import SquaredError

    kept = Agreement(SquaredError(), at_most=1.0).judge(
        pair_of(people().to_polars(), people().to_polars(), None)
    )
    assert not kept.holds and "rows are synthetic" in kept.sentence
