from __future__ import annotations

from sfumato.release.report import wording
from tests.release.report import samples


def outcome(certificate, column):
    return next(story for story in wording.column_stories(certificate) if story.name == column)


def test_columns_in_the_order_of_the_original_with_their_fate():
    stories = wording.column_stories(samples.certificate())
    assert [(s.name, s.outcome) for s in stories] == [
        ("patient_name", "dropped"),
        ("age", "level 2 of 4"),
        ("sex", "exact"),
        ("illness", "released unchanged"),
        ("ward", "released unchanged"),
    ]
    assert all(s.why for s in stories)
    assert stories[1].hierarchy == "intervals"


def test_a_column_that_another_step_changes_is_not_said_to_be_as_it_is():
    certificate = samples.certificate()
    certificate["plan"].append({"step": "rank_swap", "kind": "row program", "columns": ["illness"]})
    assert outcome(certificate, "illness").outcome == "changed by rank swap"
    assert outcome(certificate, "ward").outcome == "released unchanged"


def test_a_step_that_does_not_name_its_columns_may_have_changed_any():
    certificate = samples.certificate()
    certificate["plan"].append({"step": "new_step", "kind": "row program"})
    assert outcome(certificate, "ward").outcome == "changed by new step"
    assert outcome(certificate, "patient_name").outcome == "dropped"


def test_columns_dropped_although_no_recipe_names_them():
    certificate = samples.certificate()
    certificate["recipe"] = {}
    assert outcome(certificate, "patient_name").outcome == "dropped"


def test_two_roles():
    certificate = samples.certificate()
    certificate["roles"]["age"] = ["quasi", "sensitive"]
    story = outcome(certificate, "age")
    assert story.roles == "quasi-identifier, sensitive"
    assert "intruder" in story.why
    assert "It is sensitive" in story.why


def test_k_is_the_strictest_promised():
    certificate = samples.certificate()
    assert wording.promised_k(certificate) == 3
    certificate["verdicts"].append({**certificate["verdicts"][0], "required": 7})
    certificate["verdicts"].append(
        {**certificate["verdicts"][0], "model": "t_closeness", "required": 20}
    )
    assert wording.promised_k(certificate) == 7
    assert wording.promised_k(samples.empty_certificate()) is None


def test_what_a_class_size_counts():
    certificate = samples.certificate()
    disjoint, overlapping = ({"3": 2, "4": 1}, 10), ({"3": 2, "5": 1}, 10)
    assert wording.members(certificate, disjoint) == "records"
    certificate["missing_rule"]["age"] = "wildcard"
    assert wording.members(certificate, disjoint) == "records", (
        "no value is missing, so no class overlaps"
    )
    assert wording.members(certificate, disjoint, overlapping) == "classes"
    certificate["missing_rule"]["age"] = "category"
    certificate["recipe"]["columns"]["patient"] = {"role": "person"}
    assert wording.members(certificate, overlapping) == "persons"
    certificate["recipe"]["columns"]["patient"] = {"role": "household"}
    assert wording.members(certificate, disjoint) == "records"


def test_missing_rules_are_grouped():
    rules = wording.missing_rules(
        {"missing_rule": {"a": "category", "b": "wildcard", "c": "category"}}
    )
    assert [columns for _, columns in rules] == [["a", "c"], ["b"]]
    assert "only another missing value" in rules[0][0]
    assert "any value" in rules[1][0]
