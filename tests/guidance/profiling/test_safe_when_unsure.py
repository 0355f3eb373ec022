"""Where a proposal is unsure it asks, and what one column tells of another is not overlooked."""

from __future__ import annotations

import random

import polars as pl
import pytest

import sfumato as sf
from sfumato.core import recipe_files as recipes
from sfumato.core.source import Source
from sfumato.errors import SchemaError
from sfumato.guidance.profiling.proposal import propose
from sfumato.guidance.profiling.words import find, find_all
from sfumato.guidance.profiling.yaml_text import recipe_text

N = 600
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def drawn(seed: int = 4) -> random.Random:
    return random.Random(seed)


def proposal_of(**columns):
    return propose(pl.DataFrame(columns), Source(name="people.csv"))


def role_of(proposal, name):
    return "+".join(proposal[name].roles)


def common_names(draw: random.Random) -> list[str]:
    """Names of which a few are common and most are rare, none of them a name we know."""
    names = ["".join(draw.choice(LETTERS) for _ in range(7)) for _ in range(N)]
    return [draw.choice(names[:20]) if draw.random() < 0.6 else name for name in names]


@pytest.mark.parametrize(
    "name",
    [
        "first",
        "last",
        "Last_NM",
        "patient_first",
        "patVorname",
        "custlastname",
        "PRENOM_CLIENT",
        "apellido2",
        "nom",
    ],
)
def test_names_of_people_are_dropped_whatever_the_column_is_called(name):
    assert role_of(proposal_of(**{name: common_names(drawn())}), name) == "drop"


@pytest.mark.parametrize("name", ["first_visit", "last_contact_reason", "first_line_therapy_x"])
def test_first_and_last_are_names_only_where_nothing_else_is_said(name):
    values = [drawn(i).choice(["north", "south", "south", "south"]) for i in range(N)]
    assert role_of(proposal_of(**{name: values}), name) != "drop"


def test_unknown_texts_that_may_be_names_are_asked_about():
    proposal = proposal_of(feld_7=common_names(drawn()))
    assert role_of(proposal, "feld_7") == "ask"
    assert "drop if they name people" in proposal["feld_7"].reasons[0]


@pytest.mark.parametrize("name", ["zq", "column_4", "nummer_x", "v12"])
def test_nearly_unique_whole_numbers_are_never_plain(name):
    draw = drawn()
    numbers = draw.sample(range(10_000, 200_000), N)
    assert role_of(proposal_of(**{name: numbers}), name) in ("ask", "drop")
    assert role_of(
        proposal_of(**{name: [f"{n}-{draw.choice(LETTERS)}" for n in numbers]}), name
    ) in ("ask", "drop")


def test_a_patient_number_is_dropped():
    numbers = drawn().sample(range(10_000, 400_000), N)
    assert role_of(proposal_of(pidnum=numbers), "pidnum") == "drop"


@pytest.mark.parametrize(
    ("name", "not_said"),
    [
        ("tax_filer_stat", "country"),
        ("c_charge_degree", "education"),
        ("violent_recid", "record id"),
        ("c_case_number", "medical record number"),
        ("std_dev", "sexual life"),
        ("market_cap", "postal code"),
    ],
)
def test_a_word_that_means_something_else_in_company_is_not_believed(name, not_said):
    assert not_said not in {match.concept for match in find_all(name)}


def test_a_court_case_number_is_one():
    assert find("c_case_number").concept == "case or file number"


def test_what_separates_people_is_known_without_a_name():
    draw = drawn()
    proposal = proposal_of(
        column_1=[draw.randrange(18, 90) for _ in range(N)],
        column_2=[draw.choice("abcdefg") for _ in range(N)],
        column_3=[draw.choice(["Male", "Female"]) for _ in range(N)],
        column_4=[draw.choice(["White", "Black", "Asian-Pac-Islander", "Other"]) for _ in range(N)],
        column_5=[
            draw.choice(["Never-married", "Divorced", "Widowed", "Married-civ-spouse"])
            for _ in range(N)
        ],
        column_6=[draw.choice([0, 0, 0, 0, 1]) for _ in range(N)],
    )
    told = [role_of(proposal, f"column_{i}") for i in range(1, 7)]
    assert told == ["quasi", "quasi", "quasi", "quasi+sensitive", "quasi", "ask"]


