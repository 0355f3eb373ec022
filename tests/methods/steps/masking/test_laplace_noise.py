from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core.hidden_columns import fill_columns, hidden_columns, hide_columns
from sfumato.core.randomness import Seed
from sfumato.core.recipe import Agreement, Recipe
from sfumato.core.registry import build
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, ReleaseRefused, SchemaError
from sfumato.methods.formulas.bridge import implied_t
from sfumato.methods.formulas.exact_draws import Draws
from sfumato.methods.formulas.number_grids import NumberGrid
from sfumato.release.decision.collect import _is_private
from sfumato.release.epsilon_certification import certified
from sfumato.release.signatures import digest_of
from tests.oracles.closeness_and_privacy import discrete_laplace_mass, epsilon_from_below
from tests.release.test_epsilon_certification import share_of

SEED = "0123456789abcdef0123456789abcdef"


def table(values, **others):
    return Table(pl.DataFrame({"x": values, **others}))


def noise(columns=("x",), **options):
    given_options = {"epsilon": 1, "bounds": dict.fromkeys(columns, (0, 10)), **options}
    return sf.LaplaceNoise(list(columns), **given_options)


def released(step, dataset, **goal):
    plan = step.plan(dataset, Goal(**goal))
    return plan, step.apply(dataset, plan)


# ε of one record, exactly.

grids = st.builds(
    NumberGrid,
    st.sampled_from([0.0, -3.0, 1.5]),
    st.sampled_from([4.0, 7.25, 10.0]),
    st.sampled_from([0.5, 1.0, 2.0, 2.4]),
)


@given(
    grids,
    st.floats(0.05, 4),
    st.lists(
        st.one_of(st.floats(-1e6, 1e6), st.just(math.nan), st.just(math.inf)),
        min_size=2,
        max_size=2,
    ),
)
def test_no_two_values_differ_by_more_than_epsilon(grid, epsilon, pair):
    """Written from the definition: both masses on every point of the grid, far beyond its ends."""
    first, second = grid.positions(np.array(pair)).tolist()
    scale = grid.steps / epsilon
    for z in range(-30, grid.steps + 30):
        masses = [discrete_laplace_mass(z - m, scale) for m in (first, second)]
        assert masses[0] <= math.exp(epsilon) * masses[1] * (1 + 1e-9)


def test_opposite_bounds_differ_by_epsilon():
    """The bound is reached: less noise would not do."""
    grid = NumberGrid(0, 10, 1)
    low, high = grid.positions(np.array([-5.0, 50.0])).tolist()
    masses = [discrete_laplace_mass(0 - m, grid.steps / 0.7) for m in (low, high)]
    assert math.log(masses[0] / masses[1]) == pytest.approx(0.7)


@pytest.mark.parametrize("seed", [None, Seed(5)], ids=["system", "rehearsal"])
def test_noise_has_the_distribution_that_is_told(seed):
    """χ² against the mass function, wrong with probability 1e-6."""
    step = noise(unit={"x": 1}, epsilon=5)  # ten steps: scale 2
    plan, made = released(step, table([3.0] * 20_000), seed=seed or Seed.fresh())
    drawn = np.array(made.column("x")) - 3
    points = np.arange(-6, 7)
    hits = np.array([(drawn == z).sum() for z in points])
    expected = np.array([discrete_laplace_mass(int(z), 2.0) for z in points]) * len(drawn)
    rest = len(drawn) - np.array([hits.sum(), expected.sum()])
    assert chisquare([*hits, rest[0]], [*expected, rest[1]]).pvalue > 1e-6
    assert plan.public["noise_scale"] == {"x": 2.0}


def test_columns_and_records_have_noise_of_their_own():
    step = noise(("x", "y"), epsilon=1, unit={"x": 1, "y": 1})
    _, made = released(step, table([5.0] * 4000, y=[5.0] * 4000))
    x, y = (np.array(made.column(name)) - 5 for name in "xy")
    assert abs(np.corrcoef(x, y)[0, 1]) < 0.1
    assert abs(np.corrcoef(x[1:], x[:-1])[0, 1]) < 0.1


