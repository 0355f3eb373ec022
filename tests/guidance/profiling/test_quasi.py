from __future__ import annotations

import itertools
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ParameterError
from sfumato.guidance.profiling.quasi import (
    QuasiCandidate,
    class_sizes,
    rank,
    separation,
    smallest_identifying_set,
    uniqueness,
)

# A table of five people, in the manner of Motwani and Xu 2007. Counted by hand: age parts all of
# the 10 pairs but (1, 4) and (3, 5); sex and state together part all but (1, 2).
PEOPLE = pl.DataFrame(
    {
        "age": [20, 30, 40, 20, 40],
        "sex": ["f", "f", "f", "m", "m"],
        "state": ["CA", "CA", "TX", "NY", "CA"],
    }
)


def oracle(rows: list[tuple[object, ...]]) -> tuple[float, float]:
    """Uniqueness and separation by looking at every record and every pair."""
    n = len(rows)
    alone = sum(
        1
        for i, row in enumerate(rows)
        if all(row != other for j, other in enumerate(rows) if i != j)
    )
    pairs = list(itertools.combinations(rows, 2))
    apart = sum(1 for a, b in pairs if a != b)
    return (alone / n if n else 0.0, apart / len(pairs) if pairs else 0.0)


def measures(frame: pl.DataFrame, columns: list[str]) -> tuple[float, float]:
    sizes = class_sizes(frame, columns)
    return uniqueness(sizes), separation(sizes)


def test_worked_numbers():
    assert measures(PEOPLE, ["age"]) == pytest.approx((0.2, 0.8))
    assert measures(PEOPLE, ["sex", "state"]) == pytest.approx((0.6, 0.9))
    assert measures(PEOPLE, []) == pytest.approx((0.0, 0.0))
    assert measures(PEOPLE.clear(), ["age"]) == (0.0, 0.0)


tables = st.integers(0, 12).flatmap(
    lambda n: st.fixed_dictionaries(
        {
            "a": st.lists(st.one_of(st.none(), st.integers(0, 2)), min_size=n, max_size=n),
            "b": st.lists(st.sampled_from(["x", "y", None]), min_size=n, max_size=n),
            "c": st.lists(st.sampled_from([0.5, 1.5, float("nan"), None]), min_size=n, max_size=n),
            "d": st.lists(st.booleans(), min_size=n, max_size=n),
        }
    )
)


def frame_of(columns: dict[str, list[object]]) -> pl.DataFrame:
    return pl.DataFrame(
        columns, schema={"a": pl.Int64, "b": pl.String, "c": pl.Float64, "d": pl.Boolean}
    )


def missing_as_none(value: object) -> object:
    return None if value != value else value


def rows_of(columns: dict[str, list[object]], names: list[str]) -> list[tuple[object, ...]]:
    return list(zip(*[map(missing_as_none, columns[name]) for name in names], strict=True))


@given(tables)
def test_measures_agree_with_counting_every_pair(columns):
    frame = frame_of(columns)
    for names in (["a"], ["b", "c"], ["a", "b", "c", "d"]):
        assert measures(frame, names) == pytest.approx(oracle(rows_of(columns, names)))


def naive_greedy(columns: dict[str, list[object]], goal: float) -> list[str]:
    """Add the column that parts most pairs until the share of lone records is reached; then drop
    idle ones.
    """

    def together(names: list[str]) -> int:
        counts = Counter(rows_of(columns, names)).values() if names else [len(columns["a"])]
        return sum(n * (n - 1) // 2 for n in counts)

    def reached(names: list[str]) -> bool:
        rows = rows_of(columns, names) if names else [()] * len(columns["a"])
        return oracle(rows)[0] >= goal

    chosen: list[str] = []
    while not reached(chosen) and together(chosen):
        left = [name for name in "abcd" if name not in chosen]
        best = min(left, key=lambda name: together([*chosen, name]), default=None)
        if best is None or together([*chosen, best]) == together(chosen):
            break
        chosen.append(best)
    for name in list(chosen[:-1]):
        if reached([other for other in chosen if other != name]):
            chosen.remove(name)
    return chosen


@pytest.mark.slow
@given(tables, st.sampled_from([0.3, 0.7, 1.0]))
def test_the_lazy_search_chooses_what_the_naive_one_does(columns, goal):
    frame = frame_of(columns)
    found = smallest_identifying_set(frame, frame.columns, uniqueness=goal)
    assert list(found.columns) == naive_greedy(columns, goal)
    expected = oracle(
        rows_of(columns, list(found.columns)) if found.columns else [()] * frame.height
    )
    assert (found.uniqueness, found.separation) == pytest.approx(expected)
    assert found.reached == (found.uniqueness >= goal)


@given(tables)
def test_what_cannot_be_reached_by_the_set_cannot_be_reached_by_all_columns(columns):
    frame = frame_of(columns)
    found = smallest_identifying_set(frame, frame.columns, uniqueness=0.8, separation=0.9)
    if not found.reached:
        alone, apart = measures(frame, frame.columns)
        assert alone < 0.8 or apart < 0.9
        assert (found.uniqueness, found.separation) == pytest.approx((alone, apart))


def test_the_set_of_the_worked_table():
    found = smallest_identifying_set(PEOPLE, ["sex", "state", "age"], uniqueness=1.0)
    assert found.columns == ("age", "sex")  # state would do as well: of equals the first wins
    assert smallest_identifying_set(PEOPLE, ["state", "sex", "age"], separation=0.8).columns == (
        "age",
    )
    assert not smallest_identifying_set(PEOPLE, ["sex"], uniqueness=0.5).reached


def test_a_key_is_found_alone_and_odd_column_names_do_not_collide():
    frame = pl.DataFrame(
        {"class": [1, 1, 2, 2], "0": [1, 2, 1, 2], "row": [4, 3, 2, 1], "len": [0, 0, 0, 0]}
    )
    assert smallest_identifying_set(frame, frame.columns, uniqueness=1.0).columns == ("row",)
    assert smallest_identifying_set(frame, ["class", "0", "len"], uniqueness=1.0).columns == (
        "class",
        "0",
    )


def test_columns_of_any_type_can_be_counted():
    frame = pl.DataFrame(
        {
            "list": [[1], [1], [2]],
            "struct": [{"a": 1}, {"a": 1}, {"a": 2}],
            "binary": [b"x", b"x", b"y"],
            "wide": [0, 0, 2**62],
            "null": [None, None, None],
            "category": pl.Series(["a", "a", "b"], dtype=pl.Categorical),
            "object": pl.Series([{1}, {1}, {2}], dtype=pl.Object),
        }
    )
    for name in frame.columns:
        expected = [3] if name == "null" else [1, 2]
        assert sorted(class_sizes(frame, [name]).tolist()) == expected
        found = smallest_identifying_set(frame, [name], separation=0.5)
        assert found.separation == pytest.approx(0.0 if name == "null" else 2 / 3)


def test_a_goal_is_required():
    with pytest.raises(ParameterError, match="uniqueness, separation or both"):
        smallest_identifying_set(PEOPLE, ["age"])


def test_named_columns_rank_first_and_then_the_telling_ones():
    candidates = [
        QuasiCandidate("measure", None, 1.0, 1.0),
        QuasiCandidate("sex", "sex", 0.0, 0.5),
        QuasiCandidate("zip", "postal code", 0.3, 0.99),
        QuasiCandidate("code", None, 0.0, 0.2),
    ]
    assert [c.name for c in rank(candidates)] == ["zip", "sex", "measure", "code"]
