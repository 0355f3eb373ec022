"""What all models about a sensitive column have in common: order, merging, bounds, recipes, bad
input.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.core.evidence import gather
from sfumato.core.model import Model
from sfumato.core.registry import build, write
from sfumato.core.schema import Schema
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from sfumato.methods.hierarchies import SuppressedValue
from sfumato.methods.models.beta_likeness import BetaLikeness, DeltaDisclosure
from sfumato.methods.models.k_anonymity import KAnonymity
from sfumato.methods.models.l_diversity import AlphaKAnonymity, LDiversity, PSensitive
from sfumato.methods.models.t_closeness import TCloseness
from sfumato.methods.steps import GlobalRecoding, KMember, LocalRecoding, Mondrian
from tests.methods.models.counted_tables import (
    counted_classes,
    counted_dataset,
    evidence_of,
    many_models,
    mergings,
    table_of,
    verdict_of,
)
from tests.oracles import definitions as oracle

ONE_OF_EACH = [
    LDiversity("secret", l=2),
    LDiversity("secret", l=1.5, kind="entropy"),
    LDiversity("secret", l=2, kind="recursive", c=3),
    PSensitive("secret", p=2, k=3),
    AlphaKAnonymity("secret", alpha=0.6, k=2),
    *(
        TCloseness("secret", t=0.25, distance=d)
        for d in ("equal", "ordered", "numeric", "hierarchical")
    ),
    TCloseness("secret", t=2.5, distance="multiplicative"),
    TCloseness("secret", t=0.25, reference="released"),
    DeltaDisclosure("secret", delta=0.7),
    DeltaDisclosure("secret", delta=0.7, absent="skip"),
    BetaLikeness("secret", beta=0.8),
    BetaLikeness("secret", beta=0.8, kind="enhanced"),
]
NAMES = [model.promise for model in ONE_OF_EACH]


@given(data=st.data(), classes=counted_classes())
def test_what_a_model_implies_holds_with_it(data, classes):
    models = many_models(len(classes[0]))
    evidence = gather(counted_dataset(classes), models)
    holds = {model: not model.failing(evidence).any() for model in models}
    for one in models:
        for other in models:
            if holds[one] and one.implies(other):
                assert holds[other], f"{one.promise} does not imply {other.promise}"


def test_the_implications_of_the_literature_are_known():
    strict = DeltaDisclosure("secret", delta=0.7)
    factor = TCloseness("secret", t=2, distance="multiplicative")
    yes = [
        (LDiversity("secret", l=3), KAnonymity(3)),
        (LDiversity("secret", l=2.5, kind="entropy"), LDiversity("secret", l=3)),
        (LDiversity("secret", l=3, kind="recursive", c=2), LDiversity("secret", l=3)),
        (
            LDiversity("secret", l=3, kind="recursive", c=2),
            LDiversity("secret", l=2, kind="recursive", c=4),
        ),
        (PSensitive("secret", p=2, k=4), LDiversity("secret", l=2)),
        (PSensitive("secret", p=2, k=4), KAnonymity(4)),
        (LDiversity("secret", l=3), PSensitive("secret", p=3, k=3)),
        (AlphaKAnonymity("secret", alpha=0.3, k=4), LDiversity("secret", l=4)),
        (
            AlphaKAnonymity("secret", alpha=0.3, k=4),
            AlphaKAnonymity("secret", alpha=0.3, k=4, values=("1",)),
        ),
        (TCloseness("secret", t=0.1), TCloseness("secret", t=0.2)),
        (factor, DeltaDisclosure("secret", delta=math.log(2) + 1e-6)),
        (factor, BetaLikeness("secret", beta=1)),
        (strict, TCloseness("secret", t=math.exp(0.7), distance="multiplicative")),
        (strict, DeltaDisclosure("secret", delta=0.7, absent="skip")),
        (BetaLikeness("secret", beta=1, kind="enhanced"), BetaLikeness("secret", beta=1)),
    ]
    no = [
        (LDiversity("secret", l=3), KAnonymity(4)),
        (LDiversity("secret", l=3), LDiversity("other", l=3)),
        (
            LDiversity("secret", l=2, kind="entropy"),
            LDiversity("secret", l=2, kind="recursive", c=9),
        ),
        (
            LDiversity("secret", l=2, kind="recursive", c=1),
            LDiversity("secret", l=2, kind="entropy"),
        ),
        (AlphaKAnonymity("secret", alpha=0.3, k=4, values=("1",)), LDiversity("secret", l=2)),
        (
            AlphaKAnonymity("secret", alpha=0.3, k=4, values=("1",)),
            AlphaKAnonymity("secret", alpha=0.3, k=4),
        ),
        (factor, DeltaDisclosure("secret", delta=math.log(2))),  # δ is strict, t is not
        (factor, BetaLikeness("secret", beta=1, kind="enhanced")),
        (TCloseness("secret", t=0.1), LDiversity("secret", l=2)),
        (TCloseness("secret", t=0.1, distance="ordered"), TCloseness("secret", t=0.1)),
        (TCloseness("secret", t=0.1), TCloseness("secret", t=0.1, reference="released")),
        (DeltaDisclosure("secret", delta=0.7, absent="skip"), strict),
        (BetaLikeness("secret", beta=1), BetaLikeness("secret", beta=1, kind="enhanced")),
        (KAnonymity(9), LDiversity("secret", l=2)),
    ]
    assert [f"{a.promise} ⇒ {b.promise}" for a, b in yes if not a.implies(b)] == []
    assert [f"{a.promise} ⇒ {b.promise}" for a, b in no if a.implies(b)] == []


def test_multiplicative_closeness_does_not_imply_enhanced_likeness():
    # p = (.5, .5), q = (.875, .125): within a factor of 4, yet a gain of .75 exceeds −ln .5 = .693
    classes = [[7, 1], [1, 7]]
    assert verdict_of(classes, TCloseness("secret", t=4, distance="multiplicative"))
    assert verdict_of(classes, BetaLikeness("secret", beta=3))
    assert not verdict_of(classes, BetaLikeness("secret", beta=3, kind="enhanced"))


@given(data=st.data(), classes=counted_classes())
def test_merging_classes_keeps_monotone_promises(data, classes):
    together = oracle.merged(classes, data.draw(mergings(classes)))
    models = [model for model in many_models(len(classes[0])) if model.monotone]
    fine, coarse = (gather(counted_dataset(table), models) for table in (classes, together))
    for model in models:
        if not model.failing(fine).any():
            assert not model.failing(coarse).any(), f"merging breaks {model.promise}"


@given(data=st.data(), classes=counted_classes())
def test_merging_classes_never_suppresses_more_where_models_shrink(data, classes):
    together = oracle.merged(classes, data.draw(mergings(classes)))
    models = [model for model in many_models(len(classes[0])) if model.shrinking]
    assert {type(model) for model in models} == {KAnonymity, LDiversity, PSensitive}
    fine, coarse = (gather(counted_dataset(table), models) for table in (classes, together))
    for model in models:
        assert lost(model, coarse) <= lost(model, fine), model.promise


def lost(model, evidence):
    return int(evidence.classes.records[model.failing(evidence)].sum())


@pytest.mark.parametrize(
    ("model", "classes", "before", "after"),
    [
        # merging the first two classes: the counterexamples to "coarser suppresses less"
        (TCloseness("secret", t=0.2), [[2, 0, 0], [2, 1, 2], [4, 5, 6]], 2, 7),
        (LDiversity("secret", l=2, kind="recursive", c=2), [[1, 1], [2, 0], [3, 3]], 2, 4),
        (LDiversity("secret", l=2, kind="entropy"), [[10, 10], [3, 0], [8, 9]], 20, 40),
        (BetaLikeness("secret", beta=0.5), [[0, 2], [6, 3], [11, 2]], 2, 11),
        (
            TCloseness("secret", t=2, distance="multiplicative"),
            [[1, 1, 2], [0, 0, 2], [5, 5, 0]],
            12,
            16,
        ),
        (DeltaDisclosure("secret", delta=0.7), [[1, 1, 2], [0, 0, 2], [5, 5, 0]], 12, 16),
        (AlphaKAnonymity("secret", alpha=0.5, k=1), [[1, 1], [2, 0], [3, 3]], 2, 4),
    ],
    ids=lambda value: getattr(value, "promise", None),
)
def test_merging_classes_may_suppress_more_where_models_do_not_shrink(
    model, classes, before, after
):
    assert not model.shrinking
    assert lost(model, evidence_of(classes, model)) == before
    assert lost(model, evidence_of(oracle.merged(classes, [0, 0, 1]), model)) == after


@pytest.mark.slow
@given(data=st.data(), classes=counted_classes())
@settings(max_examples=100)
def test_forced_records_are_lost_by_every_finer_table(data, classes):
    groups = data.draw(mergings(classes))
    models = [
        model for model in many_models(len(classes[0])) if type(model).forced is not Model.forced
    ]
    fine = gather(counted_dataset(classes), models)
    coarse = gather(counted_dataset(oracle.merged(classes, groups)), models)
    order = sorted(set(groups))
    for model in models:
        gone = np.where(model.failing(fine), fine.classes.records, 0)
        lost_below = [
            sum(n for n, g in zip(gone, groups, strict=True) if g == group) for group in order
        ]
        forced = model.forced(coarse)
        assert (forced <= lost_below).all(), model.promise
        if model.monotone and model.scope == "class":
            assert ((forced > 0) == model.failing(coarse)).all()


def test_forced_records_say_more_than_that_something_fails():
    # by hand: of (8, 2) with p = (.5, .5) and t = .1, f ≥ (.3 − .1)/(.5 − .1) = 1/2 must go: then 3
    # and 2 are left
    classes = [[8, 2], [2, 8]]
    assert forced(TCloseness("secret", t=0.1), classes) == [5, 5]
    # α = .5: 8 − s ≤ .5 (10 − s), so 6 must go
    assert forced(AlphaKAnonymity("secret", alpha=0.5, k=1), classes) == [6, 6]
    # a factor of 2 either way: shares between 1/4 and 3/4 … 10 − 2/.25 = 2
    assert forced(TCloseness("secret", t=2, distance="multiplicative"), classes) == [2, 2]
    # r₁ − c·tail = 8 − 2·2
    assert forced(LDiversity("secret", l=2, kind="recursive", c=2), classes) == [4, 4]
    # all of a class with one value
    assert forced(LDiversity("secret", l=2, kind="entropy"), [[3, 0], [1, 4]])[0] == 3
    assert forced(DeltaDisclosure("secret", delta=1), [[3, 0], [1, 4]])[0] == 3


def forced(model, classes):
    return model.forced(evidence_of(classes, model)).tolist()


@pytest.mark.parametrize("model", ONE_OF_EACH, ids=NAMES)
def test_verdict_and_failing_agree(model):
    classes = [[5, 0, 0], [4, 1, 2], [3, 3, 3], [1, 0, 0]]
    evidence = evidence_of(classes, model)
    verdict = model.judge(evidence)
    failing = model.failing(evidence)
    assert verdict.holds == (not failing.any())
    at_once = model.scope == "class"  # where dropping classes moves the goal, the worst go first
    assert verdict.failing.tolist() == np.flatnonzero(failing).tolist() or not at_once
    assert set(np.flatnonzero(failing)) <= set(verdict.failing)
    assert verdict.failing_sizes.tolist() == [sum(classes[i]) for i in verdict.failing]
    assert verdict.records == sum(sum(classes[i]) for i in verdict.failing)
    assert len(verdict.per_class) == len(classes)
    assert verdict.promise == model.promise
    assert "secret" in verdict.promise
    assert verdict.missing_rule == "category"


@pytest.mark.parametrize("model", ONE_OF_EACH, ids=NAMES)
def test_an_empty_table_keeps_every_promise(model):
    verdict = verdict_of([], model)
    assert verdict.holds
    assert verdict.attained is None
    assert "nobody" in verdict.sentence


@pytest.mark.parametrize("model", ONE_OF_EACH, ids=NAMES)
def test_order_of_rows_does_not_matter(model):
    data = counted_dataset([[5, 0, 1], [4, 1, 2], [3, 3, 3]])
    mixed = Table(data.to_polars().sample(fraction=1.0, shuffle=True, seed=3), data.schema)
    one, other = (model.judge(gather(table, [model])) for table in (data, mixed))
    assert one.attained == other.attained
    assert one.per_class.tolist() == other.per_class.tolist()


@pytest.mark.parametrize("model", ONE_OF_EACH, ids=NAMES)
def test_written_in_a_recipe_and_read_again(model):
    assert build("models", write(model)) == model


@pytest.mark.parametrize("model", ONE_OF_EACH, ids=NAMES)
def test_a_schema_that_does_not_fit_is_refused_before_anything_is_counted(model):
    schema = counted_dataset([[1, 1]]).schema
    with pytest.raises(SchemaError, match="column 'secret' is not in the schema"):
        model.needs(schema.without(["secret"]))
    with pytest.raises(SchemaError, match="give it role sensitive"):
        model.needs(schema.replace("secret", roles=("keep",)))
    with pytest.raises(SchemaError, match="role quasi"):
        model.needs(schema.without(["block"]))


@pytest.mark.parametrize("model", ONE_OF_EACH, ids=NAMES)
def test_a_constant_column_keeps_no_promise(model):
    if isinstance(model, LDiversity) and model.kind == "entropy":
        model = LDiversity("secret", l=2, kind="entropy")
    found = verdict_of([[3], [4]], model)
    assert (found.holds, found.records) == (False, 7)
    assert found.sentence.endswith("column 'secret' is constant, so no recoding can reach this")
    assert "nan" not in str(found.to_dict())


@pytest.mark.parametrize(
    "step", [GlobalRecoding(budget=0.2), LocalRecoding(), Mondrian(), KMember()]
)
@pytest.mark.parametrize("model", ONE_OF_EACH, ids=NAMES)
def test_nothing_satisfies_a_promise_about_a_constant_column(model, step):
    if isinstance(model, LDiversity) and model.kind == "entropy":
        model = LDiversity("secret", l=2, kind="entropy")
    with pytest.raises(Unsatisfiable, match="'secret' is constant"):
        step.plan(
            counted_dataset([[3], [4]]).with_hierarchies(block=SuppressedValue()), Goal((model,))
        )


def test_all_problems_are_told_at_once():
    models = [LDiversity("illness", l=2), BetaLikeness("income", beta=1)]
    with pytest.raises(SchemaError) as raised:
        gather(counted_dataset([[1, 1]]), models)
    assert len(raised.value.problems) == 2


@pytest.mark.parametrize(
    "model",
    [
        m
        for m in ONE_OF_EACH
        if getattr(m, "distance", "equal") not in ("ordered", "numeric", "hierarchical")
    ],
)
def test_missing_is_a_value_of_its_own(model):
    named = verdict_of(
        [[3, 1, 2], [2, 2, 2]], model, ("a", "b", "c"), hierarchy=None, kind="nominal"
    )
    missing = verdict_of(
        [[3, 1, 2], [2, 2, 2]], model, ("a", "b", None), hierarchy=None, kind="nominal"
    )
    assert missing.per_class.tolist() == named.per_class.tolist()


# ------------------------------------------------------------------- several columns taken together


def two_secrets():
    frame = pl.DataFrame(
        {
            "block": ["a"] * 4 + ["b"] * 4,
            "x": ["1", "1", "2", "2"] * 2,
            "y": ["1", "2", "1", "2", "1", "1", "2", "2"],
        }
    )
    schema = Schema.from_roles({"quasi": "block", "sensitive": ["x", "y"]})
    return Table(frame, schema)


def test_combinations_of_columns_are_values():
    # block a has all four combinations, block b has (1,1) and (2,2) twice each
    model = LDiversity(("x", "y"), l=2)
    verdict = model.judge(gather(two_secrets(), [model]))
    assert verdict.per_class.tolist() == [4, 2]
    assert verdict.promise == "2-diversity of x × y"


def test_separate_and_joint_treatment_differ():
    data, models = (
        two_secrets(),
        [TCloseness("x", t=0), TCloseness("y", t=0), TCloseness(("x", "y"), t=0.1)],
    )
    evidence = gather(data, models)
    assert [model.judge(evidence).attained for model in models] == [0, 0, 0.25]


def test_a_combination_needs_two_columns_and_a_distance_that_knows_it():
    with pytest.raises(ParameterError, match="at least 2"):
        LDiversity(("x",), l=2)
    with pytest.raises(ParameterError, match="one column"):
        TCloseness(("x", "y"), t=0.1, distance="ordered")
    with pytest.raises(ParameterError, match="combination"):
        AlphaKAnonymity(("x", "y"), alpha=0.5, k=2, values=("1",))
    assert build("models", {"l_diversity": {"sensitive": ["x", "y"], "l": 2}}) == LDiversity(
        ("x", "y"), l=2
    )


# --------------------------------------------------------------------------- persons with many rows


def persons_table():
    """One person with three illnesses in class a; three persons in class b."""
    frame = pl.DataFrame(
        {
            "block": ["a"] * 3 + ["b"] * 3,
            "who": ["p"] * 3 + ["q", "r", "s"],
            "secret": ["1", "2", "4", "1", "2", "4"],
        }
    )
    return Table(
        frame, Schema.from_roles({"quasi": "block", "person": "who", "sensitive": "secret"})
    )


@pytest.mark.parametrize(
    ("model", "values"),
    [
        (LDiversity("secret", l=2), [1, 3]),
        (LDiversity("secret", l=2, kind="entropy"), [1, 3]),
        (LDiversity("secret", l=2, kind="recursive", c=2), [math.inf, 0.5]),
        (PSensitive("secret", p=2, k=1), [1, 3]),
    ],
    ids=lambda value: getattr(value, "promise", None),
)
def test_no_class_is_more_diverse_than_it_has_persons(model, values):
    verdict = model.judge(gather(persons_table(), [model]))
    assert verdict.per_class.tolist() == pytest.approx(values)
    assert verdict.failing.tolist() == [0]
    assert verdict.records == 3


def test_crowds_count_persons():
    model = AlphaKAnonymity("secret", alpha=0.5, k=2)
    assert model.judge(gather(persons_table(), [model])).failing.tolist() == [0]


@given(classes=counted_classes())
def test_reference_is_the_original_when_given(classes):
    models = [
        TCloseness("secret", t=0.2),
        BetaLikeness("secret", beta=1),
        DeltaDisclosure("secret", delta=1),
    ]
    original, released = counted_dataset(classes), counted_dataset(classes[:1])
    evidence = gather(released, models, original=original)
    whole = gather(original, models)
    for model in models:
        assert model.judge(evidence).per_class[0] == model.judge(whole).per_class[0]
    assert sorted(evidence.reference["secret"].tolist()) == sorted(table_of(classes))