@pytest.mark.parametrize("cut_off", [False, True])
def test_audit_an_estimate_of_epsilon_from_below_never_exceeds_the_claim(cut_off):
    """Values at opposite bounds in both columns, every event a half plane; wrong with probability
    1e-3 were ε exactly as claimed.
    """
    claim = 1.0
    step = noise(("x", "y"), epsilon=claim, split={"x": 0.75, "y": 0.25}, cut_off=cut_off)
    runs = []
    for value in (0.0, 10.0):
        _, made = released(step, table([value] * 20_000, y=[value] * 20_000))
        runs.append(np.array([made.column("x"), made.column("y")]))
    strongest = []
    for limit, other in itertools.product((-5, 0, 0.5, 5, 9.5, 10, 15), (-40, 0, 9.5, 50)):
        hits = [int(((run[0] < limit) & (run[1] < other)).sum()) for run in runs]
        strongest.append(epsilon_from_below(hits[0], hits[1], 20_000))
        strongest.append(epsilon_from_below(20_000 - hits[1], 20_000 - hits[0], 20_000))
    assert max(strongest) <= claim
    assert max(strongest) > 0.5 * claim  # the audit tells the tables apart: it could fail


def test_epsilon_is_divided_as_it_is_said():
    step = noise(("x", "y", "z"), epsilon=0.3)
    assert math.fsum(step.epsilons.values()) == pytest.approx(0.3)
    parts = noise(("x", "y"), epsilon=2, split={"y": 0.25, "x": 0.75})
    assert parts.epsilons == {"x": 1.5, "y": 0.5}
    assert parts.account(table([1.0]).schema).epsilon == 2


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=7),
    st.floats(1e-3, 50, allow_nan=False),
)
def test_parts_sum_up_to_epsilon_exactly(weights, epsilon):
    names = [f"c{i}" for i in range(len(weights))]
    split = {name: w / sum(weights) for name, w in zip(names, weights, strict=True)}
    step = noise(tuple(names), epsilon=epsilon, split=split)
    assert sum(step._shares().values(), Fraction(0)) == Fraction(epsilon)


def test_values_keep_the_unit_and_the_mean():
    step = noise(unit={"x": 0.5}, epsilon=4)
    _, made = released(step, table([2.5] * 20_000))
    found = np.array(made.column("x"))
    assert (found * 2 == np.round(found * 2)).all()
    assert found.mean() == pytest.approx(2.5, abs=0.2)
    assert found.min() < 0, "it is not cut off unless that is asked for"
    _, made = released(noise(unit={"x": 0.5}, epsilon=4, cut_off=True), table([2.5] * 200))
    assert set(made.column("x")) <= {i / 2 for i in range(21)}


def test_missing_values_and_what_is_beyond_the_bounds():
    """They are nearest points or the middle; an error would tell that they are there."""
    step = noise(epsilon=1e8)
    _, made = released(step, table([None, -7.0, 1e99, 3.0]))
    assert made.column("x").to_list() == pytest.approx([5, 0, 10, 3], abs=1e-3)


def test_epsilon_is_certified_only_without_a_seed():
    people = table([1.0, 5, 3, 8])
    plan, _ = released(noise(), people, seed=Seed.fresh())
    assert (plan.public["epsilon"], plan.public["certified"]) == (1.0, True)
    assert plan.public["neighbours"].startswith("values")
    rehearsed, made = released(noise(), people, seed=Seed(3))
    assert rehearsed.public["epsilon"] is None
    assert (
        made.column("x").to_list()
        == released(noise(), people, seed=Seed(3))[1].column("x").to_list()
    )
    assert not noise().replayable


def test_is_the_same_once_written_down():
    step = noise(("x", "y"), split={"x": 0.5, "y": 0.5}, unit={"y": 2}, cut_off=True)
    schema = table([1.0], y=[2.0]).with_roles(keep=["x", "y"]).schema
    text = recipes.dump(Recipe(schema, (sf.KAnonymity(2),), (step,)))
    assert recipes.parse(text).steps == (step,)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"bounds": {"x": (5, 5)}},
        {"bounds": {"x": (5, 1)}},
        {"bounds": {"x": (0, math.inf)}},
        {"bounds": {"y": (0, 1)}},
        {"bounds": {}},
        {"columns": []},
        {"unit": {"x": 0}},
        {"unit": {"x": 11}},
        {"unit": {"x": 1e-13}},
        {"bounds": {"x": (-1e308, 1e308)}},
        {"bounds": {"x": (0, 5e-324)}},
        {"unit": {"y": 1}},
        {"split": {"x": 0.5}},
        {"split": {"x": 0.5, "y": 0.5}},
    ],
)
def test_wrong_parameters(wrong):
    with pytest.raises(ParameterError):
        sf.LaplaceNoise(**{"columns": ["x"], "epsilon": 1, "bounds": {"x": (0, 10)}, **wrong})


