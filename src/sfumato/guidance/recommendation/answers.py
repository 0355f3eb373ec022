"""The context of a release: who gets it, under which rules, how bad it would be, of how many
people, and what must survive.

The questions follow the five safes (Desai, Ritchie & Welpton 2016, *Five Safes: designing data
access for research*, UWE Economics Working Paper 1601): safe people and settings are *recipient*
and *contract*, safe data *sensitivity* and *population*, safe projects and outputs what must
survive.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from sfumato.core import recipe_files as recipes
from sfumato.core.fields import Document, Fields
from sfumato.core.parameters import parameters
from sfumato.core.schema import RENAMED_ROLES, Role
from sfumato.errors import ParameterError, RecipeError, SchemaError, did_you_mean
from sfumato.guidance.profiling.questions import NO, SIGN, YES

UNKNOWN = "unknown"
Recipient = Literal["public", "researchers", "internal", "trusted", "unknown"]
Bound = Literal["yes", "no", "unknown"]
Sensitivity = Literal["low", "medium", "high", "unknown"]

# What an unknown answer is taken for.
WORST: dict[str, str] = {
    "recipient": "public: anybody may try, and nobody can be held to account",
    "contract": "no: nothing stops the recipient from trying to recognise people",
    "sensitivity": "high: people would be harmed if they were recognised",
    "population": "small: the people may know each other",
}

QUESTIONS: dict[str, str] = {
    "recipient": "Who receives it (public, researchers, internal, trusted; unknown)?",
    "contract": "Are they bound by a contract not to look for people (yes, no; unknown)?",
    "sensitivity": "How bad would it be for people to be recognised (low, medium, high; unknown)?",
    "population": "Of how many people was the file drawn (a number; unknown)?",
    "keep": "Which columns must survive, with commas between (none: all quasi-identifiers alike)?",
}


def _people(value: object) -> object:
    """A number of people; digits may be grouped as people group them."""
    if value in (None, UNKNOWN, ""):
        return None
    if isinstance(value, str) and value.replace("_", "").replace(",", "").strip().isdecimal():
        return int(value.replace("_", "").replace(",", "").strip())
    return value


def _names(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


@parameters
class ContextAnswers:
    """What is known about the context of a release; ``unknown`` is an answer, and is treated as the
    worst case.

    ``keep`` are columns that must survive, ``analyses`` lines of a contract as in a recipe
    (``means: {columns: [cost], at_most: 0.05}``), which candidates must keep. ``decide`` gives
    columns a role, ``{"patient": "person"}``, where a profile cannot, or answers a question of the
    profile about several columns, ``{"@health": "yes"}``.

    >>> ContextAnswers(recipient="researchers", contract="yes").assumed
    {'sensitivity': 'high: people would be harmed if they were recognised', 'population': 'small:
    the people may know each other'}
    """

    recipient: Annotated[Recipient, Field(description="who receives it")] = "unknown"
    contract: Annotated[Bound, Field(description="whether they are bound by contract")] = "unknown"
    sensitivity: Annotated[Sensitivity, Field(description="how bad it would be")] = "unknown"
    population: Annotated[
        Annotated[int, Field(ge=1)] | None,
        BeforeValidator(_people),
        Field(description="people it was drawn from"),
    ] = None
    keep: Annotated[
        tuple[str, ...], BeforeValidator(_names), Field(description="columns that must survive")
    ] = ()
    analyses: Annotated[
        tuple[Document, ...],
        Field(description="metrics with bounds, as in the contract of a recipe"),
    ] = ()
    decide: Annotated[
        dict[str, str], Field(description="column or question: its role or answer")
    ] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, word in self.decide.items():
            if not (name.startswith(SIGN) and word in (YES, NO)):
                roles_of(word, name)

    @property
    def assumed(self) -> dict[str, str]:
        """The questions without an answer, and what each is taken for."""
        return {
            name: worst for name, worst in WORST.items() if getattr(self, name) in (UNKNOWN, None)
        }

    def with_answers(self, **answers: object) -> ContextAnswers:
        """The same with other answers; what is None stays."""
        changes = {name: value for name, value in answers.items() if value is not None}
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]

    def to_dict(self) -> Document:
        """As ``answers.yaml`` has them: all questions, unknown ones too."""
        fields: Document = {
            "recipient": self.recipient,
            "contract": self.contract,
            "sensitivity": self.sensitivity,
            "population": self.population or UNKNOWN,
        }
        if self.keep:
            fields["keep"] = list(self.keep)
        if self.analyses:
            fields["analyses"] = [dict(analysis) for analysis in self.analyses]
        if self.decide:
            fields["decide"] = dict(self.decide)
        return fields


FIELDS = tuple(field.name for field in dataclasses.fields(ContextAnswers))


def answers_from(answers: ContextAnswers | Fields | str | Path | None) -> ContextAnswers:
    """Answers as they are, as a mapping, or in a YAML file; None: nothing is known.

    >>> answers_from({"recipient": "public", "population": "80_000_000"}).population
    80000000
    """
    if answers is None:
        return ContextAnswers()
    if isinstance(answers, ContextAnswers):
        return answers
    name, document = "the answers", answers
    if isinstance(answers, str | Path):
        name, document = str(answers), recipes.read_document(Path(answers))
    if not isinstance(document, Mapping):
        raise RecipeError(f"{name} must map questions to answers, like 'recipient: public'")
    strange = [str(key) for key in document if key not in FIELDS]
    if strange:
        raise RecipeError(
            [f"{name}: {key!r} is not a question.{did_you_mean(key, FIELDS)}" for key in strange]
        )
    try:
        return ContextAnswers(
            **{key: _word(value) for key, value in document.items() if value is not None}
        )
    except ParameterError as error:
        raise RecipeError(f"{name}: {str(error).removeprefix('ContextAnswers: ')}") from None


def _word(value: object) -> Any:
    """YAML reads ``true`` where people mean yes; also inside what they decide."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return {key: _word(part) for key, part in value.items()}
    return value


def roles_of(word: str, column: str) -> tuple[Role, ...]:
    """The roles that a decision names: ``quasi``, ``quasi+sensitive``, ``household``.

    >>> roles_of("quasi+sensitive", "age") == (Role.QUASI, Role.SENSITIVE)
    True
    """
    names = [part.strip() for part in str(word).split("+")]
    for name in names:
        if name in RENAMED_ROLES:
            raise ParameterError(
                f"column {column!r}: role {name!r} is now called '{RENAMED_ROLES[name]}'"
            )
        roles = [str(role) for role in Role if role is not Role.ASK]
        if name not in roles:
            raise ParameterError(
                f"column {column!r}: {name!r} is not a role.{did_you_mean(name, roles)}"
            )
    return tuple(Role(name) for name in names)


def decisions(texts: Sequence[str]) -> dict[str, str]:
    """Decisions of a command line: ``patient=person``.

    >>> decisions(["patient=person", "a=b=keep"])
    {'patient': 'person', 'a=b': 'keep'}
    """
    roles = {}
    for text in texts:
        column, equals, role = text.rpartition("=")
        if not equals or not column or not role:
            raise ParameterError(
                f"{text!r} does not decide a role; write column=role, like patient=person"
            )
        roles[column.strip()] = role.strip()
    return roles


def require_columns(answers: ContextAnswers, columns: Sequence[str], table: str) -> None:
    """Refuse answers about columns that are not there, all at once; those to questions are looked
    up when these are known.
    """
    decided = [name for name in answers.decide if not name.startswith(SIGN)]
    strange = [name for name in (*answers.keep, *decided) if name not in columns]
    if strange:
        raise SchemaError(
            [f"{table} has no column {name!r}.{did_you_mean(name, columns)}" for name in strange]
        )
