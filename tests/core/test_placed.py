"""Methods of ordinary tables with the table they apply to: what recipes write, and which class a
name means.
"""

from __future__ import annotations

import json

import pytest

import sfumato as sf
from sfumato import examples
from sfumato.core import recipe_files, registry
from sfumato.core.data import Evidence, SupportsTables
from sfumato.core.parameters import spelled
from sfumato.core.placed import KEYS, PlacedMetric, PlacedModel, PlacedStep
from sfumato.core.shape import Shape
from sfumato.data.relational import CapRows, ShiftPersonDates
from sfumato.errors import ParameterError, RecipeError
from sfumato.methods.models import KAnonymity
from sfumato.methods.steps import GlobalRecoding, ShiftDates
from sfumato.methods.utility import Means

TABLES = {
    "people": {
        "key": "person_id",
        "columns": {
            "name": "drop",
            "age": {
                "role": "quasi",
                "kind": "numeric",
                "hierarchy": {"intervals": {"widths": [10, 20, 40]}},
            },
            "sex": {"role": "quasi", "hierarchy": "suppress"},
            "region": "keep",
            "diagnosis": "sensitive",
        },
    },
    "visits": {
        "key": "visit_id",
        "belongs_to": {"people": "person_id"},
        "columns": {
            "ward": "keep",
            "month": "keep",
            "cost": {"role": "keep", "kind": "numeric"},
        },
    },
    "prescriptions": {
        "belongs_to": {"visits": "visit_id"},
        "columns": {"drug": "sensitive", "days": "keep"},
    },
}
MEET = [{"k_anonymity": {"k": 3, "table": "people"}}]
STEPS = [{"global_recoding": {"budget": 0.2, "table": "people"}}]
SPECS = {
    "models": {"k_anonymity": {"k": 5, "table": "visits"}},
    "steps": {
        "global_recoding": {
            "budget": 0.03,
            "table": "visits",
            "aim": [{"k_anonymity": {"k": 4}}],
            "drop": "people",
        }
    },
    "utility": {"means": {"columns": ["cost"], "table": "visits"}},
}
OBJECTS = {
    "models": PlacedModel(KAnonymity(5), "visits"),
    "steps": PlacedStep(GlobalRecoding(budget=0.03), "visits", aim=(KAnonymity(4),), drop="people"),
    "utility": PlacedMetric(Means(columns=("cost",)), "visits"),
}


def built(family, spec, shape=Shape.TABLES):
    return registry.build(family, spec, shape=shape)


@pytest.mark.parametrize("family", SPECS)
def test_a_recipe_writes_the_table_beside_the_fields_of_the_method(family):
    assert built(family, SPECS[family]) == OBJECTS[family]
    assert registry.write(OBJECTS[family]) == json.loads(json.dumps(SPECS[family]))
    assert registry.method_class(family, *next(iter(SPECS[family].items())), Shape.TABLES) is type(
        OBJECTS[family].method
    )


def test_what_is_usual_is_not_written():
    step = built("steps", {"mondrian": {"table": "visits", "drop": "rows", "aim": []}})
    assert registry.write(step) == {"mondrian": {"table": "visits"}}


def test_of_two_classes_of_a_name_the_table_says_which():
    placed = built("steps", {"shift_dates": {"columns": ["day"], "days": 30, "table": "visits"}})
    assert isinstance(placed, PlacedStep)
    assert isinstance(placed.method, ShiftDates)
    own = built("steps", {"shift_dates": {"columns": {"visits": ["day"]}, "days": 30}})
    assert isinstance(own, ShiftPersonDates)


def test_a_class_with_a_table_of_its_own_keeps_it():
    step = built("steps", {"cap_rows": {"table": "visits", "at_most": 2}})
    assert step == CapRows("visits", 2)
    with pytest.raises(RecipeError, match="no parameter 'drop'"):
        built("steps", {"cap_rows": {"table": "visits", "at_most": 2, "drop": "people"}})


