"""Tables from records: contributions, margins, equations, and what is published of them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.drawing import AFTER, FILLED
from sfumato.core.randomness import Seed
from sfumato.errors import ParameterError, ReleaseRefused, SchemaError, Unsatisfiable
from sfumato.results.tables.audit import audit
from sfumato.results.tables.changed_cells import (
    adjust_cells,
    random_rounded,
    round_cells,
    told_small,
)
from sfumato.results.tables.picture import table_drawing
from sfumato.results.tables.problem import problem_of
from tests.results.tables.tables_of_cells import INSIDE, golden_a

TREE = {"r": sf.mask_right(2)}


@st.composite
def records(draw, most=25):
    """Small tables with two columns, one of codes that are nested, persons and amounts."""
    count = draw(st.integers(3, most))
    pick = lambda values: draw(st.lists(st.sampled_from(values), min_size=count, max_size=count))  # noqa: E731
    return pl.DataFrame(
        {
            "r": pick(["aa", "ab", "ba", "bb", "ca"]),
            "c": pick(["u", "v", "w"]),
            "who": pick(list(range(8))),
            "x": pick([0, 1, 2, 5, 9, 40]),
        }
    )


def naive(frame, r, c):
    """Persons, sum and contributions of a cell: nodes are prefixes, None is the total."""
    rows = [
        row
        for row in frame.iter_rows(named=True)
        if (r is None or row["r"].startswith(r)) and c in (None, row["c"])
    ]
    by_person = {}
    for row in rows:
        by_person[row["who"]] = by_person.get(row["who"], 0) + row["x"]
    return len(by_person), sum(by_person.values()), sorted(by_person.values(), reverse=True)


@given(records())
@settings(max_examples=25, deadline=None)
def test_cells_are_what_persons_contribute(frame):
    table = sf.tabulate(
        frame, ["r", "c"], "sum(x)", unit="who", options=sf.CountOptions(hierarchies=TREE)
    )
    cells = table.cells(3)[0]
    for at, (r, c, value) in enumerate(table.to_polars().iter_rows()):
        node = None if r == "Total" else r.rstrip("*")
        n, total, largest = naive(frame, node, None if c == "Total" else c)
        assert (cells.n[at], value) == (n, total)
        assert cells.top[at].tolist() == [*largest, 0, 0, 0][:3]


@given(records())
@settings(max_examples=15, deadline=None)
def test_cells_fit_their_equations_and_do_not_depend_on_the_order_of_rows(frame):
    table = sf.tabulate(
        frame, ["r", "c"], "sum(x)", unit="who", options=sf.CountOptions(hierarchies=TREE)
    )
    value = table.of_variables([one.value for one in table.cells()])
    assert np.abs(table.matrix @ value).max(initial=0) < 1e-9
    again = sf.tabulate(
        frame.reverse(), ["r", "c"], "sum(x)", unit="who", options=sf.CountOptions(hierarchies=TREE)
    )
    assert again.to_polars().equals(table.to_polars())


def published(frame, measure, method, zeros):
    """A table as it would be published, or None where it is refused."""
    rules = [sf.Threshold(3)] if measure == "rows" else [sf.Threshold(2), sf.PPercent(15)]
    judged = sf.tabulate(
        frame, ["r", "c"], measure, unit="who", options=sf.CountOptions(hierarchies=TREE)
    ).sensitive(*rules)
    try:
        return judged.protect(method, options=sf.ProtectOptions(zeros=zeros))
    except (Unsatisfiable, ReleaseRefused):
        return None


MEASURES, ZEROS = st.sampled_from(["rows", "sum(x)"]), st.sampled_from(["known", "free"])


@given(records(most=60), MEASURES, ZEROS)
@settings(max_examples=12, deadline=None)
def test_no_table_of_the_heuristic_fails_its_own_audit(frame, measure, zeros):
    made = published(frame, measure, "heuristic", zeros)
    if made is not None:
        assert made.hidden[made.judged.unsafe].all()
        assert audit(made.problem, made.hidden, exact=True).holds


@given(records(most=30), MEASURES, ZEROS)
@settings(max_examples=5, deadline=None)
def test_no_table_with_least_suppression_fails_its_own_audit(frame, measure, zeros):
    made = published(frame, measure, "exact", zeros)
    if made is not None:
        assert made.hidden[made.judged.unsafe].all()
        assert audit(made.problem, made.hidden, exact=True).holds


def test_a_hierarchy_with_one_child_is_one_cell():
    frame = pl.DataFrame({"r": ["aa", "ab", "ba"], "x": [1, 2, 3]})
    table = sf.tabulate(frame, ["r"], "sum(x)", options=sf.CountOptions(hierarchies=TREE))
    assert table.shape == (6,)  # total, a*, b*, aa, ab, ba
    assert len(set(table.variables[0].tolist())) == 5  # b* is ba


def test_linked_tables_share_their_margins():
    frame = pl.DataFrame(
        {"a": list("uuvv"), "b": list("pqpq"), "c": list("klkl"), "x": [1, 2, 3, 4]}
    )
    table = sf.tabulate(frame, [["a", "b"], ["a", "c"]], "sum(x)")
    first, second = (one.reshape(3, 3) for one in table.variables)
    assert first[:, 0].tolist() == second[:, 0].tolist()
    assert not set(first[:, 1:].ravel()) & set(second[:, 1:].ravel())


def test_linked_tables_are_protected_together():
    draw = np.random.default_rng(5)
    frame = pl.DataFrame(
        {name: draw.choice(list("pqr"), 150, p=[0.6, 0.33, 0.07]) for name in "abc"}
    )
    made = sf.tabulate(frame, [["a", "b"], ["a", "c"]]).protect([sf.Threshold(5)])
    assert made.audit().holds
    for number in (0, 1):
        assert "x" in made.to_polars(number)["count"].to_list()
    shared = [
        made.to_polars(n).filter(pl.col("bc"[n]) == "Total").select("a", "count").rows()
        for n in (0, 1)
    ]
    assert shared[0] == shared[1]


# Controlled rounding and adjustment: golden A, computed by brute force.


def test_controlled_rounding():
    problem, _ = golden_a({})
    found = round_cells(problem, 5).reshape(4, 4)
    assert found.tolist() == [
        [20, 50, 10, 80],
        [10, 20, 20, 50],
        [15, 30, 15, 60],
        [45, 100, 45, 190],
    ]
    assert np.abs(found.ravel() - problem.value).sum() == 16


@pytest.mark.parametrize("fixed", [False, True])
def test_adjustment(fixed):
    problem, number = golden_a({(2, 3): (7, 7)})
    if fixed:
        problem.free[number[3]] = problem.free[number[:, 3]] = False
    found, cost = adjust_cells(problem)
    assert cost == pytest.approx(28)
    assert abs(found[number[1, 2]] - 22) >= 7 - 1e-9
    assert np.abs(problem.matrix @ found).max() < 1e-6


def test_random_rounding_is_right_on_average_and_keyed_by_the_cell():
    names = [f"cell {at}" for at in range(4000)]
    value = np.tile([1.0, 2.0, 3.0, 7.0], 1000)
    found = random_rounded(value, 5, Seed(3), names)
    assert set(found % 5) == {0}
    # mean of 4,000 draws with a deviation below 2.5 each: off by 0.2 once in three million
    assert abs(found.mean() - value.mean()) < 0.2
    assert np.array_equal(found[::-1], random_rounded(value[::-1], 5, Seed(3), names[::-1]))
    assert not np.array_equal(found, random_rounded(value, 5, Seed(4), names))


def people(count=300, seed=1):
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "region": draw.choice(list("abcd"), count),
            "diagnosis": draw.choice(list("uvwyz"), count, p=[0.45, 0.3, 0.15, 0.07, 0.03]),
            "cost": draw.lognormal(3, 1.5, count).round(2),
        }
    )


@pytest.mark.parametrize("method", ["rounding", "perturb", "cta"])
def test_changed_tables_hold_and_say_whether_they_add_up(method):
    made = sf.tabulate(people(), ["region", "diagnosis"]).protect(
        [sf.Threshold(5)], method=method, seed=9
    )
    assert made.audit().holds
    assert not made.hidden.any()
    off = np.abs(made.problem.matrix @ made.published).max()
    assert (off < 1e-6) == made.additive


def test_the_heuristic_costs_no_less_than_the_least():
    judged = sf.tabulate(people(), ["region", "diagnosis"], "sum(cost)").sensitive(
        sf.Threshold(3), sf.PPercent(10)
    )
    least, other = judged.protect("exact"), judged.protect("heuristic")
    assert least.suppression.gap == pytest.approx(0, abs=1e-4)
    assert other.suppression.gap is None
    assert least.suppression.cost <= other.suppression.cost


def test_the_same_records_in_another_order_are_protected_alike():
    frame = people()
    made, again = (
        sf.tabulate(one, ["region", "diagnosis"], "sum(cost)").protect()
        for one in (frame, frame.sample(fraction=1, shuffle=True, seed=2))
    )
    assert made.to_polars().equals(again.to_polars())


def test_nothing_that_is_printed_holds_a_value():
    table = sf.tabulate(people(), ["region", "diagnosis"], "sum(cost)")
    for told in (table, table.sensitive(), table.protect(), table.protect().audit()):
        assert (
            "."
            not in repr(told)
            .replace(" s", "")
            .split("components")[0]
            .replace("%", "")
            .split("(")[0]
        )


# Bad input.


def test_columns_that_are_not_there():
    with pytest.raises(SchemaError, match="Did you mean 'region'"):
        sf.tabulate(people(), ["regio"])
    with pytest.raises(SchemaError, match="no column 'costs'"):
        sf.tabulate(people(), ["region"], "sum(costs)")


@pytest.mark.parametrize("measure", ["mean(cost)", "sum", "", "sum()"])
def test_measures_that_are_none(measure):
    with pytest.raises(ParameterError, match="sum"):
        sf.tabulate(people(), ["region"], measure)


def test_text_cannot_be_summed():
    with pytest.raises(SchemaError, match="holds no numbers"):
        sf.tabulate(people(), ["region"], "sum(diagnosis)")


def test_a_table_without_rows():
    with pytest.raises(SchemaError, match="no rows"):
        sf.tabulate(people().head(0), ["region"])


def test_negative_contributions_need_a_rule():
    frame = pl.DataFrame({"a": ["u", "v"], "x": [-1, 2]})
    with pytest.raises(SchemaError, match="are negative"):
        sf.tabulate(frame, ["a"], "sum(x)")


def test_persons_in_several_cells_do_not_add_up():
    frame = pl.DataFrame({"a": ["u", "v", "v"], "who": [1, 1, 2]})
    with pytest.raises(SchemaError, match="1 persons have rows in several cells"):
        sf.tabulate(frame, ["a"], unit="who")
    assert sf.tabulate(frame, ["a"], "rows", unit="who").to_polars()["rows"].to_list() == [3, 1, 2]


def test_all_cells_sensitive():
    with pytest.raises(Unsatisfiable, match="nothing can be published") as refused:
        sf.tabulate(people(6), ["region"]).protect()
    assert refused.value.closest["largest"] == 6
    assert refused.value.exit_code == 4


def test_rounding_that_cannot_be_is_named():
    pairs = [
        [1, 1, 0, -1, 0, 0],
        [0, 1, 1, 0, -1, 0],
        [1, 0, 1, 0, 0, -1],
    ]  # three cells of 1, every two of them add up to 2
    problem = problem_of(np.array(pairs), [1, 1, 1, 2, 2, 2], {})
    with pytest.raises(Unsatisfiable, match="reach=2"):
        round_cells(problem, 2)
    found = round_cells(problem, 2, reach=2)
    assert not (problem.matrix @ found).any()
    assert not (found % 2).any()


@pytest.mark.parametrize("options", [{"method": "magic"}, {"weight": "cents"}])
def test_options_that_are_none(options):
    with pytest.raises(ParameterError):
        sf.tabulate(people(), ["region", "diagnosis"]).protect(**options)


@given(
    st.integers(1, 12),
    st.integers(1, 3),
    st.integers(2, 30),
    st.lists(st.integers(1, 40), min_size=1, max_size=8),
)
def test_counts_that_are_told_to_be_small_whatever_they_become(base, reach, threshold, counts):
    people = pl.DataFrame(
        {"region": [str(at) for at, count in enumerate(counts) for _ in range(count)]}
    )
    problem = sf.tabulate(people, ["region"]).sensitive(sf.Threshold(threshold)).problem()

    def told(count):
        near = [b for b in range(0, 200, base) if abs(b - count) < base * reach]
        return all(b - base * reach + 1 > 0 and b + base * reach - 1 < threshold for b in near)

    small = [count for count in problem.value[problem.primaries].tolist() if told(count)]
    assert told_small(problem, base, reach, threshold) == len(small)
    if 2 * base * reach - 1 >= threshold:
        assert not small


def test_a_base_too_small_beside_the_threshold_is_refused_at_once():
    people = pl.DataFrame({"region": ["a"] * 5 + ["b"] * 40 + ["c"] * 40})
    for method in ("rounding", "perturb"):
        with pytest.raises(ReleaseRefused, match=r"sensitive cells would always be"):
            sf.tabulate(people, ["region"]).protect([sf.Threshold(10)], method=method, base=5)
        assert (
            sf.tabulate(people, ["region"])
            .protect([sf.Threshold(10)], method=method, base=6)
            .audit()
            .holds
        )


def test_sums_are_not_rounded():
    with pytest.raises(ParameterError, match="is for counts"):
        sf.tabulate(people(), ["region"], "sum(cost)").protect(method="rounding")


def test_the_worked_table_is_the_one_of_the_literature():
    assert INSIDE.sum() == 190


def test_a_picture_shows_which_cells_are_told():
    frame = pl.DataFrame(
        {
            "r": ["n"] * 9 + ["s"] * 13,
            "c": ["u"] * 2 + ["v"] * 7 + ["u"] * 6 + ["v"] * 7,
            "z": ["k"] * 22,
        }
    )
    made = sf.tabulate(frame, [["r", "c"], ["c"]]).protect([sf.Threshold(3)])
    drawn = table_drawing(made).svg()
    # one cell is sensitive, three protect it; u and v stand in both tables, and the legend names
    # both colours
    assert (drawn.count(f'fill="{AFTER}"'), drawn.count(f'fill="{FILLED}"')) == (1 + 1, 3 + 1)
    assert (drawn.count(">x<"), drawn.count(">22<")) == (4, 2)
    assert made.plot().to_dict(validate=False)["width"] > 200
    with pytest.raises(ParameterError, match="one or two columns"):
        sf.tabulate(frame, ["r", "c", "z"]).protect([sf.Threshold(3)]).plot()


def test_a_method_in_place_of_rules_goes_with_the_usual_ones():
    draw = np.random.default_rng(3)
    table = sf.tabulate(
        pl.DataFrame({"a": draw.choice(list("xyz"), 90), "b": draw.choice(list("uv"), 90)}),
        ["a", "b"],
    )
    assert (
        table.protect("heuristic").method
        == "heuristic"
        == table.sensitive().protect("heuristic").method
    )
    assert table.protect(sf.Threshold(5), method="heuristic").judged.rules == (sf.Threshold(5),)
    for wrong in ("threshold", 5, ["x"]):
        with pytest.raises(ParameterError, match=r"sensitive\(sf\.Threshold"):
            table.sensitive(wrong)
    with pytest.raises(ParameterError, match="one of auto, exact"):
        table.protect("nonsense")
