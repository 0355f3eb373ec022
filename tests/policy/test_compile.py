"""From policies to a recipe and a release: the order, the hierarchies, the refusals."""

from __future__ import annotations

import dataclasses
import datetime
import os

import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core.randomness import Seed
from sfumato.core.step import Goal
from sfumato.errors import ParameterError, ReleaseRefused, SchemaError, Unsatisfiable
from sfumato.policy.compile import compile_policies
from sfumato.policy.documents import PolicyError
from sfumato.policy.enforce import enforce
from sfumato.policy.lint import lint
from sfumato.policy.people import COLUMN, Policies
from sfumato.policy.policy import Policy, Pseudonymization, Recipient, Retention
from tests.policy.written_policies import (
    datum,
    k_anonymity,
    people,
    personal,
    purpose,
    study,
    three_policies,
)

USE = {"purpose": "research", "recipient": "university"}
TODAY = datetime.date(2026, 1, 1)


def rows(frame: pl.DataFrame, *columns: str) -> list[tuple]:
    return frame.select(columns).rows()


# --- G24: Alice, Bob and Axel (Gerl, chapter 4.5). Alice asks for level 1 of age, Bob for level 1
# of the ZIP code (537**), --- all for 3-anonymity on both; the name is an explicit identifier.


def test_three_people_end_to_end():
    made = enforce(Policies.of(three_policies()), people(), by="Name", shuffle=False, **USE)
    personal_levels = next(plan for name, plan in made.release.plans if name == "personal_levels")
    raised = list(
        zip(personal_levels.columns["Age"], personal_levels.columns["Zipcode"], strict=True)
    )
    assert raised == [("20-30", "53711"), ("25", "537**"), ("26", "53711")]
    assert rows(made.release.data, "Age", "Zipcode", "Disease") == [
        ("20-30", "537**", "Flu"),
        ("20-30", "537**", "Hepatitis"),
        ("20-30", "537**", "Bronchitis"),
    ]
    assert made.release.data.columns == ["Age", "Zipcode", "Disease"]
    assert [name for name, _ in made.release.plans] == [
        "authorised",
        "personal_levels",
        "global_recoding",
    ]


def test_people_differ_only_in_what_they_ask_for_and_their_names_stay_out():
    policies = Policies.of(three_policies())
    assert list(policies.groups) == ["policy 1", "policy 2", "policy 3"]
    same = Policies.of({"Ann": personal("25", "53711"), "Bo": personal("26", "53712")})
    assert list(same.groups) == ["policy 1"]  # they differ in the entry of their own value alone
    made = enforce(policies, people(), by="Name", **USE)
    assert not any(name in recipes.dump(made.compiled.recipe) for name in ("Alice", "Bob", "Axel"))
    assert not any(name in str(made.record) for name in ("Alice", "Bob", "Axel", "53711"))


def test_the_wrong_order_breaks_the_promise():
    """Levels raised after the promise was reached tear its classes apart; before, nothing is
    lost.
    """
    policies = Policies.of({**three_policies(), "Axel": personal("26", "53711", age_level=2)})
    table = policies.assigned(people(), "Name")
    right = compile_policies(policies, table, **USE).recipe
    assert sf.run(table, right).holds
    first, levels, recoding = right.steps
    wrong = dataclasses.replace(right, steps=(first, recoding, levels))
    with pytest.raises(ReleaseRefused, match="3-anonymity"):
        sf.run(table, wrong)


def test_the_wrong_order_merges_pseudonyms():
    """Pseudonyms of generalised names: Alice and Axel become one person. Pseudonyms first keep
    three.
    """
    names = people().with_roles(drop="Name", keep=["Age", "Zipcode", "Disease"])
    pseudonymize = sf.Pseudonymize("Name", method="random_table")
    goal = Goal(seed=Seed.of(None))
    first = pseudonymize.apply(names, pseudonymize.plan(names, goal))
    assert first.column("Name").n_unique() == 3
    generalised = names.with_columns({"Name": pl.Series("Name", ["A***", "B**", "A***"])})
    after = pseudonymize.apply(generalised, pseudonymize.plan(generalised, goal))
    assert after.column("Name").n_unique() == 2


