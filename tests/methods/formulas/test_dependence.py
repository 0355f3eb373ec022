"""What a released column tells of a quasi-identifier inside its label: formulas beside a naive
oracle, worked examples, small tables.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import sfumato as sf
from sfumato.core.pair import TablePair
from sfumato.methods.formulas.dependence import (
    DependenceKind,
    Figures,
    Spans,
    dense,
    figures_of,
    line_of,
    number_codes,
    screened_bits,
    within_labels,
)
from sfumato.methods.formulas.dependence_search import Dependences, find_dependences
from sfumato.methods.formulas.implied_linkage import (
    TableEvidence,
    implied_linkage,
)

# A naive oracle: counts record by record.


def _hit(own: int, others: list[int]) -> float:
    counts = Counter(others)
    mine = counts[own]
    rival = max((c for v, c in counts.items() if v != own), default=0)
    if mine > rival:
        return 1.0
    return 0.5 if mine == rival and mine > 0 else 0.0


def naive_figures(
    q: list[int], label: list[int], r: list[int]
) -> tuple[float, float, float, float]:
    """A, B, U and V by the definitions."""
    values = {
        one: {v for v, where in zip(q, label, strict=True) if where == one} for one in set(label)
    }
    rows = [i for i in range(len(q)) if len(values[label[i]]) > 1]
    width = len({q[i] for i in rows})
    hits0, hits1, bits0, bits1, shares = {}, {}, [], [], {}
    for i in rows:
        same_label = [q[j] for j in rows if j != i and label[j] == label[i]]
        same_both = [q[j] for j in rows if j != i and label[j] == label[i] and r[j] == r[i]]
        hits0[i] = _hit(q[i], same_label)
        hits1[i] = _hit(q[i], same_both) if same_both else hits0[i]
        shares[i] = same_label.count(q[i]) / max(1, len(same_label))
        p0 = (same_label.count(q[i]) + 1 / width) / (len(same_label) + 1)
        p1 = (same_both.count(q[i]) + 2 * p0) / (len(same_both) + 2)
        bits0.append(-math.log2(p0))
        bits1.append(-math.log2(p1))
    n = len(rows)
    sure = 0
    for value in set(r):
        own = [i for i in rows if r[i] == value]
        if len(own) < 20:
            continue
        now = sum(hits1[i] for i in own) / len(own)
        then = min(sum(hits0[i] for i in own), sum(shares[i] for i in own)) / len(own)
        sure += len(own) if now >= 0.95 and then <= 0.8 else 0
    before, after = sum(bits0) / n, sum(bits1) / n
    return (
        sum(hits1.values()) / n,
        sum(hits0.values()) / n,
        max(0.0, 1 - after / before) if before >= 0.1 else 0.0,
        sure / n,
    )


def naive_linkage(q: list[int], classes: list[int], r: list[int]) -> float:
    n, total = len(q), 0.0
    for i in range(n):
        scores = {}
        for j in range(n):
            if classes[j] != classes[i]:
                continue
            others = [q[m] for m in range(n) if m != j and r[m] == r[j]]
            scores[j] = (others.count(q[i]) + 2 * q.count(q[i]) / n) / (len(others) + 2)
        best = max(scores.values())
        tied = [j for j, score in scores.items() if score >= best - 1e-12]
        total += 1 / len(tied) if i in tied else 0.0
    return total / n


@pytest.mark.parametrize("turn", range(40))
def test_hits_bits_and_values_agree_with_counting_record_by_record(turn: int) -> None:
    rng = np.random.default_rng(turn)
    n = int(rng.integers(20, 160))
    q = rng.integers(0, rng.integers(2, 9), n)
    label = q // int(rng.integers(1, 4)) if turn % 2 else rng.integers(0, 4, n)
    r = (
        np.where(rng.random(n) < rng.random(), q, rng.integers(0, 6, n))
        if turn % 3
        else rng.integers(0, n, n)
    )
    figures = figures_of(q, label, r)
    if figures.records < 2:
        assert len({*zip(q.tolist(), label.tolist(), strict=True)}) == len(set(label.tolist()))
        return
    told = (figures.hit, figures.base, figures.bits, figures.sure)
    assert told == pytest.approx(naive_figures(q.tolist(), label.tolist(), r.tolist()), abs=1e-12)


@pytest.mark.parametrize("turn", range(20))
def test_implied_linkage_agrees_with_counting_record_by_record(turn: int) -> None:
    rng = np.random.default_rng(turn)
    n = int(rng.integers(10, 90))
    q = rng.integers(0, rng.integers(2, 9), n)
    classes = dense(rng.integers(0, max(1, n // 5), n))
    r = np.where(rng.random(n) < rng.random(), q, rng.integers(0, 6, n))
    found = implied_linkage(classes, [TableEvidence.of(q, r)], k=5)
    assert found.rate == pytest.approx(
        naive_linkage(q.tolist(), classes.tolist(), r.tolist()), abs=1e-12
    )
    assert found.class_only == pytest.approx(len(set(classes.tolist())) / n)
    assert found.low <= found.rate <= found.high


@pytest.mark.parametrize("turn", range(20))
def test_the_screen_leaves_the_own_record_out(turn: int) -> None:
    rng = np.random.default_rng(turn)
    n = int(rng.integers(5, 200))
    q, r = rng.integers(0, 5, n), rng.integers(0, rng.integers(1, n + 1), n)
    gain, saved, totals = screened_bits(q, r)
    hits = [_hit(q[i], [q[j] for j in range(n) if j != i and r[j] == r[i]]) for i in range(n)]
    base = max(Counter(q.tolist()).values()) / n
    assert gain == pytest.approx(max(0.0, (sum(hits) / n - base) / (1 - base)) if base < 1 else 0.0)
    assert totals.sum() == n
    expected = 0.0
    for i in range(n):
        others = [q[j] for j in range(n) if j != i and r[j] == r[i]]
        prior = (q == q[i]).mean()
        expected += math.log2((others.count(q[i]) + 2 * prior) / (len(others) + 2) / prior)
    assert saved.sum() == pytest.approx(expected)


# Codes and spans.


def test_numbers_with_many_values_become_bins_and_equal_ones_share_theirs() -> None:
    rng = np.random.default_rng(4)
    values = rng.normal(size=3000).round(2)
    codes = number_codes(values, 64)
    assert len(set(codes.tolist())) <= 64
    order = np.argsort(values)
    assert (np.diff(codes[order]) >= 0).all()
    assert all(len({*codes[values == v].tolist()}) == 1 for v in np.unique(values)[:50])


def test_codes_inside_labels_tell_values_apart_however_narrow_the_label() -> None:
    values = np.arange(5000.0)
    label = (values // 10).astype(np.int64)
    codes = within_labels(values, label)
    assert len({*zip(label.tolist(), codes.tolist(), strict=True)}) == 5000
    assert codes.max() <= 64


def test_a_span_is_that_of_the_label() -> None:
    values = np.array([0.0, 4.0, 8.0, 12.0, 100.0, 100.0])
    spans = Spans.of(values, np.array([0, 0, 0, 0, 1, 1]))
    assert spans.width.tolist() == [12, 12, 12, 12, 0, 0]
    assert spans.middle[:4].tolist() == [6, 6, 6, 6]
    assert (spans.near[:4] <= 3 + 1e-6).all()


# Worked examples: what must be found, and what must not.

Numbers = NDArray[np.float64]


def _compared(
    q: list[object] | NDArray[np.generic],
    label: NDArray[np.generic],
    crowd: int | None = None,
    **released: Any,
) -> Dependences:
    """A release in which a quasi-identifier has these labels, beside columns as they are; ``crowd``
    records have the same place.
    """
    place = np.arange(len(q)) // crowd if crowd else np.zeros(len(q), dtype=np.int64)
    table = pl.DataFrame({"q": q, "place": place, **released})
    original = sf.read(table).with_roles(quasi=["q", "place"], keep=tuple(released))
    shared = original.with_columns({"q": pl.Series("q", label).cast(pl.String)})
    return find_dependences(TablePair.of(original, shared), k=5)


def _findings(found: Dependences) -> dict[tuple[str, ...], DependenceKind]:
    return {each.columns: each.finding for each in found.found}


RNG = np.random.default_rng(0)
AGE = RNG.integers(18, 90, 6000)
TENS = AGE // 10


def test_a_copy_with_exceptions_nearly_determines() -> None:
    rng = np.random.default_rng(5)
    accounts = rng.poisson(11, 10_000)
    lines = np.where(rng.random(10_000) < 0.98, accounts, rng.poisson(11, 10_000))
    found = _compared(
        accounts,
        accounts // 3,
        lines=lines,
        rate=rng.normal(10, 3, 10_000),
        balance=rng.permutation(10_000),
    )
    assert _findings(found) == {("lines",): DependenceKind.NEARLY}


def test_a_birth_year_off_by_one_nearly_determines_an_age() -> None:
    year = 2018 - AGE - RNG.integers(0, 2, len(AGE))
    assert _findings(_compared(AGE, TENS, year=year)) == {("year",): DependenceKind.NEARLY}
    assert _findings(_compared(AGE, AGE, year=year)) == {}


def test_a_noisy_copy_narrows() -> None:
    noisy = (AGE + RNG.normal(0, 2, len(AGE))).round(1)
    assert _findings(_compared(AGE, TENS, noisy=noisy)) == {("noisy",): DependenceKind.NARROWS}


def test_a_correlation_over_the_whole_range_tells_little_inside_a_decade() -> None:
    rng = np.random.default_rng(6)
    smoking = np.clip((AGE - 18) * rng.uniform(0.5, 1, len(AGE)), 1, None).round()
    assert np.corrcoef(AGE, smoking)[0, 1] > 0.85
    assert _findings(_compared(AGE, TENS, smoking=smoking, children=rng.poisson(AGE / 30))) == {}


def test_a_scale_of_another_kind_is_a_copy() -> None:
    rng = np.random.default_rng(7)
    celsius = rng.normal(15, 8, 3000).round(1)
    fahrenheit = (celsius * 1.8 + 32).round(1)
    assert _findings(_compared(celsius, celsius // 5, fahrenheit=fahrenheit)) == {
        ("fahrenheit",): DependenceKind.NEARLY
    }


def test_a_copy_of_numbers_that_nobody_shares_is_found_by_the_line() -> None:
    rng = np.random.default_rng(8)
    income = np.exp(rng.normal(10, 0.8, 5000)).round(2)
    label = np.argsort(np.argsort(income)) // 10
    euros = (income * 0.92).round(2)
    found = _compared(income, label, euros=euros, other=rng.permutation(euros))
    assert _findings(found) == {("euros",): DependenceKind.NEARLY}
    assert found.found[0].figures.line == pytest.approx(1.0)
    curved = np.log(income)
    assert _findings(_compared(income, label, curved=curved)) == {
        ("curved",): DependenceKind.NEARLY
    }


def test_a_sum_of_three_parts_is_named_with_all_of_them() -> None:
    rng = np.random.default_rng(9)
    parts = np.exp(rng.normal(6, 1, (5000, 3))).round(0)
    total = parts.sum(axis=1)
    columns = {f"part{i}": parts[:, i] for i in range(3)}
    found = _compared(total, total // 500, **columns, other=rng.normal(size=5000))
    assert [sorted(each.columns) for each in found.found] == [["part0", "part1", "part2"]]
    assert found.found[0].refused
    assert _findings(_compared(total, total // 500, part0=parts[:, 0], part1=parts[:, 1])) == {}


def test_a_difference_of_two_columns_is_found() -> None:
    rng = np.random.default_rng(10)
    start = rng.integers(0, 1000, 4000)
    stay = rng.integers(1, 60, 4000)
    found = _compared(stay, stay // 10, start=start, end=start + stay)
    assert _findings(found) == {("end", "start"): DependenceKind.NEARLY} or set(
        _findings(found)
    ) in (
        {("start", "end")},
        {("end", "start")},
    )


def test_missing_there_is_a_leak() -> None:
    rng = np.random.default_rng(11)
    device = rng.choice(["a", "b"], 3000)
    reading = np.where(device == "a", rng.normal(size=3000), np.nan)
    found = _compared(device, np.zeros(3000), reading=reading)
    assert _findings(found) == {("reading",): DependenceKind.DETERMINES}


@pytest.mark.parametrize("share", [0.3, 0.5])
def test_one_direction_is_found_for_few_people(share: float) -> None:
    rng = np.random.default_rng(12)
    female = rng.random(6000) < share
    pregnant = female & (rng.random(6000) < 0.03)
    sex = np.where(female, "f", "m")
    found = _compared(sex, np.zeros(6000), crowd=6, pregnant=pregnant)
    assert _findings(found) == {("pregnant",): DependenceKind.SOME}
    assert found.found[0].refused
    everybody_together = _compared(sex, np.zeros(6000), pregnant=pregnant)
    assert _findings(everybody_together) == {("pregnant",): DependenceKind.NARROWS}, (
        "nobody is found in one large class"
    )


def test_a_disease_of_children_finds_nobody_among_children() -> None:
    rng = np.random.default_rng(22)
    young = rng.random(6000) < 0.3
    young = young[np.argsort(young, kind="stable")]
    croup = young & (rng.random(6000) < 0.1)
    work = np.where(young, "below school age", rng.choice(["cook", "nurse", "clerk"], 6000))
    found = _compared(work, np.zeros(6000), crowd=6, croup=croup)
    assert _findings(found) == {("croup",): DependenceKind.NARROWS}, (
        "everybody of the class is as young"
    )
    mixed = rng.permutation(6000)
    found = _compared(work[mixed], np.zeros(6000), crowd=6, croup=croup[mixed])
    assert _findings(found) == {("croup",): DependenceKind.SOME}


def test_a_high_base_rate_alarms_only_where_somebody_learns_something() -> None:
    rng = np.random.default_rng(13)
    ill = rng.random(5000) < 0.02
    word = np.where(ill, "yes", "no")
    assert _findings(_compared(word, np.zeros(5000), crowd=6, copy=ill.astype(int))) == {
        ("copy",): DependenceKind.SOME
    }
    well = rng.random(5000) < 0.5
    assert _findings(_compared(word, np.zeros(5000), not_ill=well & ~ill)) == {}


def test_what_is_released_as_it_is_hides_nothing() -> None:
    rng = np.random.default_rng(14)
    state = rng.integers(0, 20, 3000).astype(str)
    city = np.char.add(state, rng.integers(0, 9, 3000).astype(str))
    assert _findings(_compared(state, state, city=city)) == {}
    assert _findings(_compared(state, np.zeros(3000), city=city)) == {
        ("city",): DependenceKind.DETERMINES
    }


def test_a_part_of_a_date_is_looked_at() -> None:
    rng = np.random.default_rng(15)
    days = rng.integers(0, 5000, 4000)
    dates = pl.Series(days).cast(pl.Int32).cast(pl.Date)
    year = dates.dt.year()
    found = _compared(year.to_numpy(), np.zeros(4000), seen=dates.to_list())
    assert _findings(found) == {("seen",): DependenceKind.DETERMINES}
    weekday = dates.dt.weekday().cast(pl.String)
    assert _findings(_compared(weekday.to_list(), np.zeros(4000), seen=dates.to_list())) == {
        ("seen",): DependenceKind.DETERMINES
    }


@pytest.mark.parametrize("turn", range(10))
def test_small_tables_with_noise_stay_silent(turn: int) -> None:
    rng = np.random.default_rng(turn)
    age = rng.integers(20, 80, 63)
    found = _compared(
        age,
        age // 10,
        noise=rng.normal(size=63),
        code=np.char.add("c", rng.integers(0, 30, 63).astype(str)),
    )
    assert _findings(found) == {}
    assert found.unknown == (("code", "q"),)


def test_small_tables_with_a_copy_do_not() -> None:
    rng = np.random.default_rng(16)
    age = rng.integers(20, 80, 300)
    assert _findings(_compared(age, age // 10, copy=2018 - age))[("copy",)] in (
        DependenceKind.DETERMINES,
        DependenceKind.NEARLY,
    )


def test_a_few_suppressed_cells_are_labels_like_others() -> None:
    rng = np.random.default_rng(17)
    state = rng.integers(0, 6, 3000).astype(str)
    label = np.where(rng.random(3000) < 0.05, "*", state)
    found = _compared(
        state, label, copy=np.char.add("s", state), other=rng.integers(0, 6, 3000).astype(str)
    )
    assert _findings(found) == {("copy",): DependenceKind.DETERMINES}
    assert found.found[0].figures.records == int((label == "*").sum())


def test_a_quasi_identifier_that_was_dropped_is_one_label() -> None:
    rng = np.random.default_rng(19)
    table = pl.DataFrame({"age": rng.integers(20, 80, 2000), "sex": rng.integers(0, 2, 2000)})
    table = table.with_columns(year=2018 - pl.col("age"))
    original = sf.read(table).with_roles(quasi=["age", "sex"], keep="year")
    found = find_dependences(TablePair.of(original, original.drop(["age"])), k=5)
    assert _findings(found) == {("year",): DependenceKind.DETERMINES}


def test_a_masked_number_is_compared_in_bins_of_what_was_released() -> None:
    rng = np.random.default_rng(20)
    income = np.exp(rng.normal(10, 0.8, 3000)).round(2)
    original = sf.read(
        pl.DataFrame({"q": income, "copy": income, "other": rng.permutation(income)})
    )
    original = original.with_roles(quasi="q", keep=["copy", "other"])
    noisy = original.with_columns({"q": pl.Series("q", income * np.exp(rng.normal(0, 0.3, 3000)))})
    assert _findings(find_dependences(TablePair.of(original, noisy), k=5)) == {
        ("copy",): DependenceKind.NEARLY
    }


def test_figures_are_judged_by_the_rules() -> None:
    usual = Figures(hit=0.5, base=0.5, records=1000, repeats=1000)
    steps: dict[DependenceKind, Any] = {
        DependenceKind.DETERMINES: {"hit": 0.995},
        DependenceKind.NEARLY: {"bits": 0.5},
        DependenceKind.SOME: {"sure": 0.006},
        DependenceKind.NARROWS: {"hit": 0.61},
        DependenceKind.SILENT: {"hit": 0.59},
        DependenceKind.UNKNOWN: {"repeats": 29},
    }
    for finding, change in steps.items():
        assert dataclasses.replace(usual, **change).finding(5) is finding
    assert dataclasses.replace(usual, sure=0.006).finding(7) is DependenceKind.SILENT, (
        "fewer than k people"
    )
    assert (
        dataclasses.replace(usual, base=0.96, hit=1.0, bits=0.9).finding() is DependenceKind.SILENT
    )
    assert dataclasses.replace(usual, line=0.81, line_base=0.3).finding() is DependenceKind.NEARLY
    assert dataclasses.replace(usual, line=0.81, line_base=0.7).finding() is DependenceKind.NARROWS
    assert line_of(np.arange(20.0), np.zeros(20, dtype=np.int64), np.arange(20.0)) is None