def test_undecided_columns_that_find_people_together_are_warned_of():
    draw = drawn()
    table = {f"v{i}": [draw.choice([0, 0, 1]) for _ in range(N)] for i in range(14)}
    proposal = proposal_of(**table)
    assert {role_of(proposal, name) for name in table} == {"ask"}
    assert proposal.left_alone > 0.2
    assert "columns with role keep or ask single out" in recipe_text(proposal)
    few = propose(pl.DataFrame({"v0": table["v0"]}), Source())
    assert few.left_alone == 0
    assert "columns with role keep" not in recipe_text(few)


def education(draw: random.Random) -> tuple[list[str], list[int]]:
    levels = ["primary", "secondary", "trade", "college", "bachelor", "master", "doctorate"]
    numbers = [draw.randrange(len(levels)) for _ in range(N)]
    return [levels[n] for n in numbers], numbers


def test_of_a_label_and_its_number_one_is_kept():
    labels, numbers = education(drawn())
    proposal = proposal_of(
        education=labels, education_num=numbers, age=[drawn(i).randrange(20, 80) for i in range(N)]
    )
    assert role_of(proposal, "education") == "quasi"
    assert role_of(proposal, "education_num") == "drop"
    assert "has the same information as education" in proposal["education_num"].reasons[0]


def test_a_nameless_number_of_a_known_label_is_not_left_plain():
    labels, numbers = education(drawn())
    shifted = [100 - 7 * n for n in numbers]
    assert role_of(proposal_of(x17=shifted, education=labels), "x17") == "drop"


def test_a_group_beside_what_it_groups_is_quasi_too():
    ages = [drawn(i).randrange(20, 80) for i in range(N)]
    groups = [int(age >= 65) for age in ages]
    proposal = proposal_of(
        age=ages, flag_b=groups, flag_c=[drawn(i + N).choice([0, 0, 1]) for i in range(N)]
    )
    assert role_of(proposal, "flag_b") == "quasi"
    assert "follows from age" in proposal["flag_b"].reasons[0]
    assert role_of(proposal, "flag_c") == "ask"


def test_chance_is_no_dependence():
    draw = drawn()
    proposal = proposal_of(
        **{f"age_{i}": [draw.randrange(20, 24) for _ in range(40)] for i in range(30)}
    )
    assert {role_of(proposal, f"age_{i}") for i in range(30)} == {"quasi"}


@pytest.mark.parametrize("order", [1, -1])
def test_what_is_proposed_does_not_depend_on_the_order_of_the_rows(order):
    draw = drawn()
    labels, numbers = education(draw)
    frame = pl.DataFrame(
        {"x": labels, "y": numbers, "z": common_names(draw), "w": draw.sample(range(10**6), N)}
    )
    straight = propose(frame, Source())
    other = propose(frame.sort("w", descending=order < 0), Source())
    assert [c.roles for c in straight.columns] == [c.roles for c in other.columns]


class TestWeights:
    def test_an_instance_weight_is_no_body(self):
        draw = drawn()
        proposal = proposal_of(
            instance_weight=[round(draw.lognormvariate(7, 0.5), 2) for _ in range(N)]
        )
        assert role_of(proposal, "instance_weight") == "weight"
        assert "unique by their weight" in proposal["instance_weight"].reasons[0]

    def test_weights_many_share_are_not_warned_of(self):
        draw = drawn()
        proposal = proposal_of(
            instance_weight=[draw.choice([810.5, 1200.25, 990.0]) for _ in range(N)]
        )
        assert "careful" not in proposal["instance_weight"].reasons[0]

    @pytest.mark.parametrize(
        ("values", "warned"), [([1000.0 + i for i in range(60)], 1), ([1000.0, 1200.0] * 30, 0)]
    )
    def test_a_release_warns_of_weights_that_number_the_records(self, values, warned):
        frame = pl.DataFrame({"sex": ["f", "m"] * 30, "wgt": values})
        people = (
            sf.read(frame).with_roles(quasi="sex", weight="wgt").with_hierarchies(sex=sf.suppress())
        )
        release = sf.anonymize(people, [sf.KAnonymity(5)], [sf.GlobalRecoding()])
        assert len(release.warnings) == warned
        assert all("60 of 60 records are the only ones" in warning for warning in release.warnings)


