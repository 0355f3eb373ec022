"""Planning cell suppression: what is asked for, by which method, within what budget."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.step import Goal
from sfumato.errors import ParameterError
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.models.subsets import KOnSubsets
from sfumato.methods.steps.suppression.suppression import Suppress
from tests.methods.steps.suppression.test_cells import (
    BLANK,
    KEYS,
    blank_columns,
    crowds,
    dataset_of,
    released_rows,
    small_rows,
    survey_table,
)


def fewest(rows, k, prices, wild=()):
    """The least price of any suppression under which every record has k compatible ones: by trying
    all of them.
    """
    width, best = len(rows[0]), None
    sets = [s for size in range(width + 1) for s in itertools.combinations(range(width), size)]
    for chosen in itertools.product(sets, repeat=len(rows)):
        if any(row[a] is None for row, hidden in zip(rows, chosen, strict=True) for a in hidden):
            continue  # there is nothing to hide
        price = sum(prices[a] for hidden in chosen for a in hidden)
        if best is not None and price >= best:
            continue
        marked = [
            tuple(BLANK if a in hidden else v for a, v in enumerate(row))
            for row, hidden in zip(rows, chosen, strict=True)
        ]
        if min(crowds(marked, range(width), {*wild, *blank_columns(marked)})) >= k:
            best = price
    return best


@pytest.mark.slow
@given(data=st.data(), rows=small_rows(most_columns=3, most_rows=4, most_values=2))
@settings(max_examples=40)
def test_exact_is_what_trying_everything_finds(data, rows):
    width = len(rows[0])
    k = data.draw(st.integers(1, len(rows)))
    prices = [data.draw(st.sampled_from([1.0, 1.0, 1.5, 3.0])) for _ in range(width)]
    wild = data.draw(st.sets(st.integers(0, width - 1)))
    importance = {f"c{a}": price for a, price in enumerate(prices)}
    dataset = dataset_of(rows, wild={f"c{a}" for a in wild})
    least = fewest(rows, k, prices, wild)
    for method in ("exact", "auto", "greedy"):
        step = Suppress("cell", importance=importance, method=method)
        plan, _, marked = released_rows(dataset, step, [KAnonymity(k)])
        assert min(crowds(marked, range(width), {*wild, *blank_columns(marked)})) >= k
        paid = sum(importance[c] * n for c, n in plan.suppressed_cells.items())
        if method == "greedy":
            assert paid >= least - 1e-9
        else:
            assert paid == pytest.approx(least)
            assert plan.effort()["gap"] == pytest.approx(0, abs=1e-9)
            assert plan.effort()["lower_bound"] == pytest.approx(least)


@pytest.mark.slow
@given(data=st.data(), rows=small_rows(most_columns=4, most_rows=9))
@settings(max_examples=30)
def test_exact_is_valid_and_never_dearer_than_greedy(data, rows):
    k = data.draw(st.integers(1, len(rows)))
    models = [KAnonymity(k), KOnSubsets(min(len(rows), k + 1), size=1)]
    exact, _, marked = released_rows(dataset_of(rows), Suppress("cell", method="exact"), models)
    greedy, _, _ = released_rows(dataset_of(rows), Suppress("cell"), models)
    wild = blank_columns(marked)
    assert min(crowds(marked, range(len(rows[0])), wild)) >= k
    assert min(min(crowds(marked, [a], wild)) for a in range(len(rows[0]))) >= min(len(rows), k + 1)
    assert exact.effort()["suppressed_cells"] <= greedy.effort()["suppressed_cells"]
    assert exact.effort()["suppressed_cells"] <= k * len(rows[0]), (
        "k records with nothing left would do"
    )


@pytest.mark.parametrize(("k", "cells"), [(2, 3), (3, 6)])
def test_fewest_cells_of_francdat(reference_data, k, cells):
    # sdcMicro 5.8.1 takes 4 and 9 (francdat.localSuppression.k2 and .k3 of its reference results)
    table = survey_table(reference_data, "francdat", KEYS)
    plan = Suppress("cell", method="exact").plan(table, Goal(models=(KAnonymity(k),)))
    assert sum(plan.suppressed_cells.values()) == cells
    assert plan.effort()["gap"] == 0


def test_tables_too_large_for_the_exact_method():
    rows = [(f"a{i}", "x") for i in range(201)]
    with pytest.raises(ParameterError, match="201 classes in 1 columns"):
        Suppress("cell", method="exact").plan(dataset_of(rows), Goal(models=(KAnonymity(2),)))
    plan = Suppress("cell", method="auto").plan(dataset_of(rows), Goal(models=(KAnonymity(2),)))
    assert plan.method == "greedy cell suppression"
    assert (
        Suppress("cell", method="auto")
        .plan(dataset_of(rows[:9]), Goal(models=(KAnonymity(2),)))
        .method.startswith("exact")
    )


def test_effort_that_does_not_suffice_leaves_a_gap_and_says_so():
    rows = [tuple(f"{(7 * i * (a + 3) + i * i) % 5}" for a in range(6)) for i in range(30)]
    plan, _, marked = released_rows(
        dataset_of(rows), Suppress("cell", method="exact", effort=1), [KAnonymity(3)]
    )
    assert min(crowds(marked, range(6), ())) >= 3
    told = plan.effort()
    assert 0 <= told["gap"] <= 1
    assert told["lower_bound"] <= told["price"] == sum(plan.suppressed_cells.values())
