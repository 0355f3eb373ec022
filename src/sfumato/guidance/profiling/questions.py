"""Questions about columns that a profile cannot decide on, in groups: six at most for a table.

Columns of one subject that would get the same role share a question: *These 14 yes/no columns may
be about health. Treat them as sensitive?* An answer names a column (``age: quasi``) or a question
(``"@health": yes``); a column's own answer goes before that of its question.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from sfumato.core.schema import Kind, Role
from sfumato.core.words import count_of
from sfumato.errors import SchemaError, did_you_mean

if TYPE_CHECKING:
    from sfumato.guidance.profiling.proposal import ColumnProposal

# Questions a person can be expected to answer with care about one table.
MOST_QUESTIONS = 6

# What the name of a question begins with, so that it is not taken for a column.
SIGN = "@"

YES, CHOOSE, NO = "yes", "choose", "no"


@dataclasses.dataclass(frozen=True)
class Doubt:
    """Why a column is asked about: the subject it may be of, the role it would then have, and the
    role it would have otherwise.
    """

    subject: str
    role: str
    otherwise: str = "keep"


@dataclasses.dataclass(frozen=True)
class RoleQuestion:
    """One question about columns that may have the same role.

    ``name`` is what answers call it. ``role`` is what *yes* gives to all its columns, ``otherwise``
    what *no* gives them. Where nothing can be proposed, ``role`` and ``otherwise`` are empty and
    the only choice is to choose. ``sentence`` and ``reason`` hold no value of the table.
    """

    name: str
    columns: tuple[str, ...]
    role: str
    otherwise: str
    sentence: str
    reason: str
    choices: tuple[str, ...]

    def answered(self, word: str) -> str:
        """The role word that an answer to the question gives to each of its columns."""
        if word in self.choices and word == YES:
            return self.role
        if word in self.choices and word == NO:
            return self.otherwise
        return word


def questions_about(columns: Sequence[ColumnProposal]) -> tuple[RoleQuestion, ...]:
    """The questions that wait in a proposal, those that protect most first.

    Every column with role ask is in exactly one of them. Where there are more subjects than
    :data:`MOST_QUESTIONS`, the smallest share one question, with the most careful of their roles.
    """
    groups: dict[Doubt, list[ColumnProposal]] = {}
    for column in columns:
        if Role.ASK in column.roles:
            groups.setdefault(column.doubt or _NOTHING_KNOWN, []).append(column)
    merged = _at_most(groups, MOST_QUESTIONS)
    ordered = sorted(merged, key=lambda doubt: (_CARE.index(doubt.role), -len(merged[doubt])))
    names: set[str] = set()
    questions = []
    for doubt in ordered:
        name = _name(doubt, names)
        names.add(name)
        questions.append(_question(name, doubt, merged[doubt]))
    return tuple(questions)


_NOTHING_KNOWN = Doubt("something unknown", "sensitive")
SEVERAL_SUBJECTS = "several subjects"

# Roles from the one that protects a person most.
_CARE = ("drop", "quasi+sensitive", "sensitive", "quasi", "person", "household", "weight", "keep")


def _at_most(
    groups: Mapping[Doubt, list[ColumnProposal]], most: int
) -> dict[Doubt, list[ColumnProposal]]:
    """The largest groups, and the others as one of several subjects."""
    if len(groups) <= most:
        return dict(groups)
    by_size = sorted(groups, key=lambda doubt: (_CARE.index(doubt.role) > 0, -len(groups[doubt])))
    merged = {doubt: groups[doubt] for doubt in by_size[: most - 1]}
    remainder = by_size[most - 1 :]
    role = min((doubt.role for doubt in remainder), key=_CARE.index)
    members = [column for doubt in remainder for column in groups[doubt]]
    merged[Doubt(SEVERAL_SUBJECTS, role)] = members
    return merged


def _name(doubt: Doubt, taken: set[str]) -> str:
    letters = re.sub(r"[^a-z0-9]+", "-", doubt.subject.lower()).strip("-")
    name, number = f"{SIGN}{letters}", 2
    while name in taken:
        name, number = f"{SIGN}{letters}-{number}", number + 1
    return name


_TREAT = {
    "drop": "Drop {them}",
    "quasi+sensitive": "Treat {them} as known to outsiders and sensitive",
    "sensitive": "Treat {them} as sensitive",
    "quasi": "Treat {them} as known to outsiders",
    "person": "Take rows with the same value of {them} for one person",
    "household": "Take rows with the same value of {them} for one household",
    "weight": "Use {them} as the survey weight",
    "keep": "Release {them} unchanged",
}


def _question(name: str, doubt: Doubt, columns: Sequence[ColumnProposal]) -> RoleQuestion:
    members = tuple(column.name for column in columns)
    reasons = list(dict.fromkeys(column.reasons[0] for column in columns))
    reason = reasons[0]
    if len(reasons) > 1:
        reason = f"{reason}; and {count_of(len(reasons) - 1, 'other reason')}"
    choices: tuple[str, ...] = (YES, CHOOSE, NO)
    pronoun, opening = "them", f"These {len(columns)} {_form(columns)}columns may be"
    if len(columns) == 1:
        choices = (YES, NO)
        pronoun, opening = "it", f"{members[0]} may be"
    treat = _TREAT[doubt.role].format(them=pronoun)
    sentence = f"{opening} about {doubt.subject}. {treat}?"
    return RoleQuestion(name, members, doubt.role, doubt.otherwise, sentence, reason, choices)


def _form(columns: Iterable[ColumnProposal]) -> str:
    """What all the columns look like, with a blank behind it; empty where they differ."""
    forms = set()
    for column in columns:
        if column.distinct <= 2:
            forms.add("yes/no ")
        elif column.kind is Kind.NUMERIC:
            forms.add("number ")
        else:
            forms.add("")
    return forms.pop() if len(forms) == 1 else ""


def undecided_question(columns: Sequence[str]) -> RoleQuestion:
    """The question about columns that a recipe says ask of, without a profile behind it."""
    return RoleQuestion(
        name=f"{SIGN}undecided",
        columns=tuple(columns),
        role="",
        otherwise="",
        sentence=f"{count_of(len(columns), 'column')} of the recipe with role ask. Which roles?",
        reason="the recipe says role ask",
        choices=(CHOOSE,),
    )


def open_questions(
    questions: Iterable[RoleQuestion], decide: Mapping[str, str]
) -> tuple[RoleQuestion, ...]:
    """The questions that still wait, each with the columns that do."""
    waiting = []
    for question in questions:
        columns = tuple(name for name in question.columns if name not in decide)
        if columns and question.name not in decide:
            waiting.append(dataclasses.replace(question, columns=columns))
    return tuple(waiting)


def answer_questions(
    questions: Sequence[RoleQuestion], decide: Mapping[str, str], columns: Sequence[str] = ()
) -> dict[str, str]:
    """Column → role word, from answers by column and by question.

    ``columns`` of the table may begin with the sign of questions: an answer names the column then.

    Raises:
        SchemaError: an answer names a question that is not asked; all are listed.
    """
    by_name = {question.name: question for question in questions}
    strange = [
        name
        for name in decide
        if name.startswith(SIGN) and name not in by_name and name not in columns
    ]
    if strange:
        raise SchemaError(
            [f"no question is called {name!r}.{did_you_mean(name, by_name)}" for name in strange]
        )
    roles: dict[str, str] = {}
    for name, word in decide.items():
        if name in by_name and name not in columns:
            question = by_name[name]
            roles |= dict.fromkeys(question.columns, question.answered(word))
    own_answers = {
        name: word for name, word in decide.items() if name not in by_name or name in columns
    }
    return roles | own_answers