class TestQuestions:
    RECIPE = """
    sfumato: 1
    columns:
      age: {role: quasi, hierarchy: {suppress: {}}}
      number: {role: ask}
      other: {role: ask}
    meet: [k_anonymity: {k: 2}]
    steps: [global_recoding: {}]
    """
    TABLE = pl.DataFrame({"age": [20, 20, 30, 30], "number": [1, 2, 3, 4], "other": [5, 6, 7, 8]})

    @pytest.mark.parametrize("verb", [sf.run, sf.check])
    def test_nothing_runs_before_somebody_decided(self, verb):
        with pytest.raises(
            SchemaError, match=r"2 column.* have role 'ask'.*: number, other; write 'drop'"
        ):
            verb(sf.read(self.TABLE), recipes.parse(self.RECIPE))

    def test_nor_is_such_a_table_assessed(self):
        people = sf.read(self.TABLE).with_roles(quasi="age", ask=["number", "other"])
        with pytest.raises(SchemaError, match="number, other"):
            sf.assess(people)

    def test_nor_are_questions_answered_about_it(self):
        people = sf.read(self.TABLE).with_roles(quasi="age", ask=["number", "other"])
        with pytest.raises(SchemaError, match="number, other"):
            sf.dp.session(people, budget=1.0, bounds={"age": (0, 110)})

    def test_a_decision_is_enough(self):
        decided = recipes.parse(self.RECIPE.replace("ask", "keep"))
        assert sf.run(sf.read(self.TABLE), decided).holds

    def test_a_question_goes_with_no_other_role(self):
        with pytest.raises(sf.errors.RecipeError, match="cannot be combined"):
            recipes.parse(self.RECIPE.replace("role: ask", "role: [ask, quasi]"))

    def test_a_missing_role_is_not_answered_with_a_question(self):
        with pytest.raises(SchemaError) as caught:
            sf.assess(sf.read(self.TABLE).with_roles(quasi="age"))
        assert "'keep' if it is none" in str(caught.value)
        assert "ask" not in str(caught.value)

    def test_the_proposed_recipe_says_what_waits(self):
        numbers = drawn().sample(range(10**6), N)
        text = recipe_text(proposal_of(zq=numbers, age=[n % 60 for n in numbers]))
        assert (
            "# 1 column waits for your decision (role: ask), and nothing runs before: zq." in text
        )
        assert (
            "zq: {role: ask, kind: numeric}  # guess: a measurement, or a number of the records"
            in text
        )
        recipes.parse(text)


NOTES = [f"called about the pain in the left knee again on day {i}" for i in range(30)]


class TestFreeText:
    TABLE = pl.DataFrame({"sex": ["f", "m"] * 15, "notes": NOTES, "more": NOTES[::-1]})

    def people(self, role):
        return (
            sf.read(self.TABLE)
            .with_roles(quasi="sex", **{role: ["notes", "more"]})
            .with_hierarchies(sex=sf.suppress())
        )

    @pytest.mark.parametrize("role", ["keep", "sensitive", "stratum"])
    def test_it_is_refused_under_any_other_role(self, role):
        with pytest.raises(
            SchemaError, match=r"2 column.* hold free text.*: notes, more; give them role 'drop'"
        ):
            sf.anonymize(self.people(role), [sf.KAnonymity(5)], [sf.GlobalRecoding()])

    def test_it_is_dropped_as_direct(self):
        release = sf.anonymize(self.people("drop"), [sf.KAnonymity(5)], [sf.GlobalRecoding()])
        assert list(release.released.columns) == ["sex"]

    def test_an_explicit_word_lets_it_pass_and_is_kept_by_the_recipe(self):
        recipe = recipes.parse("""
            sfumato: 1
            columns:
              sex: {role: quasi, hierarchy: {suppress: {}}}
              notes: {role: keep, free_text: true}
              more: {role: drop}
            meet: [k_anonymity: {k: 5}]
            steps: [global_recoding: {}]
            """)
        assert sf.run(sf.read(self.TABLE), recipe).holds
        assert recipes.to_dict(recipe)["columns"]["notes"] == {"role": "keep", "free_text": True}
        assert recipes.parse(recipes.dump(recipe)).schema == recipe.schema

    def test_the_word_must_be_yes_or_no(self):
        with pytest.raises(sf.errors.RecipeError, match="free_text must be true or false"):
            recipes.parse("sfumato: 1\ncolumns:\n  x: {role: keep, free_text: maybe}\n")

    def test_it_is_proposed_as_direct_with_the_reason(self):
        found = propose(self.TABLE.rename({"notes": "field_9"}), Source())["field_9"]
        assert tuple(map(str, found.roles)) == ("drop",)
        assert "free text of about" in found.reasons[0]

    def test_long_labels_that_repeat_are_none(self):
        table = self.TABLE.with_columns(
            notes=pl.lit("other relative of the householder who is not in a subfamily"),
            more=pl.lit("x"),
        )
        people = (
            sf.read(table)
            .with_roles(quasi="sex", keep=["notes", "more"])
            .with_hierarchies(sex=sf.suppress())
        )
        assert sf.anonymize(people, [sf.KAnonymity(5)], [sf.GlobalRecoding()]).holds