# --- one policy for everybody


def test_one_policy_gives_a_recipe_to_read_and_edit():
    recipe = study().compile(people(), **USE)
    assert isinstance(recipe, sf.Recipe)
    assert recipes.parse(recipes.dump(recipe)) == recipe
    assert recipe.schema.dropped_columns == ("Name",) and recipe.schema.quasi == ("Age", "Zipcode")
    assert recipe.meet == (sf.KAnonymity(3),)
    assert [step.name for step in recipe.steps] == ["personal_levels", "global_recoding"]
    release = sf.run(people(), recipe)
    assert set(rows(release.data, "Age", "Zipcode")) == {("20-30", "537**")}


def test_the_table_s_own_hierarchy_is_used():
    data = (
        datum("Name", "EI"),
        datum("Age", "QID"),
        datum("Zipcode", "QID", 2, 3),
        datum("Disease", "SD"),
    )
    policy = Policy("p", purposes=(purpose(*data),))
    table = people().with_roles(quasi=["Age", "Zipcode"])
    table = table.with_hierarchies(Zipcode=sf.mask_right(5), Age=sf.intervals(10))
    made = policy.enforce(table, **USE)
    assert set(made.release.data["Zipcode"]) == {"537**"}


def test_entries_that_disagree_with_the_table():
    table = people().with_roles(quasi=["Age", "Zipcode"]).with_hierarchies(Zipcode=sf.mask_right(5))
    with pytest.raises(PolicyError, match="hierarchy_disagrees_with_table"):
        study().compile(table, **USE)


def test_entries_that_disagree_between_two_people():
    odd = personal("25", "53711")
    data = list(odd.purposes[0].data)
    data[1] = datum("Age", "QID", 0, 2, [("25", "25-29", "<50")])
    odd = dataclasses.replace(
        odd, purposes=(dataclasses.replace(odd.purposes[0], data=tuple(data)),)
    )
    policies = Policies.of({**three_policies(), "Alice": odd})
    with pytest.raises(PolicyError, match="hierarchy_disagrees") as refused:
        enforce(policies, people(), by="Name", **USE)
    assert "25" not in str(refused.value).replace("level 0", "")


def test_entries_of_different_depth():
    data = list(personal("25", "53711").purposes[0].data)
    data[1] = datum("Age", "QID", 0, 2, [("26", "<50")])
    short = Policy("own", purposes=(purpose(*data),))
    with pytest.raises(PolicyError, match="hierarchy_uneven"):
        enforce(Policies.of({**three_policies(), "Axel": short}), people(), by="Name", **USE)


def test_entries_that_do_not_cover_the_table():
    only_alice = Policies.one(personal("25", "53711"))
    with pytest.raises(PolicyError, match="hierarchy_incomplete"):
        compile_policies(only_alice, people(), **USE)


def test_different_tops_get_a_common_one():
    data = [datum("Name", "EI"), datum("Zipcode", "QID"), datum("Disease", "SD")]
    age = datum("Age", "QID", 0, None, [("25", "young"), ("26", "old")])
    recipe = Policy("p", purposes=(purpose(*data, age),)).compile(people(), **USE)
    assert recipe.schema["Age"].hierarchy.paths(["25", "26"], [1, 1]).rows == (
        ("25", "young", "*"),
        ("26", "old", "*"),
    )


def test_a_minimum_above_the_hierarchy():
    data = (
        datum("Name", "EI"),
        datum("Age", "QID", 2),
        datum("Zipcode", "QID"),
        datum("Disease", "SD"),
    )
    with pytest.raises(PolicyError, match="min_above_hierarchy"):
        Policy("p", purposes=(purpose(*data),)).compile(people(), **USE)