def test_wrong_tables():
    for dataset, words in (
        (table([]), "no rows"),
        (table(["a", "b", "c"]), "must hold numbers"),
        (Table(pl.DataFrame({"y": [1, 2, 3]})), "has no column 'x'"),
        (
            table([0.1] * 3, person=["p", "p", "q"]).with_roles(person="person", keep="x"),
            "already have a row",
        ),
    ):
        with pytest.raises(SchemaError, match=words):
            noise().plan(dataset, Goal())
    with pytest.raises(ParameterError, match="range of whole numbers"):
        noise(epsilon=1e-12).plan(table([0.1, 0.2]), Goal())


# A whole recipe: ε for the noisy columns, given all others.

ONE = sf.KAnonymity(1)
PAY = sf.LaplaceNoise(["pay"], epsilon=1, bounds={"pay": (0, 50)})


def people(*, pay=None, rows=60):
    """Invented people, many alike in all but their pay."""
    frame = pl.DataFrame(
        {
            "age": [20 + (i * 7) % 9 for i in range(rows)],
            "sex": ["fm"[i % 2] for i in range(rows)],
            "pay": [(i * 13) % 50 for i in range(rows)] if pay is None else pay,
            "hours": [(i * 5) % 40 for i in range(rows)],
            "name": [f"n{i}" for i in range(rows)],
        },
        strict=False,
    )
    data = sf.read(frame).with_roles(
        quasi=["age", "sex"], sensitive=["pay", "hours"], drop=["name"]
    )
    data = data.with_hierarchies(age=sf.intervals(2, 4, 8, lower=0, upper=120), sex=sf.suppress())
    return data.with_kinds(pay="numeric", hours="numeric", age="numeric")


def judged(*steps, meet=(ONE,), **options):
    data = people()
    recipe = Recipe(data.schema, tuple(meet), tuple(steps), **options)
    left = data.schema.without(data.schema.dropped_columns)
    return certified(recipe, list(left.attributes), left)


PRIVATE = sf.StochasticTCloseness(
    "pay", t=2.7, mechanism="private", epsilon=1, reference="released"
)
HOURS = sf.LaplaceNoise(["hours"], epsilon=0.5, bounds={"hours": (0, 40)})
HOLDING = {
    "alone": [PAY],
    "after Mondrian": [sf.Mondrian(), PAY],
    "after a search": [sf.GlobalRecoding(budget=0.1), PAY],
    "before Mondrian": [PAY, sf.Mondrian()],
    "after the masking of another column": [sf.Microaggregate(["age"], k=3), PAY],
    "rounded before": [sf.Round(["pay"], base=5), PAY],
    "two": [sf.Mondrian(), PAY, HOURS],
    "one before and one after": [PAY, sf.KMember(), HOURS],
}


@pytest.mark.parametrize("steps", HOLDING.values(), ids=HOLDING)
def test_what_keeps_a_certificate(steps):
    found = judged(*steps)
    assert found.holds, found.reasons
    assert found.neighbours == "values" and "of one record" in found.unit
    assert found.epsilon == sum(step.epsilon for step in steps if isinstance(step, sf.LaplaceNoise))


BROKEN = {
    "looked at": ([sf.SwapData(["pay"], rate=0.5), PAY], {}, "swap_data reads data"),
    "looked at and rounded": (
        [sf.Round(["pay"], base=5), sf.Mondrian(), PAY],
        {},
        "mondrian reads data",
    ),
    "records left out": ([sf.Sample(0.5), PAY], {}, "sample reads data"),
    "rows of nobody": ([sf.Synthesize(), PAY], {}, "synthesize reads data"),
    "the exact promise": (
        [sf.Mondrian(), PAY],
        {
            "meet": [
                sf.StochasticTCloseness(
                    "pay", t=2.7, mechanism="laplace_noise", epsilon=1, bounds=(0, 50)
                )
            ]
        },
        "compares the release with the original",
    ),
    "a limit on an attack": ([PAY], {"limits": {"linkage": 0.5}}, "limit on linkage"),
    "a contract": (
        [PAY],
        {"contract": (Agreement(build("utility", "loss"), at_most=1.0, refuse=True),)},
        "contract on loss",
    ),
    "with a step for whole records": (
        [sf.Mondrian(), PAY, sf.SafeAnonymize(1.0, k=5)],
        {},
        "mondrian reads data",
    ),
}


