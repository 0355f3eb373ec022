"""What a release says about the nodes it passed over, held against making those releases."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.step import Goal, Plan, Step
from sfumato.core.words import percent
from sfumato.methods.models.l_diversity import LDiversity
from sfumato.methods.steps.local.mondrian import Mondrian
from sfumato.release.alternatives import Neighbour, alternatives_in, alternatives_of
from tests.random_tables import tables

K, BUDGET, ROWS = 5, 0.05, 800


def release(people=None, *, k=K, **options):
    people = sf.examples.hospital(rows=ROWS) if people is None else people
    return sf.anonymize(
        people, [sf.KAnonymity(k)], [sf.GlobalRecoding(**{"budget": BUDGET, **options})], seed=1
    )


@pytest.fixture(scope="module")
def made() -> sf.Release:
    return release()


@pytest.fixture(scope="module")
def found(made):
    return made.alternatives()


def at_levels(levels, **options):
    """The release that has exactly these levels, whatever it suppresses."""
    exact = {column: (level, level) for column, level in levels.items()}
    return release(levels=exact, budget=1.0, **options)


def test_the_chosen_node_is_what_was_released(made, found):
    assert found.whole and found.lattice_nodes == made.plans[0][1].lattice_nodes
    assert found.chosen.levels == made.plans[0][1].levels
    assert found.chosen.suppressed == made.suppressed and found.chosen.within_budget
    assert found.chosen.score == pytest.approx(made.scores["loss"])
    assert found.chosen.classes == made.after.classes
    assert found.chosen.marketer_risk == pytest.approx(made.after.measure("marketer_risk"))
    assert found.chosen.prosecutor_risk == pytest.approx(made.after.measure("prosecutor_risk"))
    assert found.overlooked is None, "the search promises the optimum"


def test_neighbours_are_what_would_have_been_released(made, found):
    levels, tops = made.plans[0][1].levels, made.plans[0][1].tops
    expected = {(c, d) for c, level in levels.items() for d in (-1, 1) if 0 <= level + d <= tops[c]}
    assert {(n.column, n.change) for n in found.neighbours} == expected
    for one in found.neighbours[:4]:
        other = at_levels(one.option.levels)
        assert one.option.suppressed == other.suppressed
        assert one.option.score == pytest.approx(other.scores["loss"])
        assert one.option.marketer_risk == pytest.approx(other.after.measure("marketer_risk"))
        assert one.option.within_budget == (other.suppressed <= int(BUDGET * ROWS))


def test_a_point_of_budget_is_what_a_run_with_it_gives(found):
    less, more = found.budgets
    assert (less.records, more.records) == (32, 48)  # 4 % and 6 % of 800
    for one in (less, more):
        other = release(budget=one.records / ROWS)
        assert one.option.levels == other.plans[0][1].levels
        assert one.option.score == pytest.approx(other.scores["loss"])


def test_the_next_better_node_comes_with_its_budget_and_not_before(made, found):
    needed = found.next_better.suppressed
    assert needed > found.budget and found.next_better.score < made.scores["loss"]
    assert release(budget=needed / ROWS).scores["loss"] <= found.next_better.score + 1e-12
    assert release(budget=(needed - 1) / ROWS).plans[0][1].levels == found.chosen.levels


def test_the_trade_off_begins_with_the_choice_and_gets_safer(found):
    assert found.trade_off[0] == found.chosen
    risks = [option.marketer_risk for option in found.trade_off]
    assert risks == sorted(risks, reverse=True) and len(set(risks)) == len(risks)
    assert all(option.within_budget for option in found.trade_off)
    assert any(not option.within_budget for option in found.front), (
        "the front shows what more suppression would buy"
    )


def test_the_reasons_are_sentences_with_the_numbers(found):
    told = found.reasons()
    assert str(found) == "\n".join(told.all)
    finer = next(n for n in found.neighbours if n.change < 0 and not n.option.within_budget)
    sentence = told.neighbours[found.neighbours.index(finer)]
    over = finer.option.suppressed - found.budget
    assert sentence.startswith(f"{finer.column} one level finer (")
    assert (
        f"is beyond the budget: it would suppress {finer.option.suppressed:,} records, {over:,}"
        " more" in sentence
    )
    coarser = next(n for n in found.neighbours if n.change > 0)
    sentence = told.neighbours[found.neighbours.index(coarser)]
    more = found.chosen.suppressed - coarser.option.suppressed
    assert (
        f"would suppress {more:,} fewer records and raise loss from {found.chosen.score:.4f} to"
        in sentence
    )
    assert told.choice.startswith(f"This is the best of all {found.lattice_nodes:,} nodes, proved")
    assert "none of them has less loss" in told.choice
    assert told.outlook[0].startswith(
        "A budget of 4 % (32 records) instead of 5 % (40 records) would "
    )
    assert any("Less loss needs a larger budget, of" in one for one in told.outlook)


@given(
    table=tables(most_columns=3, most_rows=25, fewest_rows=4),
    k=st.integers(1, 3),
    objective=st.sampled_from(["loss", "discernibility", "minimum_suppression", "height"]),
    budget=st.sampled_from([0.0, 0.2, 1.0]),
)
def test_every_table_has_something_true_to_say(table, k, objective, budget):
    step = sf.GlobalRecoding(objective=objective, budget=budget)
    goal = Goal(models=(sf.KAnonymity(k),))
    try:
        plan = step.plan(table.dataset(), goal)
    except sf.errors.Unsatisfiable:
        return
    landscape = step.survey(table.dataset(), goal, plan, most_nodes=10**6, most_effort=1e12)
    found = alternatives_in(landscape, plan.levels)
    assert found.overlooked is None and found.chosen.score == pytest.approx(plan.score)
    assert all(sentence.endswith(".") for sentence in found.reasons().all)
    assert found.reasons().choice.startswith("This is the best of ")
    for sentence in found.reasons().all:
        assert not re.search(r"(?<!\S)(\S+) instead of \1(?=[\s,.);]|$)", sentence), sentence
        assert not re.search(r"from (\S+) to \1(?=[\s,.);]|$)", sentence), sentence
    assert json.loads(json.dumps(found.to_dict()))["chosen"]["suppressed"] == plan.suppressed
    assert sum(dot.nodes for dot in found.cloud) == int((landscape.classes > 0).sum())
    for option in found.trade_off[1:]:
        assert option.score > found.chosen.score - 1e-9 or landscape.minimal


def test_where_the_search_was_not_optimal_the_better_node_is_named():
    found = release(algorithm="datafly", budget=0.2).alternatives()
    best = release(budget=0.2)
    assert found.overlooked.levels == best.plans[0][1].levels
    choice = found.reasons().choice
    assert choice.startswith("This is not the best node") and "proved" not in choice
    assert f"the best of them has loss {best.scores['loss']:.4f} instead of" in choice


def test_numbers_that_print_alike_are_equal_or_have_more_digits(found):
    chosen = found.chosen
    near = dataclasses.replace(
        chosen, score=chosen.score + 1e-7, marketer_risk=chosen.marketer_risk + 1e-6
    )
    alike = dataclasses.replace(
        chosen, score=chosen.score + 1e-15, marketer_risk=chosen.marketer_risk
    )
    column = next(iter(chosen.levels))
    beside = tuple(Neighbour(column, 1, option) for option in (near, alike))
    close, equal = dataclasses.replace(found, neighbours=beside).reasons().neighbours
    risks = re.search(r"marketer risk (\S+) % instead of (\S+) %", close)
    scores = re.search(r"raise loss from (\S+) to ([\d.]+)", close)
    assert risks[1] != risks[2] and scores[1] != scores[2]
    assert (
        "at the same loss" in equal
        and f"marketer risk stays {percent(chosen.marketer_risk, 2)}" in equal
    )


def test_too_large_a_lattice_tells_only_about_the_neighbours(made, found):
    near = alternatives_of(made, most_nodes=100, most_effort=1e12)
    assert not near.whole and near.lattice_nodes == found.lattice_nodes
    for one, other in zip(near.neighbours, found.neighbours, strict=True):
        assert (one.column, one.change, one.option.suppressed) == (
            other.column,
            other.change,
            other.option.suppressed,
        )
        assert one.option.score == pytest.approx(other.option.score)
    assert not near.front and not near.budgets and near.plot() is None
    choice = near.reasons().choice
    assert choice.startswith(
        f"This is the best of all {found.lattice_nodes:,} nodes, proved by the search."
    )
    assert "below are its neighbours only" in choice and not near.reasons().outlook
    unsure = dataclasses.replace(near, proved=False, gap=0.25).reasons().choice
    assert (
        "not proved to be the best" in unsure
        and "none of them is better by more than 0.25" in unsure
    )


def test_other_promises_are_explained_too():
    people = sf.examples.hospital(rows=300)
    few = {"zip": (5, 5), "nationality": (2, 2), "occupation": (2, 2), "admission_date": (3, 4)}
    made = sf.anonymize(
        people,
        [sf.KAnonymity(3), LDiversity("diagnosis", l=2)],
        [sf.GlobalRecoding(budget=0.1, levels=few)],
    )
    found = made.alternatives()
    assert found.whole and found.chosen.suppressed == made.suppressed
    assert found.chosen.marketer_risk == pytest.approx(made.after.measure("marketer_risk"))


@dataclasses.dataclass(frozen=True)
class FirstRows(Step, Plan):
    """A step before the recoding: only the first rows go on."""

    rows: int
    name = "first_rows"

    def plan(self, dataset, goal):
        return self

    def describe(self):
        return {}

    def apply(self, dataset, plan):
        return dataset.take(np.arange(plan.rows))


def test_the_lattice_is_that_of_the_table_the_step_saw():
    people = sf.examples.hospital(rows=ROWS)
    made = sf.anonymize(people, [sf.KAnonymity(3)], [FirstRows(300), sf.GlobalRecoding(budget=0.1)])
    found = made.alternatives()
    assert found.records == 300 and found.chosen.suppressed == 300 - len(made.released)
    assert found.chosen.levels == made.plans[1][1].levels


@pytest.mark.slow
@pytest.mark.parametrize("suppress", ["attribute", "cell", "none"])
def test_every_kind_of_suppression_has_alternatives(suppress, tmp_path):
    made = release(sf.examples.hospital(rows=300), k=3, suppress=suppress)
    found = made.alternatives()
    assert found.chosen.levels == made.plans[0][1].levels and found.chosen.within_budget
    assert found.budget == (15 if suppress == "cell" else 0)
    assert ("lose some of their cells" in str(found)) == (suppress == "cell")
    page = (made.write(tmp_path / "out") / "owner" / "report.html").read_text()
    assert ">Alternatives</h2>" in page


def test_the_frame_has_one_row_a_node(found):
    frame = found.to_frame()
    assert frame["what"][0] == "chosen" and frame.height == len(frame["what"])
    assert (frame["what"] == "front").sum() == len(found.front)
    assert {f"level_{c}" for c in found.tops} <= set(frame.columns)
    chosen = frame.row(0, named=True)
    assert {c: chosen[f"level_{c}"] for c in found.tops} == found.chosen.levels
    assert isinstance(frame, pl.DataFrame) and frame["marketer_risk"].max() <= 1


def test_no_lattice_no_alternatives():
    people = sf.examples.hospital(rows=200)
    other = sf.anonymize(people, [sf.KAnonymity(3)], [Mondrian()])
    with pytest.raises(sf.errors.ParameterError, match="chose from a lattice"):
        other.alternatives()


@pytest.mark.slow
def test_the_owner_keeps_them_and_the_certificate_does_not_have_them(made, tmp_path):
    made.write(tmp_path / "out")
    certificate = (tmp_path / "out" / "share" / "certificate.json").read_text()
    record = json.loads((tmp_path / "out" / "owner" / "release.json").read_text())
    assert record["alternatives"] == json.loads(json.dumps(made.alternatives().to_dict()))
    public = (tmp_path / "out" / "share" / "report.html").read_text()
    for word in ("alternatives", "neighbour", "next better", "one level finer"):
        assert word not in certificate and word not in public
    page = (tmp_path / "out" / "owner" / "report.html").read_text()
    assert (
        ">Alternatives</h2>" in page
        and "One level finer or coarser" in page
        and "chosen</text>" in page
    )


def test_no_data_value_is_told(made):
    told = json.dumps(made.alternatives().to_dict())
    people = made.original.to_polars()
    for column in ("patient_name", "occupation", "diagnosis", "nationality"):
        assert not [
            v for v in people[column].drop_nulls().unique() if len(str(v)) > 3 and f'"{v}"' in told
        ]