def test_what_no_policy_lists_is_withheld():
    policy = Policy("p", purposes=(purpose(datum("Age", "QID"), datum("Disease", "NSD")),))
    compiled = compile_policies(Policies.one(policy), people(), **USE)
    release = sf.run(people(), compiled.recipe)
    assert release.data.columns == ["Age", "Disease"]
    assert {d.subject for d in compiled.decisions if d.rule == "withheld"} == {"Name", "Zipcode"}


def test_roles_of_the_survey_design_stay():
    table = sf.read(pl.DataFrame({"age": [1, 1, 1], "w": [1.0, 2.0, 3.0]})).with_roles(
        quasi="age", weight="w"
    )
    policy = Policy("p", purposes=(purpose(datum("age", "QID"), datum("w", "NSD")),))
    assert [str(r) for r in policy.compile(table, **USE).schema["w"].roles] == ["weight"]


# --- caps that leave no way to keep the promises


def capped() -> Policy:
    data = [d for d in study().purposes[0].data if d.name != "Zipcode"]
    zip_code = datum("Zipcode", "QID", 0, 0, study().purposes[0].data[2].anonymization.hierarchy)
    return Policy("p", purposes=(purpose(*data, zip_code),))


def test_caps_are_lifted_for_privacy_and_it_is_told():
    compiled = compile_policies(Policies.one(capped()), people(), on_conflict="privacy", **USE)
    assert [d.rule for d in compiled.decisions] == ["caps_too_low"]
    assert set(sf.run(people(), compiled.recipe).data["Zipcode"]) == {"537**"}


def test_rows_are_dropped_for_the_caps():
    table = sf.read(pl.concat([people().to_polars()] * 2))
    compiled = compile_policies(Policies.one(capped()), table, on_conflict="suppress_rows", **USE)
    release = sf.run(table, compiled.recipe)
    assert release.suppressed == 2 and set(release.data["Zipcode"]) == {"53711"}


def test_caps_that_must_not_be_lifted():
    with pytest.raises(Unsatisfiable, match="within the caps of Zipcode"):
        capped().compile(people(), on_conflict="fail", **USE)


def test_caps_that_suffice_are_kept():
    recipe = study().compile(people(), **USE)
    assert recipe.steps[-1].levels == {"Age": (1, 2)}


# --- authorisation


@pytest.mark.parametrize(
    ("change", "use", "reason"),
    [
        ({}, {"purpose": "marketing"}, "is not in the policy"),
        ({"accepted": False}, {}, "was not agreed to"),
        ({}, {"recipient": "press"}, "recipient 'press' is not allowed"),
        ({"retention": Retention("fixed_date", date=datetime.date(2025, 1, 1))}, {}, "has passed"),
        (
            {"retention": Retention("after_purpose", amount=30)},
            {"ended": datetime.date(2025, 11, 1)},
            "has passed",
        ),
    ],
)
def test_uses_that_are_not_allowed(change, use, reason):
    with pytest.raises(ReleaseRefused, match=reason):
        study(**change).compile(people(), **{**USE, "today": TODAY, **use})


def test_uses_that_are_allowed():
    assert study(accepted=True).compile(
        people(), purpose="research"
    )  # no recipient: the controller itself
    assert study().compile(people(), purpose="research", recipient="University")
    not_yet = study(retention=Retention("after_purpose", amount=30))
    assert not_yet.compile(people(), today=TODAY, ended=datetime.date(2025, 12, 15), **USE)


def test_agreement_to_a_super_purpose_covers_its_parts():
    policy = dataclasses.replace(
        study(), hierarchy=(("research", "cancer research"), ("cancer research", "trial"))
    )
    assert policy.compile(people(), purpose="trial", recipient="university")


def test_people_who_do_not_agree_are_left_out():
    data = pl.concat([people().to_polars()] * 3)
    table = sf.read(data)
    policies = Policies.of({**three_policies(), "Bob": personal("25", "53712", accepted=False)})
    made = enforce(policies, table, by="Name", **USE)
    assert made.release.suppressed == 3
    assert "Hepatitis" not in made.release.data["Disease"].to_list()
    assert [r["reason"] for r in made.record["refused"]] == ["purpose 'research' was not agreed to"]


