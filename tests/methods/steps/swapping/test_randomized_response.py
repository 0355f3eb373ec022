from __future__ import annotations

import itertools
import math

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Recipe
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, ReleaseRefused, SchemaError
from sfumato.methods.formulas.bridge import implied_t
from sfumato.methods.formulas.exact_draws import Draws
from sfumato.methods.formulas.optimal_channels import AnswerChannel
from tests.oracles.closeness_and_privacy import epsilon_from_below
from tests.release.test_epsilon_certification import share_of

SEED = "0123456789abcdef0123456789abcdef"
ILLS = ["cold", "flu", "ulcer"]


def response(**options):
    return sf.RandomizedResponse(
        **{"columns": ["ill"], "epsilon": 1, "domain": {"ill": ILLS}, **options}
    )


def table(values, **others):
    return Table(pl.DataFrame({"ill": values, **others}))


def released(step, dataset, **goal):
    plan = step.plan(dataset, Goal(**goal))
    return plan, step.apply(dataset, plan)


def hits(step, values, event):
    _, made = released(step, values)
    return sum(event(row) for row in zip(*(made.column(c) for c in made.columns), strict=True))


@pytest.mark.parametrize("odd", ["ulcer", None, "plague"], ids=["listed", "missing", "unlisted"])
@pytest.mark.parametrize("prior", [{}, {"ill": [0.2, 0.5, 0.3]}], ids=["equal", "declared"])
def test_audit_an_estimate_of_epsilon_from_below_never_exceeds_the_claim(odd, prior):
    """One record is another; every event; wrong with probability 1e-3 were ε exactly as claimed."""
    step, trials = response(prior=prior), 20_000
    strongest = []
    for event in (
        lambda row, v=v: row[0] in v for n in (1, 2) for v in itertools.combinations(ILLS, n)
    ):
        one, other = (hits(step, table([value] * trials), event) for value in ("cold", odd))
        strongest += [
            epsilon_from_below(one, other, trials),
            epsilon_from_below(other, one, trials),
        ]
    assert max(strongest) <= 1
    if odd == "ulcer" and not prior:
        assert max(strongest) > 0.8  # the audit tells the values apart: it could fail


@pytest.mark.slow
def test_audit_of_an_estimated_prior():
    """The answers of all three records of a tiny table, whose prior depends on all of them."""
    step, trials = response(estimate=0.5, epsilon=2), 800
    counts = []
    for values in (["cold", "cold", "cold"], ["cold", "cold", "ulcer"]):
        seen = [tuple(released(step, table(values))[1].column("ill")) for _ in range(trials)]
        counts.append(seen)
    strongest = []
    for event in itertools.product(ILLS, repeat=3):
        one, other = (sum(row == event for row in seen) for seen in counts)
        strongest += [
            epsilon_from_below(one, other, trials),
            epsilon_from_below(other, one, trials),
        ]
    assert max(strongest) <= 2


def test_an_estimated_prior_costs_its_share():
    step = response(estimate=0.25, epsilon=4)
    plan, _ = released(step, table(ILLS * 50))
    assert plan.public["epsilon"] == 4 and plan.public["prior"] == "estimated with noise"
    assert step.mechanisms == {}, "the rule comes from the data"
    assert "expected_distortion" not in plan.public
    for_prior, for_answers = step._parts("ill")
    assert (for_prior, for_answers) == (1, 3)


def test_noisy_counts_are_those_of_replacing_one_value(monkeypatch):
    asked = []

    def laplace(self, scale, count):
        asked.append((scale, count))
        return np.array([1000, 0, -1000])

    monkeypatch.setattr(Draws, "laplace", laplace)
    step = response(estimate=0.5, epsilon=2)
    prior = step._estimated_prior("ill", np.array([0, 1, 1, 2, -1]), Draws())
    assert asked == [(2, 3)], "another value of one record changes two counts"
    assert prior == pytest.approx([1001 / 1004, 2 / 1004, 1 / 1004])


def test_the_prior_makes_less_distortion():
    prior = [0.7, 0.2, 0.1]
    told = [response(prior=p).plan(table(ILLS), Goal()).public for p in ({"ill": prior}, {})]
    assert told[0]["distortion_gap"]["ill"] < 1e-6
    usual = response().channel("ill").matrix
    by_prior = float(sum(prior[i] * (1 - usual[i, i]) for i in range(3)))
    assert told[0]["expected_distortion"]["ill"] < by_prior