@pytest.mark.parametrize(("steps", "options", "said"), BROKEN.values(), ids=BROKEN)
def test_what_breaks_a_certificate_is_said(steps, options, said):
    found = judged(*steps, **options)
    assert not found.holds and any(said in reason for reason in found.reasons), found.reasons


def test_columns_that_show_confidential_values_break_a_certificate():
    """Levels and labels that a record's own confidential value decides tell it without noise."""
    rows = 60
    frame = pl.DataFrame(
        {
            "age": [20 + (i * 7) % 9 for i in range(rows)],
            "ill": [("flu", "cold", "ulcer")[i % 3] for i in range(rows)],
            "group": [("flu", "cold", "ulcer")[i % 3] for i in range(rows)],
        }
    )
    data = sf.read(frame).with_roles(quasi=["age", "ill"], keep=["group"])
    data = data.with_kinds(age="numeric", ill="nominal", group="nominal")
    data = data.with_hierarchies(age=sf.intervals(2, 4, 8, lower=0, upper=120), ill=sf.suppress())
    answer = sf.RandomizedResponse(["ill"], epsilon=1, domain={"ill": ["flu", "cold", "ulcer"]})
    levels = sf.PersonalLevels(own={"flu": {}, "cold": {"age": 1}, "ulcer": {"age": 3}}, by="ill")
    copy = sf.Follow({"group": "ill"})
    for step in (levels, copy):
        found = sf.anonymize(data, [ONE], [step, answer]).certified
        assert not found.holds
        assert any(f"{step.name} shows ill in other columns" in reason for reason in found.reasons)
    assert sf.anonymize(data, [ONE], [answer, copy]).certified.holds, "it copies the answer"
    everybody = sf.PersonalLevels({"age": 2})
    assert sf.anonymize(data, [ONE], [everybody, answer]).certified.holds


def test_with_a_step_for_whole_records_all_columns_must_be_accounted_for():
    means = sf.InsensitiveMicroaggregate(["hours"], k=5, epsilon=1, bounds={"hours": (0, 40)})
    found = judged(PAY, means)
    assert not found.holds and "no step accounts for age, sex" in found.reasons[-1]
    whole = judged(PAY, sf.SafeAnonymize(1.0, k=5))
    assert whole.holds and whole.neighbours == "replace" and whole.epsilon == 1 + 2 * 1.0


def test_columns_are_hidden_from_all_earlier_steps_or_from_none():
    schema = people().schema
    assert hidden_columns([sf.Mondrian(), PAY, HOURS], schema) == (
        {"pay", "hours"},
        {"hours"},
        set(),
    )
    assert hidden_columns([sf.Round(["pay"], 5), sf.Mondrian(), PAY], schema)[1] == set()
    assert hidden_columns([sf.Sample(0.5), PAY], schema)[0] == set()
    age = sf.LaplaceNoise(["age"], epsilon=1, bounds={"age": (0, 99)})
    assert hidden_columns([sf.Mondrian(), age], schema)[0] == set(), "classes are made of it"


def test_hidden_columns_come_back_with_their_rows():
    original = people()
    blind = hide_columns(original, ["pay"])
    assert blind.column("pay").null_count() == len(original)
    back = fill_columns(blind.take(np.array([7, 3, 50])), original, ["pay"])
    assert back.column("pay").to_list() == original.column("pay").gather([7, 3, 50]).to_list()
    with pytest.raises(SchemaError, match="changed it"):
        fill_columns(original, original, ["pay"])