def test_people_without_a_policy_are_left_out():
    own = three_policies()
    del own["Bob"]
    table = sf.read(pl.concat([people().to_polars()] * 3))
    made = enforce(Policies.of(own), table, by="Name", **USE)
    assert "Hepatitis" not in made.release.data["Disease"].to_list()


def test_nobody_agrees():
    own = {
        name: dataclasses.replace(p, purposes=(dataclasses.replace(p.purposes[0], accepted=False),))
        for name, p in three_policies().items()
    }
    with pytest.raises(ReleaseRefused, match="was not agreed to"):
        enforce(Policies.of(own), people(), by="Name", **USE)


def test_the_earliest_day_of_deletion_counts():
    first = study(retention=Retention("fixed_date", date=datetime.date(2031, 1, 1)))
    second = dataclasses.replace(
        study(retention=Retention("fixed_date", date=datetime.date(2030, 1, 1))), name="other"
    )
    compiled = compile_policies(Policies.one(first, second), people(), today=TODAY, **USE)
    assert compiled.delete_by == datetime.date(2030, 1, 1)


# --- pseudonyms


def with_pseudonyms(name: str) -> Policy:
    return study(pseudonymizations=(Pseudonymization(name, ("Name",)),))


def test_keyed_pseudonyms_need_a_key(tmp_path):
    with pytest.raises(PolicyError, match="missing_key"):
        with_pseudonyms("HMAC").compile(people(), **USE)
    key = tmp_path / "k"
    key.write_text(os.urandom(32).hex())
    key.chmod(0o600)
    recipe = with_pseudonyms("HMAC").compile(people(), key={"file": str(key)}, **USE)
    assert [step.name for step in recipe.steps] == [
        "pseudonymize",
        "personal_levels",
        "global_recoding",
    ]
    assert recipe.steps[0].domain == "research"
    release = sf.run(people(), recipe)
    assert release.data["Name"].n_unique() == 3 and not set(release.data["Name"]) & {
        "Alice",
        "Bob",
        "Axel",
    }


def test_a_hash_without_a_key_is_replaced():
    compiled = compile_policies(Policies.one(with_pseudonyms("SHA-1")), people(), **USE)
    assert compiled.recipe.steps[0].method == "random_table"
    assert "unkeyed_hash" in {d.rule for d in compiled.decisions}


@pytest.mark.parametrize("with_key", [True, False])
def test_lint_says_what_compile_does_with_a_hash_without_a_key(tmp_path, with_key):
    key = tmp_path / "k"
    key.write_text(os.urandom(32).hex())
    key.chmod(0o600)
    policy, options = with_pseudonyms("SHA-1"), {"key": {"file": str(key)}} if with_key else {}
    compiled = compile_policies(Policies.one(policy), people(), **USE, **options)
    used = compiled.recipe.steps[0].method
    (linted,) = (f.message for f in lint(policy) if f.rule == "unkeyed_hash")
    assert (
        f"{used} where a key is given" if with_key else f"{used} is used in its place"
    ) in linted
    (decided,) = (d.text for d in compiled.decisions if d.rule == "unkeyed_hash")
    assert f"{used} is used in its place" in decided


def test_a_column_of_pseudonyms_has_no_levels():
    data = (datum("Name", "NSD", 1, 1), *study().purposes[0].data[1:])
    policy = Policy(
        "p",
        purposes=(
            purpose(*data, pseudonymizations=(Pseudonymization("random table", ("Name",)),)),
        ),
    )
    made = policy.enforce(people(), **USE)
    assert (
        made.release.data["Name"].n_unique() == 3
        and "Alice" not in made.release.data["Name"].to_list()
    )


# --- bad input


@pytest.mark.parametrize(
    ("option", "told"), [({"on_conflict": "shrug"}, "one of privacy"), ({"bugdet": 1}, "'budget'")]
)
def test_unknown_options(option, told):
    with pytest.raises(ParameterError, match=told):
        study().compile(people(), **option, **USE)