def test_answers_do_not_depend_on_missing_values_in_form():
    _, made = released(response(epsilon=0.5), table([None, "plague", "cold", None]))
    assert set(made.column("ill")) <= set(ILLS) and made.column("ill").null_count() == 0
    with pytest.raises(SchemaError, match="holds numbers"):
        response(domain={"ill": [1, 2]}).plan(table([1, 2]), Goal())


def test_is_the_same_once_written_down():
    step = response(prior={"ill": [0.2, 0.3, 0.5]}, distance="ordered")
    schema = table(ILLS).with_roles(keep=["ill"]).schema
    text = recipes.dump(Recipe(schema, (sf.KAnonymity(2),), (step,)))
    assert recipes.parse(text).steps == (step,)


def test_epsilon_is_certified_only_without_a_seed():
    assert released(response(), table(ILLS), seed=Seed.fresh())[0].public["certified"]
    plan, made = released(response(), table(ILLS * 9), seed=Seed(3))
    assert plan.public["epsilon"] is None
    again = released(response(), table(ILLS * 9), seed=Seed(3))[1]
    assert made.column("ill").to_list() == again.column("ill").to_list()


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"epsilon": 21},
        {"epsilon": math.inf},
        {"domain": {}},
        {"domain": {"ill": ["cold"]}},
        {"domain": {"ill": ["cold", "cold"]}},
        {"domain": {"ill": [1, "1"]}},
        {"domain": {"ill": [str(i) for i in range(61)]}},
        {"prior": {"ill": [0.5, 0.5]}},
        {"prior": {"ill": [0.5, 0.5, 0.5]}},
        {"prior": {"ill": [1.5, -0.5, 0]}},
        {"prior": {"other": [1, 0, 0]}},
        {"prior": {"ill": [0.2, 0.3, 0.5]}, "estimate": 0.1},
        {"estimate": 0},
        {"estimate": 1},
        {"split": {"ill": 0.5}},
    ],
)
def test_wrong_parameters(wrong):
    with pytest.raises(ParameterError):
        response(**wrong)


# A whole recipe.


def people(odd="flu", place=0):
    frame = pl.DataFrame(
        {
            "age": [20 + (i * 7) % 9 for i in range(60)],
            "pay": [(i * 13) % 50 for i in range(60)],
            "ill": [odd if i == place else ILLS[i % 3] for i in range(60)],
        }
    )
    data = sf.read(frame).with_roles(quasi=["age"], sensitive=["ill", "pay"])
    data = data.with_kinds(age="numeric", pay="numeric", ill="nominal")
    return data.with_hierarchies(age=sf.intervals(2, 4, 8, lower=0, upper=120))


def test_numbers_and_categories_together_are_stochastically_close():
    pay = sf.LaplaceNoise(["pay"], epsilon=0.5, bounds={"pay": (0, 50)})
    promise = sf.StochasticTCloseness(
        ["pay", "ill"], t=4, mechanism="private", epsilon=1.5, reference="released"
    )
    release = sf.anonymize(people(), [sf.KAnonymity(5), promise], [sf.Mondrian(), pay, response()])
    assert release.certified.holds and release.certified.epsilon == 1.5
    assert release.verdicts[1].attained == pytest.approx(
        implied_t(1.5, 60, release.after.smallest_class)
    )
    estimated = response(estimate=0.1)
    with pytest.raises(ReleaseRefused, match="no step of this run"):
        sf.anonymize(people(), [sf.KAnonymity(5), promise], [sf.Mondrian(), pay, estimated])


@pytest.mark.parametrize("odd", [None, "", "plague", "ulcer", "x" * 40_000])
@pytest.mark.parametrize("first", [sf.Mondrian(), sf.AddNoise(["age"], 0.3), sf.KMember()])
def test_the_value_of_one_record_changes_nothing_else_that_is_shared(
    odd, first, tmp_path, monkeypatch
):
    """Where every answer comes out the same, nothing may tell which value one record had."""
    monkeypatch.setattr(
        AnswerChannel, "draw", lambda self, codes, prior, draws: np.arange(len(codes)) % 3
    )
    shown = []
    for which, value in enumerate(("flu", odd)):
        release = sf.anonymize(
            people(value, place=17), [sf.KAnonymity(1)], [first, response()], seed=SEED
        )
        assert release.certified.holds, release.certified.reasons
        shown.append(share_of(release, tmp_path / str(which)))
    assert shown[0] == shown[1]
