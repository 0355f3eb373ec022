"""Options of commands come from their verbs: neither can have one that the other does not know."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated, ClassVar

import pytest
import typer
from typer.main import get_command

from sfumato.core.options import CommandOption, declared_fields
from sfumato.interfaces.cli.app import build_app
from sfumato.interfaces.cli.command import Keywords, command
from sfumato.interfaces.cli.options import ReadOptions
from sfumato.interfaces.cli.verb_options import load_verb, verb_options

GIVEN_BY_THE_COMMAND = {
    # What a command reads from files or measures itself, and passes on to its verb.
    "profile": {"dataset"},
    "assess": {"dataset", "roles", "progress", "options"},
    "run": {"dataset", "progress", "options", "self", "folder", "attack"},
    "attack": {"pair", "seed", "context", "options"},
    "evaluate": {"released", "roles"},
    "compare": {"dataset", "remember", "options", "progress"},
    "check": {"dataset", "said"},
    "verify": {"release", "reading"},
}
OWN = {
    # Options that are no keyword of a verb: files, and what is shown.
    "profile": {"output", "table", "engine", "column", "recipe", "rule", "show"},
    "assess": {"recipe", "quasi", "record", "by_class", "people", "table", "engine"},
    "run": {"output", "like", "people", "table", "engine"},
    "attack": {"original", "recipe", "people", "engine", "sign", "certify"},
    "evaluate": {"recipe", "people", "engine", "certify", "sign"},
    "compare": {"output", "risk", "utility", "force", "pictures", "engine", "table"},
    "check": {
        "sql",
        "table",
        "engine",
        "generalisation_of",
        "max_suppressed",
        "diff",
        "junit",
        "sarif",
    },
    "verify": {"people", "table", "engine"},
}
OF_THE_INTRUDER = {"intruder", "knows", "rename", "by", "population", "aux", "others"}
SHARED = {
    # The file options and those of every command; attack and run add a bundle each.
    "attack": OF_THE_INTRUDER | {"other_original", "align", "control"},
    "run": {"register", "to", "register_key", "person"},
}


def commands() -> dict[str, typer.core.TyperCommand]:
    return get_command(build_app()).commands


def function(name: str):
    return next(one.callback for one in build_app([name]).registered_commands if one.name == name)


def verb_keywords(name: str) -> set[str]:
    """Everything that the verbs of a command take, with the fields of their options objects."""
    making = function(name).making
    verbs = [load_verb(name) for name in making.verbs]
    names = {parameter for verb in verbs for parameter in inspect.signature(verb).parameters}
    fields = {one.name for verb in making.verbs for one in verb_options(verb)}
    return names | fields


@pytest.mark.parametrize("name", GIVEN_BY_THE_COMMAND)
def test_every_keyword_of_a_verb_is_an_option_or_given_by_the_command(name):
    offered = {one.name for one in commands()[name].params}
    missing = verb_keywords(name) - offered - GIVEN_BY_THE_COMMAND[name]
    assert missing == set()
    assert verb_keywords(name) >= GIVEN_BY_THE_COMMAND[name]


@pytest.mark.parametrize("name", OWN)
def test_every_option_is_a_keyword_of_the_verb_or_named_here(name):
    offered = {one.name for one in commands()[name].params if one.param_type_name == "option"} - {
        "help",
        "json",
        "quiet",
    }
    reading = {one.name for one in declared_fields(ReadOptions)}
    assert offered - verb_keywords(name) - reading - SHARED.get(name, set()) == OWN[name]


def all_commands() -> dict[str, typer.core.TyperCommand]:
    """Every command by its words, those of groups too."""
    found = {}
    for name, top in commands().items():
        if hasattr(top, "commands"):
            found |= {f"{name} {part}": below for part, below in top.commands.items()}
        else:
            found[name] = top
    return found


@pytest.mark.parametrize("name", all_commands())
def test_defaults_and_meanings_are_those_of_the_verb(name):
    asked = all_commands()[name]
    options = {one.name: one for one in asked.params}
    making = asked.callback.making
    for verb in making.verbs:
        for declared in verb_options(verb, making.without):
            option = options[declared.name]
            assert option.help == declared.option.meaning
            if isinstance(declared.default, str | int | float):
                assert option.default == declared.default
            assert option.required == (declared.default is inspect.Parameter.empty)


@dataclass(frozen=True)
class Terms:
    """How long."""

    panel: ClassVar[str] = "How long"
    seconds: Annotated[float, CommandOption("time for all", minimum=0)] = 60.0


def ask(
    question: str,
    *,
    columns: Annotated[
        tuple[str, ...], CommandOption("a column", ("--column",), typed=list[str])
    ] = (),
    terms: Terms = Terms(),
) -> str:
    return f"{question} {columns} {terms.seconds}"


def built(heard: list[Keywords]):
    @command(f"{__name__}:ask")
    def run_ask(question: str, *, keywords: Keywords) -> None:
        """Ask."""
        heard.append(keywords)

    app = typer.Typer()
    app.command()(run_ask)
    return get_command(app)


def test_a_command_takes_the_keywords_of_its_verb_and_the_fields_of_its_options():
    heard: list[Keywords] = []
    built(heard).main(
        ["why", "--column", "a", "--column", "b", "--seconds", "5"], standalone_mode=False
    )
    assert heard == [{"columns": ["a", "b"], "terms": Terms(5.0)}]


def test_what_is_not_typed_is_left_to_the_verb():
    heard: list[Keywords] = []
    built(heard).main(["why"], standalone_mode=False)
    assert heard == [{"terms": Terms()}]


def test_the_panel_of_a_dataclass_is_the_heading_of_its_options():
    options = {one.name: one for one in built([]).params}
    assert options["seconds"].rich_help_panel == "How long"
    assert options["columns"].opts == ["--column"]