BEFORE = [
    sf.GlobalRecoding(budget=0.2),
    sf.LocalRecoding(),
    sf.Mondrian(),
    sf.KMember(),
    sf.Microaggregate(["age"], k=3),
    sf.RankSwap(["age"], p=0.3),
    sf.AddNoise(["age"], 0.3),
    sf.Pram(["sex"], retain=0.7),
    sf.SwapData(["sex"], rate=0.5),
    sf.TopBottomCoding(["age"], top_quantile=0.8),
]
AFTER = [
    sf.Mondrian(),
    sf.Sample(0.5),
    sf.RankSwap(["pay"], p=0.3),
    sf.SwapData(["hours"], rate=0.5),
    sf.AddNoise(["pay"], 0.3),
    sf.Suppress("tuple"),
]
ODD = [0, 49, 25.5, None, -1e9, 1e300, float("nan"), float("inf"), "n/a", "12,5", "", True, 2**70]


@pytest.mark.parametrize("number", range(24))
def test_values_of_one_record_change_nothing_else_that_is_shared(number, tmp_path, monkeypatch):
    """Random steps before and after; where every noisy value comes out the same, nothing at all
    may tell which value one record had.
    """
    monkeypatch.setattr(NumberGrid, "positions", lambda self, values: np.arange(len(values)))
    monkeypatch.setattr(
        Draws, "laplace", lambda self, scale, count: np.zeros(count, dtype=np.int64)
    )
    stream = np.random.default_rng(number)
    steps = [PAY]
    if stream.random() < 0.8:
        steps = [BEFORE[int(stream.integers(len(BEFORE)))], *steps]
    if stream.random() < 0.4:
        steps = [*steps, AFTER[int(stream.integers(len(AFTER)))]]
    meet = [sf.KAnonymity(int(stream.integers(1, 4)))]
    usual = [(i * 13) % 50 for i in range(60)]
    place, odd = int(stream.integers(60)), ODD[int(stream.integers(len(ODD)))]
    other = [*usual[:place], odd, *usual[place + 1 :]]
    shown = []
    for which, pay in enumerate((usual, other)):
        kind = pl.Series(pay, strict=False) if not isinstance(odd, str) else list(map(str, pay))
        data = people(pay=pay if which == 0 else kind)
        try:
            release = sf.anonymize(data, meet, steps, seed=SEED)
        except ReleaseRefused as error:
            shown.append(str(error))
            continue
        assert release.certified.holds, release.certified.reasons
        shown.append(share_of(release, tmp_path / str(which)))
    assert shown[0] == shown[1], [step.name for step in steps]


def test_without_hiding_the_classes_would_tell(monkeypatch):
    """Draws of a record depend on what it says, pay included: the danger is real, and the test
    above would see it.
    """
    run = "sfumato.data.table.run"
    monkeypatch.setattr(f"{run}.hidden_columns", lambda steps, schema: (frozenset(),) * len(steps))
    monkeypatch.setattr(f"{run}.randomised_columns", lambda steps, schema: {})
    monkeypatch.setattr(NumberGrid, "positions", lambda self, values: np.arange(len(values)))
    monkeypatch.setattr(
        Draws, "laplace", lambda self, scale, count: np.zeros(count, dtype=np.int64)
    )
    usual = [(i * 13) % 50 for i in range(60)]
    shown = set()
    for place in range(0, 60, 3):
        other = [*usual[:place], 49 - usual[place], *usual[place + 1 :]]
        for pay in (usual, other):
            release = sf.anonymize(
                people(pay=pay), [ONE], [sf.AddNoise(["age"], 0.3), PAY], seed=SEED
            )
            shown.add(tuple(release.data["age"]))
    assert len(shown) > 1


# Proposition 1, end to end.


def test_noise_after_recoding_is_stochastically_close(tmp_path):
    both = sf.StochasticTCloseness(
        ["pay", "hours"], t=4, mechanism="private", epsilon=1.5, reference="released"
    )
    release = sf.anonymize(people(), [sf.KAnonymity(5), PRIVATE, both], [sf.Mondrian(), PAY, HOURS])
    smallest = release.after.smallest_class
    assert release.verdicts[1].attained == pytest.approx(implied_t(1.0, 60, smallest))
    assert release.verdicts[2].attained == pytest.approx(implied_t(1.5, 60, smallest))
    assert release.certified.holds and release.certified.epsilon == 1.5
    release.write(tmp_path)
    claims = {claim.name: claim for claim in sf.verify(tmp_path / "share").claims}
    states = {claim.status for name, claim in claims.items() if name.startswith("stochastic")}
    assert states == {"needs original"}, "no file shows that the noise was added"