@pytest.mark.parametrize("seed", range(40))
def test_no_unknown_column_is_proposed_as_plain(seed):
    """Names nobody knows and values of any kind: each is quasi, asked about or dropped; only a
    constant is released unchanged.
    """
    draw = drawn(seed)
    kinds = (
        lambda: [draw.choice([0, 1]) for _ in range(N)],
        lambda: [draw.choice(["yes", "no", "n.a."]) for _ in range(N)],
        lambda: [round(draw.gauss(0, 1) * (draw.random() < 0.02), 3) for _ in range(N)],
        lambda: [draw.choice([None, None, 3, 4]) for _ in range(N)],
        lambda: [draw.randrange(draw.choice([2, 5, 400])) for _ in range(N)],
        lambda: [draw.choice([True, False]) for _ in range(N)],
        lambda: [draw.choice([None, None, "x"]) for _ in range(N)],
    )
    table = {f"xq{i}": draw.choice(kinds)() for i in range(6)}
    proposal = proposal_of(age=[draw.randrange(18, 90) for _ in range(N)], **table)
    for name, values in table.items():
        if len(set(values)) > 1:
            assert role_of(proposal, name) != "keep", name


class TestDoubtfulWeights:
    """A survey weight needs a name and a sum that a population may have; the weight of a body is
    none.
    """

    def test_the_weight_of_bodies_in_1971_is_asked_about(self):
        draw = drawn()
        bodies = [round(draw.gauss(71, 15), 2) for _ in range(N)]
        proposal = proposal_of(
            age=[draw.randrange(25, 75) for _ in range(N)],
            wt71=bodies,
            wt82=[b + 2 for b in bodies],
        )
        assert (role_of(proposal, "wt71"), role_of(proposal, "wt82")) == ("ask", "ask")
        assert "weight if records stand for so many people" in proposal["wt71"].reasons[0]

    @pytest.mark.parametrize(
        ("name", "mean", "role"),
        [
            ("wgt", 1.0, "weight"),
            ("wt", 2500.0, "weight"),
            ("wt", 80.0, "ask"),
            ("weights", 60.0, "ask"),
            ("sampling_weight", 80.0, "weight"),
            ("sampling_weight", 1.0, "weight"),
            ("sampling_weight", 0.01, "ask"),
            ("perwt", 1e9, "ask"),
            ("design_weight", -5.0, "ask"),
        ],
    )
    def test_name_and_sum_decide(self, name, mean, role):
        draw = drawn()
        values = [mean * draw.choice([0.8, 0.9, 1.0, 1.1, 1.2]) for _ in range(N)]
        assert role_of(proposal_of(**{name: values}), name) == role

    def test_short_names_beside_bodies_are_asked_about(self):
        draw = drawn()
        proposal = proposal_of(
            height=[draw.gauss(170, 10) for _ in range(N)],
            wt=[draw.gauss(1.0, 0.1) for _ in range(N)],
        )
        assert role_of(proposal, "wt") == "ask"

    @pytest.mark.parametrize("seed", range(60))
    def test_no_body_is_ever_a_survey_weight(self, seed):
        """Bodies in kilograms or pounds under any short name: never role weight, with whatever
        other columns.
        """
        draw = drawn(seed)
        mean, spread = draw.choice([(70, 15), (155, 33), (3.4, 0.5), (25, 4)])
        name = draw.choice(
            [
                "wt",
                "wt71",
                "wgt",
                "wgt_2",
                "weights",
                "WT",
                "Wt_baseline",
                "weight",
                "gewicht",
                "peso",
            ]
        )
        values = [
            round(max(1.5, draw.gauss(mean, spread)), draw.choice([0, 1, 2])) for _ in range(N)
        ]
        beside = {"age": [draw.randrange(18, 90) for _ in range(N)]} if draw.random() < 0.5 else {}
        assert role_of(proposal_of(**beside, **{name: values}), name) != "weight"


def test_a_mark_that_some_records_have_is_no_constant():
    draw = drawn()
    marked = {name: [draw.choice([None, None, "yes"]) for _ in range(N)] for name in ("hiv", "xq")}
    proposal = proposal_of(**marked)
    assert (role_of(proposal, "hiv"), role_of(proposal, "xq")) == ("sensitive", "sensitive")