@pytest.mark.parametrize("family", KEYS)
def test_no_method_of_tables_has_a_field_that_says_where_it_applies(family):
    for cls in registry.family(family).values():
        assert not set(KEYS["steps"]) & set(spelled(cls).values())


@pytest.mark.parametrize(
    ("family", "spec", "message"),
    [
        (
            "models",
            {"k_anonymity": 5},
            "'k_anonymity' is about one table, and the data have several; say which",
        ),
        ("models", "k_anonymity", "say which: 'k_anonymity: {…, table: NAME}'"),
        ("models", {"k_anonymity": {"k": 5, "table": "visits", "aim": []}}, "no parameter 'aim'"),
        (
            "models",
            {"k_anonymity": {"k": 0, "table": "visits"}},
            "k_anonymity: k should be greater",
        ),
        ("models", {"persons_k_anonymity": {"k": 5, "table": "visits"}}, "no parameter 'table'"),
        (
            "models",
            {"in_table": {"table": "visits", "promise": {"k_anonymity": 5}}},
            "k_anonymity: {k: 5, table: visits}",
        ),
        (
            "utility",
            {"in_table": {"table": "visits", "metric": "loss"}},
            "means: {columns: .*, table: visits}",
        ),
        ("models", {"nonsense": {"table": "visits"}}, "'nonsense' is not a known model"),
        (
            "steps",
            {"mondrian": {"table": "visits", "aim": {"k_anonymity": 3}}},
            "mondrian: aim lists promises",
        ),
    ],
)
def test_what_is_wrong_is_told_with_the_right_form(family, spec, message):
    with pytest.raises(RecipeError, match=message):
        built(family, spec)


@pytest.mark.parametrize("shape", [Shape.TABLE, Shape.BASKETS])
def test_data_of_another_shape_have_no_table_to_name(shape):
    with pytest.raises(RecipeError, match="no parameter 'table'"):
        built("models", {"k_anonymity": {"k": 5, "table": "visits"}}, shape)


def test_what_is_no_method_of_its_family_is_not_placed():
    with pytest.raises(ParameterError, match="the method must be a step of ordinary tables"):
        PlacedStep(KAnonymity(2), "visits")
    with pytest.raises(ParameterError, match="aim lists promises"):
        PlacedStep(GlobalRecoding(), "visits", aim=(GlobalRecoding(),))


def test_a_model_is_asked_for_with_its_table():
    assert registry.ask("k-anonymity:5,table=visits", Shape.TABLES).model == OBJECTS["models"]
    left_open = registry.ask("l_diversity:diagnosis, table = people, kind=entropy", Shape.TABLES)
    assert (left_open.model.table, left_open.left_open) == ("people", ("l",))
    with pytest.raises(ParameterError, match="table is given twice"):
        registry.ask("k_anonymity:5,table=visits,table=people", Shape.TABLES)
    with pytest.raises(ParameterError, match="say which"):
        registry.ask("k_anonymity:5", Shape.TABLES)
    with pytest.raises(ParameterError, match="has no parameter 'table'"):
        registry.ask("k_anonymity:5,table=visits")
    with pytest.raises(ParameterError, match=r"k_anonymity: \{k: 5, table: visits\}"):
        registry.ask("in_table:visits,k_anonymity:5", Shape.TABLES)


def test_only_data_of_several_tables_give_one_by_itself():
    assert isinstance(examples.clinic(), SupportsTables)
    assert not isinstance(examples.patients(), SupportsTables)
    with pytest.raises(ParameterError, match="k_anonymity: these data are not several tables"):
        OBJECTS["models"].judge(Evidence(examples.patients()))