@pytest.mark.parametrize(
    "steps",
    [
        [sf.Mondrian()],
        [sf.Mondrian(), sf.AddNoise(["pay"], 0.5)],
        [PAY, sf.Mondrian()],
        [sf.Mondrian(), PAY, PAY],
        [sf.Mondrian(), sf.LaplaceNoise(["pay"], epsilon=1.01, bounds={"pay": (0, 50)})],
        [sf.Mondrian(), PAY, sf.RankSwap(["pay"], p=0.2)],
        [sf.Mondrian(), PAY, sf.Sample(0.5)],
    ],
    ids=lambda steps: "+".join(step.name for step in steps),
)
def test_anything_else_is_not(steps):
    with pytest.raises(ReleaseRefused):
        sf.anonymize(people(), [sf.KAnonymity(5), PRIVATE], steps)


def test_less_noise_than_promised_is_refused_and_more_is_not():
    more = sf.LaplaceNoise(["pay"], epsilon=0.5, bounds={"pay": (0, 50)})
    assert sf.anonymize(people(), [sf.KAnonymity(5), PRIVATE], [sf.Mondrian(), more]).verdicts[1]


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=4),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([0.3, 1.0, 2.5]),
    st.sampled_from([0.25, 0.5]),
)
def test_the_joint_distribution_is_within_what_is_promised(classes, epsilon, share):
    """Masses of all pairs of outcomes, class by class and for the table, straight from the
    definition.
    """
    everyone = [pair for group in classes for pair in group]
    scales = 4 / (epsilon * share), 3 / (epsilon * (1 - share))

    def mass(group, point):
        total = 0.0
        for pair in group:
            parts = [
                discrete_laplace_mass(z - v, s) for z, v, s in zip(point, pair, scales, strict=True)
            ]
            total += parts[0] * parts[1]
        return total / len(group)

    model = sf.StochasticTCloseness(
        ["pay", "hours"], t=1e6, mechanism="private", epsilon=epsilon, reference="released"
    )
    rows = [(str(i), *pair) for i, group in enumerate(classes) for pair in group]
    frame = pl.DataFrame(rows, schema=["key", "pay", "hours"], orient="row")
    data = Table(frame).with_roles(quasi=["key"], sensitive=["pay", "hours"])
    verdict = model.judge(data.evidence([model]))
    for group, promised in zip(classes, verdict.per_class, strict=True):
        for point in itertools.product(range(-3, 8), range(-3, 7)):
            one, whole = mass(group, point), mass(everyone, point)
            assert max(one / whole, whole / one) <= promised * (1 + 1e-9)


# A certificate that claims more than the noise gives.


def _about_whole_records(certificate):
    certificate["differential_privacy"]["neighbours"] = "replace"


def _about_everything(certificate):
    certificate["differential_privacy"]["unit_of_privacy"] = "one record"


def _smaller(certificate):
    certificate["differential_privacy"]["epsilon"] = 0.1


def _looked_at(certificate):
    step = {"swap_data": {"columns": ["pay"], "rate": 0.5}}
    certificate["recipe"]["steps"].insert(0, step)
    certificate["plan"].insert(0, {"step": "swap_data"})
    certificate["differential_privacy"]["steps"].insert(0, {"step": "swap_data", "effect": "looks"})


@pytest.mark.parametrize("change", [_about_whole_records, _about_everything, _smaller, _looked_at])
def test_an_edited_certificate_fails(change, tmp_path):
    sf.anonymize(people(), [sf.KAnonymity(3)], [sf.Mondrian(), PAY]).write(tmp_path)
    file = tmp_path / "share" / "certificate.json"
    certificate = json.loads(file.read_text())
    change(certificate)
    certificate["digest"] = digest_of(certificate)
    file.write_text(json.dumps(certificate))
    claims = sf.verify(tmp_path / "share").claims
    assert [c.status for c in claims if c.name.startswith("ε")] == ["fails"]


def test_a_decision_takes_such_an_epsilon_for_nothing(tmp_path):
    """It says nothing about how well the other columns hide people."""
    sf.anonymize(people(), [sf.KAnonymity(3)], [sf.Mondrian(), PAY]).write(tmp_path)
    certificate = json.loads((tmp_path / "share" / "certificate.json").read_text())
    assert certificate["differential_privacy"]["certified"]
    assert not _is_private(certificate["differential_privacy"])
