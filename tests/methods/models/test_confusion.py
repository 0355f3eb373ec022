from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sfumato.core.evidence import gather
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError
from sfumato.methods.models import KAnonymity, KConfusion


def table(rows):
    return Table(pl.DataFrame({"zip": list(range(rows))}, schema={"zip": pl.Int64})).with_roles(
        quasi=["zip"]
    )


@st.composite
def posteriors(draw):
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    raw = draw(
        st.lists(
            st.lists(st.integers(0, 4), min_size=columns, max_size=columns),
            min_size=rows,
            max_size=rows,
        )
    )
    found = np.array(raw, dtype=float)
    found[found.sum(axis=1) == 0, 0] = 1
    return found / found.sum(axis=1, keepdims=True)


@given(posteriors(), st.integers(1, 4), st.sampled_from([None, 0.1, 0.2, 0.25]))
def test_counts_likely_originals(matrix, k, t):
    expected = [sum(p > 0 if t is None else p >= t - 1e-9 for p in row) for row in matrix.tolist()]
    model = KConfusion(k, t=t)
    for form in (matrix, sparse.csr_array(matrix), sparse.coo_matrix(matrix), matrix.tolist()):
        verdict = model.judge(gather(table(len(matrix)), [model], posteriors=[form]))
        assert verdict.per_class.tolist() == expected
        assert (verdict.attained, verdict.holds) == (min(expected), min(expected) >= k)
        assert verdict.records == sum(n < k for n in expected)


def test_the_worst_attack_counts():
    even = np.full((3, 3), 1 / 3)
    sure = np.eye(3)
    model = KConfusion(3, t=1 / 3)
    assert model.judge(gather(table(3), [model], posteriors=[even]))
    both = model.judge(gather(table(3), [model], posteriors=[even, sure]))
    assert (both.attained, both.records) == (1, 3)
    assert ", not guaranteed" in both.sentence
    assert "not guaranteed" in model.judge(gather(table(3), [model], posteriors=[even])).sentence


def test_k_anonymous_classes_as_an_attack():
    """An intruder who sees classes of 2 and 3 guesses evenly among their members: (2,
    1/3)-confusion, not (3, 1/3).
    """
    inside = np.zeros((5, 5))
    inside[:2, :2], inside[2:, 2:] = 1 / 2, 1 / 3
    evidence = gather(table(5), [KConfusion(2)], posteriors=[inside])
    assert KConfusion(2, t=1 / 3).judge(evidence)
    assert not KConfusion(3, t=1 / 3).judge(evidence)


def test_implications():
    assert KConfusion(3, t=0.2).implies(KConfusion(2, t=0.1))
    assert KConfusion(3, t=0.2).implies(KConfusion(3))
    assert not KConfusion(3).implies(KConfusion(3, t=0.2))
    assert not KAnonymity(3).implies(KConfusion(3))


@pytest.mark.parametrize("arguments", [(0,), (2, 0), (2, 0.6), (3, 0.4), (1, 1.2)])
def test_parameters_out_of_range(arguments):
    with pytest.raises(ParameterError):
        KConfusion(*arguments)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.eye(2), "2 released records; there are 3"),
        (np.full((3, 3), 0.2), "3 of 3 released records probabilities that do not sum to 1"),
        (np.array([[1.5, -0.5, 0], [1, 0, 0], [1, 0, 0]]), "negative or missing"),
        (np.array([[np.nan, 0, 0], [1, 0, 0], [1, 0, 0]]), "negative or missing"),
    ],
)
def test_what_is_no_posterior(matrix, message):
    model = KConfusion(1)
    with pytest.raises(SchemaError, match=message):
        model.judge(gather(table(3), [model], posteriors=[matrix]))


def test_bad_use():
    model = KConfusion(2)
    with pytest.raises(SchemaError, match="posteriors="):
        model.judge(gather(table(3), [model]))
    with pytest.raises(ParameterError, match="cannot be reached"):
        model.failing(gather(table(3), []))
    assert model.facts.measure == "quantitative"


def test_empty_table():
    verdict = KConfusion(2).judge(gather(table(0), [KConfusion(2)], posteriors=[np.zeros((0, 4))]))
    assert (verdict.holds, verdict.attained) == (True, None)