def test_people_s_policies_need_the_column_that_names_them():
    policies = Policies.of(three_policies())
    with pytest.raises(SchemaError, match="the column that identifies the person"):
        enforce(policies, people(), **USE)
    with pytest.raises(SchemaError, match=f"lacks the column '{COLUMN}'"):
        compile_policies(policies, people(), **USE)
    with pytest.raises(SchemaError, match="has no column 'Nam'"):
        enforce(policies, people(), by="Nam", **USE)


def test_no_model_is_a_finding_unless_one_is_added():
    with pytest.raises(PolicyError, match="no_model"):
        study(models=()).compile(people(), **USE)
    recipe = study(models=()).compile(people(), meet=[sf.KAnonymity(3)], **USE)
    assert recipe.meet == (sf.KAnonymity(3),)
    assert study().compile(people(), meet=[sf.KAnonymity(2)], **USE).meet == (sf.KAnonymity(3),)


def test_an_empty_set_of_policies_allows_nothing():
    with pytest.raises(ReleaseRefused, match="no policy"):
        compile_policies(Policies(), people(), **USE)


def test_an_empty_table():
    empty = sf.read(people().to_polars().clear())
    with pytest.raises(sf.errors.SfumatoError):
        study().enforce(empty, **USE)


def test_a_preset_beside_a_policy():
    table = sf.read(pl.concat([people().to_polars()] * 4))
    policies = Policies.one(study(), Policy.load("preset:cms_minimum_cell"))
    compiled = compile_policies(policies, table, **USE)
    assert compiled.recipe.meet == (sf.KAnonymity(11),)
    assert "3-anonymity follows from 11-anonymity" in str(compiled.decisions[0])


def test_a_preset_alone_takes_the_roles_of_the_table():
    table = sf.read(pl.DataFrame({"age": [30] * 12, "name": list("abcdefghijkl")})).with_roles(
        quasi="age", drop="name"
    )
    recipe = Policy.load("preset:cms_minimum_cell").compile(
        table, purpose="anything", recipient="anybody"
    )
    assert recipe.schema == table.schema and recipe.meet == (sf.KAnonymity(11),)


def test_floor_for_everybody():
    policies = Policies.of(three_policies(models=(k_anonymity(1),)))
    made = enforce(policies, people(), by="Name", floor=True, **USE)
    assert set(made.release.data["Age"]) == {"20-30"} and set(made.release.data["Zipcode"]) == {
        "537**"
    }
    own = enforce(policies, people(), by="Name", **USE)
    assert own.release.data["Age"].to_list().count("20-30") == 1


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"required": True, "accepted": False}, "required_but_refused"),
        (
            {"recipients": (Recipient("university", third_country=True),)},
            "third_country_unprotected",
        ),
        ({"data": (datum("Age", "QID", 2, 1),)}, "min_above_max"),
        ({"data": (datum("Height", "QID", required=True),)}, "datum_not_in_table"),
    ],
)
def test_inconsistent_policies_are_not_half_applied(change, rule):
    policy = study()
    broken = dataclasses.replace(
        policy, purposes=(dataclasses.replace(policy.purposes[0], **change),)
    )
    with pytest.raises(PolicyError, match=rule):
        broken.enforce(people(), **USE)


def test_cyclic_purposes_are_refused():
    with pytest.raises(PolicyError, match="cyclic_purposes"):
        dataclasses.replace(study(), hierarchy=(("a", "research"), ("research", "a"))).compile(
            people(), **USE
        )


def test_a_datum_that_the_table_lacks_is_told():
    policy = study()
    data = (*policy.purposes[0].data, datum("Height", "QID"))
    more = dataclasses.replace(
        policy, purposes=(dataclasses.replace(policy.purposes[0], data=data),)
    )
    compiled = compile_policies(Policies.one(more), people(), **USE)
    assert [d.rule for d in compiled.decisions] == ["datum_not_in_table"]
