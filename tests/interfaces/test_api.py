"""The Python verbs: options that only some data know, what stands for a promise or a step, and what
is done without any.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.data import Data
from sfumato.core.schema import Role
from sfumato.data.examples import set_valued
from sfumato.errors import ParameterError
from sfumato.guidance.profiling.proposed_steps import step_for
from sfumato.interfaces import api, readers
from sfumato.interfaces.cli import main
from sfumato.release.read_data import schemas_of

DATA: dict[str, Any] = {
    "table": sf.examples.ancona,
    "baskets": sf.examples.baskets,
    "paths": sf.examples.small_paths,
    "graph": sf.examples.karate,
    "tables": sf.examples.clinic,
}
PEOPLE = [shape for shape in DATA if shape != "table"]
RECIPES = {
    "table": "columns: {zip: quasi}",
    "baskets": "shape: baskets\ncolumns: {who: person, what: item}",
    "paths": "shape: paths\ncolumns: {who: person, when: time, where: place}",
    "graph": "shape: graph\ncolumns: {a: from, b: to}",
    "tables": "tables: {people: {key: id, columns: {age: quasi}}}",
}


def recipe_of(data: Data) -> sf.Recipe:
    return sf.Recipe.about(data.shape, schemas_of(data))


class AnyRegister:
    """A register that nobody asks."""


@pytest.mark.parametrize("option", ["population", "memory"])
@pytest.mark.parametrize("shape", PEOPLE)
def test_run_refuses_what_is_about_tables(shape: str, option: str) -> None:
    data = DATA[shape]()
    keywords = {
        "population": {"population": sf.examples.ancona()},
        "memory": {"options": sf.RunOptions(memory=AnyRegister())},
    }[option]
    with pytest.raises(
        ParameterError, match=f"^{option} is not available for data of shape {shape}; leave it out"
    ):
        sf.run(data, recipe_of(data), **keywords)


@pytest.mark.parametrize("option", ["people", "seconds"])
def test_run_refuses_what_is_not_about_tables(option: str) -> None:
    data = sf.examples.ancona()
    keywords = {
        "people": {"options": sf.RunOptions(people=3.0)},
        "seconds": {"seconds": 3.0},
    }[option]
    with pytest.raises(
        ParameterError, match=f"^{option} is not available for data of shape table; leave it out"
    ):
        sf.run(data, recipe_of(data), **keywords)


@pytest.mark.parametrize("shape", PEOPLE)
@pytest.mark.parametrize(
    ("option", "value"), [("population", sf.examples.ancona), ("threshold", lambda: 0.1)]
)
def test_assess_refuses_what_is_about_tables(shape: str, option: str, value: Any) -> None:
    with pytest.raises(
        ParameterError, match=f"^{option} is not available for data of shape {shape}"
    ):
        sf.assess(DATA[shape](), **{option: value()})


def test_assess_of_a_table_knows_no_seconds() -> None:
    with pytest.raises(ParameterError, match=r"not available for data of shape"):
        sf.assess(sf.examples.ancona(), options=sf.AssessOptions(seconds=3))


@pytest.mark.parametrize("shape", PEOPLE)
@pytest.mark.parametrize("option", ["population", "aux", "intruder", "sample"])
def test_attack_refuses_what_is_about_tables(shape: str, option: str) -> None:
    data = DATA[shape]()
    keywords = {"sample": 5}
    if option != "sample":
        keywords = {"context": sf.AttackContext(**{option: 5})}
    with pytest.raises(
        ParameterError, match=f"{option} is for attacks on tables only; leave it out"
    ):
        sf.attack(data, data, **keywords)


@pytest.mark.parametrize("shape", PEOPLE)
@pytest.mark.parametrize("verb", [sf.attack, sf.evaluate])
def test_who_is_who_is_not_said_of_other_data(shape: str, verb: Any) -> None:
    data = DATA[shape]()
    with pytest.raises(ParameterError, match=f"^align is not available for data of shape {shape}"):
        verb(data, data, align="order")


@pytest.mark.parametrize("shape", PEOPLE)
def test_roles_and_one_table_are_refused(shape: str) -> None:
    data = DATA[shape]()
    with pytest.raises(ParameterError, match="roles are given when the data are read"):
        sf.assess(data, roles={"quasi": ["age"]})
    with pytest.raises(
        ParameterError, match=f"is data of shape {shape}; this takes one table only"
    ):
        sf.read(data)


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    for shape, text in RECIPES.items():
        (tmp_path / f"{shape}.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def refusal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: object
) -> str:
    """What a command that is used wrongly says."""
    monkeypatch.setattr(sys, "argv", ["sfumato", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    return " ".join(capsys.readouterr().err.split())


OF_TABLES = {
    "run": ("population", "engine", "table", "into", "into-table", "register"),
    "assess": ("population", "engine", "table", "quasi", "record", "threshold"),
    "check": ("population", "engine", "table", "generalisation-of"),
}
VALUES = {"record": "1", "threshold": "0.1"}


@pytest.mark.parametrize("shape", PEOPLE)
@pytest.mark.parametrize(
    ("command", "option"), [(c, option) for c, options in OF_TABLES.items() for option in options]
)
def test_commands_refuse_what_is_about_tables(
    recipes: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    shape: str,
    command: str,
    option: str,
) -> None:
    """Refused before anything is read: there is no such file."""
    output = ["-o", recipes / "out"] if command == "run" else []
    words = [
        recipes / "nothing.csv",
        "-r",
        recipes / f"{shape}.yaml",
        *output,
        f"--{option}",
        VALUES.get(option, "x"),
    ]
    said = refusal(capsys, monkeypatch, command, *words)
    assert f"--{option} is not available for data of shape {shape}; leave it out" in said


@pytest.mark.parametrize(
    ("command", "option"), [("run", "people"), ("check", "people"), ("assess", "seconds")]
)
def test_commands_refuse_what_is_not_about_tables(
    recipes: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    option: str,
) -> None:
    output = ["-o", recipes / "out"] if command == "run" else []
    words = [recipes / "nothing.csv", "-r", recipes / "table.yaml", *output, f"--{option}", "3"]
    said = refusal(capsys, monkeypatch, command, *words)
    assert f"--{option} is not available for data of shape table; leave it out" in said


@pytest.mark.parametrize(
    "section",
    [
        "meet: [{k_anonymity: {k: 2, table: vsits}}]",
        "steps: [{cap_rows: {table: vsits, at_most: 3}}]",
    ],
)
def test_a_table_that_is_not_there_is_refused_when_the_recipe_is_read(
    section: str, tmp_path: Path
) -> None:
    visits = "visits: {belongs_to: {people: id}, columns: {ward: quasi}}"
    text = f"tables: {{people: {{key: id, columns: {{age: quasi}}}}, {visits}}}\n{section}\n"
    (tmp_path / "recipe.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(
        sf.errors.RecipeError,
        match=r"names a table 'vsits', which does not exist. Did you mean 'visits'",
    ):
        sf.run(None, tmp_path / "recipe.yaml")


FRAME_ROLES = {"quasi": ["age", "sex"], "sensitive": "illness"}
FRAME = pl.DataFrame(
    {
        "age": [30, 31, 32, 33, 50, 51, 52, 53],
        "sex": ["f", "m", "f", "m"] * 2,
        "illness": ["flu", "gout", "flu", "gout"] * 2,
    }
)


@pytest.mark.parametrize(
    "meet",
    [
        sf.KAnonymity(4),
        "k_anonymity:4",
        {"k_anonymity": 4},
        {"k_anonymity": {"k": 4}},
        ["k_anonymity:4"],
    ],
)
@pytest.mark.parametrize("steps", [sf.Mondrian(), "mondrian", {"mondrian": {"mode": "strict"}}])
def test_every_way_to_write_a_promise_and_a_step_makes_the_same_release(meet, steps):
    expected = sf.anonymize(FRAME, [sf.KAnonymity(4)], [sf.Mondrian()], roles=FRAME_ROLES, seed=1)
    release = sf.anonymize(FRAME, meet, steps, roles=FRAME_ROLES, seed=1)
    assert release.recipe == expected.recipe
    assert release.data.equals(expected.data)


def test_judge_and_assess_take_the_same_forms_and_leave_degrees_open():
    for meet in ("l_diversity:illness", {"l_diversity": {"sensitive": "illness", "l": 1}}):
        assert sf.judge(FRAME, meet, roles=FRAME_ROLES)[0].attained == 1
        assert sf.assess(FRAME, meet, roles=FRAME_ROLES).verdicts[0].attained == 1


def test_a_release_needs_the_degree_of_its_promise():
    with pytest.raises(ParameterError, match="k_anonymity: give k, like 'k_anonymity,k=5'"):
        sf.anonymize(FRAME, "k_anonymity", sf.Mondrian(), roles=FRAME_ROLES)


@pytest.mark.parametrize(
    ("meet", "steps", "message"),
    [
        ("k_anonymty:4", "mondrian", "k_anonymity"),
        ({"k_anonymity": 4, "l_diversity": 2}, "mondrian", "expected one name"),
        ("k_anonymity:4", "mondriaan", "mondrian"),
        ("k_anonymity:4", {"mondrian": {"mood": "strict"}}, "mood"),
    ],
)
def test_a_name_that_does_not_exist_is_refused_with_a_near_one(meet, steps, message):
    with pytest.raises(ParameterError, match=message):
        sf.anonymize(FRAME, meet, steps, roles=FRAME_ROLES)


def test_without_steps_the_step_is_taken_that_a_profile_proposes():
    people = sf.examples.hospital(rows=300)
    accept = {"diagnosis": {"implies": "occupation", "because": "croup is a disease of children"}}
    options = sf.AnonymizeOptions(accept=accept)
    release = sf.anonymize(people, "k_anonymity:3", seed=1, options=options)
    assert release.holds
    proposed = step_for(people)
    assert proposed is not None
    assert [step.name for step in release.recipe.steps] == [proposed.name]


def test_data_without_a_default_step_ask_for_one():
    with pytest.raises(ParameterError, match="no default step"):
        sf.anonymize(set_valued.baskets(), {"km_anonymity": {"k": 2, "m": 1}})


def test_a_proposal_prints_as_the_recipe_it_is():
    proposal = sf.profile(sf.examples.hospital(rows=200))
    assert str(proposal) == proposal.to_yaml()
    assert "columns:" in str(proposal)
    assert proposal.to_recipe().schema.quasi == proposal.with_roles(Role.QUASI)


def test_verbs_say_what_they_take_and_give() -> None:
    """A type that says nothing helps nobody who writes against the verbs."""
    for module in (api, readers):
        for name, verb in vars(module).items():
            is_public = inspect.isfunction(verb) and not name.startswith("_")
            if is_public and verb.__module__ == module.__name__:
                assert not re.search(r"\bAny\b", str(inspect.signature(verb))), name