def test_values_of_a_placed_promise_and_of_an_aim_stay_with_the_owner():
    listed = {
        "alpha_k_anonymity": {"sensitive": "diagnosis", "alpha": 0.9, "k": 2, "values": ["gout"]}
    }
    promise = {"alpha_k_anonymity": {**listed["alpha_k_anonymity"], "table": "people"}}
    step = {"global_recoding": {"table": "people", "aim": [listed]}}
    recipe = recipe_files.any_from_dict({"tables": TABLES, "meet": [promise], "steps": [step]})
    shown = recipe_files.public_dict(recipe)
    assert "gout" not in json.dumps(shown)
    assert recipe_files.keeps_back("models", shown["meet"][0], Shape.TABLES)
    again = recipe_files.any_from_dict(recipe_files.read_yaml(recipe_files.dump(recipe), "recipe"))
    assert again == recipe


def test_a_placed_metric_can_be_limited():
    limits = {"means": {"columns": ["cost"], "table": "visits", "at_most": 0.5}}
    recipe = recipe_files.any_from_dict(
        {"tables": TABLES, "meet": MEET, "steps": STEPS, "limits": limits}
    )
    release = sf.run(examples.clinic_tables(), recipe, seed=1, seconds=0)
    assert [(limit.name, limit.holds) for limit in release.limits] == [("means", True)]
    assert recipe_files.to_dict(recipe)["limits"] == limits
    with pytest.raises(RecipeError, match="'loss' is about one table, and the data have several"):
        recipe_files.any_from_dict({"tables": TABLES, "limits": {"loss": 0.3}})


def test_a_release_is_locked_replayed_and_verified(tmp_path):
    recipe = recipe_files.any_from_dict({"tables": TABLES, "meet": MEET, "steps": STEPS})
    tables = examples.clinic_tables()
    out = sf.run(tables, recipe, seed=1, seconds=0).write(tmp_path / "out")
    certificate = json.loads((out / "share" / "certificate.json").read_text())
    assert certificate["recipe"]["meet"] == MEET
    assert [(v["model"], v["holds"]) for v in certificate["verdicts"]] == [("k_anonymity", True)]
    assert [(plan["step"], plan["table"]) for plan in certificate["plan"]] == [
        ("global_recoding", "people")
    ]
    claims = {claim.name: claim.status for claim in sf.verify(out / "share").claims}
    assert claims["3-anonymity in people"] == "holds"
    original = sf.read_tables(tables, recipe)
    assert sf.verify(out / "share", original=original, owner=out / "owner").holds


def test_a_table_that_is_not_there_is_refused_before_any_step_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clinic = examples.clinic()
    promise, step = PlacedModel(KAnonymity(2), "visits"), PlacedStep(GlobalRecoding(), "visits")
    monkeypatch.setattr(GlobalRecoding, "plan", lambda *_: pytest.fail("a step has run"))
    for models, steps, message in (
        ([PlacedModel(KAnonymity(2), "visit")], [step], "meet: k_anonymity .* Did you mean"),
        ([promise], [PlacedStep(GlobalRecoding(), "wards")], "steps: global_recoding .* There are"),
        ([promise], [CapRows("visit", at_most=2)], "steps: cap_rows .* Did you mean 'visits'"),
    ):
        with pytest.raises(ParameterError, match=message):
            sf.anonymize(clinic, models, steps, seed=1)


@pytest.mark.parametrize("bound", [{"at_most": 0.1}, [{"at_most": 0.1}, {"at_most": 0.2}]])
def test_a_limit_on_a_table_that_is_not_there_is_refused_with_the_recipe(bound: object) -> None:
    bounds = bound if isinstance(bound, list) else [bound]
    columns = ["cost", "days"]
    spec = [
        {"columns": [column], "table": "vists", **entry}
        for column, entry in zip(columns, bounds, strict=False)
    ]
    document = {"tables": TABLES, "meet": MEET, "steps": STEPS, "limits": {"means": spec}}
    with pytest.raises(RecipeError, match="limits: means names a table 'vists'"):
        recipe_files.any_from_dict(document)
