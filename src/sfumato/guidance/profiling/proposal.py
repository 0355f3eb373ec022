"""The proposal: a role, a kind and a hierarchy for every column of a table, each with its
reasons.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING

import polars as pl

from sfumato.core.fields import Fields
from sfumato.core.schema import UNITS, Kind, Role
from sfumato.core.source import Code, Source
from sfumato.guidance.profiling import VERBS
from sfumato.guidance.profiling.columns import ProfiledColumn, look_at
from sfumato.guidance.profiling.copies import copies_in
from sfumato.guidance.profiling.detection import Recognition
from sfumato.guidance.profiling.identifiers import identify
from sfumato.guidance.profiling.proposed_hierarchies import suggest, suggest_for_address
from sfumato.guidance.profiling.proposed_steps import ProposedStep, choose_step
from sfumato.guidance.profiling.quasi import (
    MOST_COLUMNS,
    IdentifyingSet,
    QuasiCandidate,
    as_frame,
    class_sizes,
    codes_of,
    comparable,
    rank,
    smallest_identifying_set,
    uniqueness,
)
from sfumato.guidance.profiling.questions import Doubt, RoleQuestion, questions_about
from sfumato.guidance.profiling.role_guess import RoleGuess
from sfumato.guidance.profiling.roles import assign_roles
from sfumato.guidance.profiling.row_warnings import repeated_share, spelling_variants, warnings_of
from sfumato.guidance.profiling.rows import MOST_ROWS, ColumnSource, as_source, drawn_positions

if TYPE_CHECKING:
    from sfumato.core.recipe import Recipe

# Uniqueness the reported identifying set aims at.
SINGLED_OUT = 0.8


@dataclasses.dataclass(frozen=True)
class ColumnProposal:
    """What is proposed for a column, why, and the figures of its card.

    ``copy_of`` which quasi-identifier tells the same as one that is dropped; ``doubt``: what a
    column may be that is asked about; ``rule``: which kind of evidence decided.
    """

    name: str
    roles: tuple[Role, ...]
    kind: Kind
    hierarchy: Fields | None
    reasons: tuple[str, ...]
    confidence: float
    missing_share: float
    distinct: int
    uniqueness: float
    separation: float
    copy_of: str | None = None
    doubt: Doubt | None = None
    rule: str = ""


@dataclasses.dataclass(frozen=True)
class Proposal:
    """Proposals for all columns, in table order.

    ``ranking`` has the columns an outsider may know, from most to least dangerous; ``identifying``
    the few that single out most records together (None where there was nothing to count).
    ``missing_codes`` has, per column, common codes in it that may stand for a missing value.
    ``left_alone`` is the share of records that the columns proposed as plain or asked about single
    out together. ``step`` is the step that lost least when it was tried; ``follows`` are columns
    that copy a quasi-identifier and are released through its labels. ``sampled``: of a large table,
    the rows in which columns were looked at together, which ``identifying``, ``left_alone``,
    ``step`` and ``follows`` are estimated from; None: all rows. Everything about one column by
    itself is counted in all rows. ``repeated_share`` is the share of the rows looked at together
    that are equal to another of them, ``spelling_variants`` has how many values of a nominal column
    are equal to another but for capitals, blanks or accents.
    """

    source: Source
    rows: int
    columns: tuple[ColumnProposal, ...]
    ranking: tuple[QuasiCandidate, ...]
    identifying: IdentifyingSet | None
    missing_codes: Mapping[str, tuple[Code, ...]] = dataclasses.field(default_factory=dict)
    left_alone: float = 0.0
    step: ProposedStep | None = None
    follows: Mapping[str, str] = dataclasses.field(default_factory=dict)
    sampled: int | None = None
    repeated_share: float = 0.0
    spelling_variants: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def with_roles(self, role: Role) -> tuple[str, ...]:
        """Names of the columns proposed for a role."""
        return tuple(column.name for column in self.columns if role in column.roles)

    def to_yaml(self) -> str:
        """The recipe that is proposed, with the reason of every guess as a comment."""
        text: str = VERBS["text"](self)
        return text

    def to_recipe(self) -> Recipe:
        """The recipe that is proposed. A column whose role is open (``ask``) has to be decided
        first: :meth:`Recipe.with_roles`, or a word in the YAML text.
        """
        from sfumato.core import recipe_files

        return recipe_files.parse(self.to_yaml(), name="the proposal")

    def __str__(self) -> str:
        return self.to_yaml()

    @property
    def questions(self) -> tuple[RoleQuestion, ...]:
        """What somebody must answer before anything is done with the table: six questions at most,
        each about one or more columns with role ask.
        """
        return questions_about(self.columns)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences for the owner: no sensitive column, rows that repeat others, values spelled in
        more than one way. No value of the table is in them.
        """
        dropped = self.with_roles(Role.DROP)
        variants = {
            name: count for name, count in self.spelling_variants.items() if name not in dropped
        }
        return tuple(
            warnings_of(
                self.repeated_share,
                variants,
                sensitive=bool(self.with_roles(Role.SENSITIVE)),
                drawn=self.sampled,
            )
        )

    def __getitem__(self, name: str) -> ColumnProposal:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)


def propose(
    table: pl.DataFrame | ColumnSource, source: Source, *, bound: int = MOST_ROWS
) -> Proposal:
    """Look at every column once and propose what it is. Nothing in the result is a value of the
    table.

    Patterns are looked for in at most 10,000 values a column; distinct values, uniqueness and
    separation are exact. Of a table with more rows than ``bound`` so many are drawn to look at
    columns together. Works for tables without rows: then names and types speak alone.

    >>> import polars as pl
    >>> table = pl.DataFrame(
    ...     {"email": ["a@b.org", "c@d.org"], "age": [34, 51], "diagnosis": ["flu", "gout"]}
    ... )
    >>> [str(column.roles[0]) for column in propose(table, Source()).columns]
    ['drop', 'quasi', 'sensitive']
    """
    return _propose(as_source(table), source, bound)[0]


def propose_recipe(
    table: pl.DataFrame | ColumnSource, source: Source, *, bound: int = MOST_ROWS
) -> Proposal:
    """As :func:`propose`, with the steps that lost least when they were tried on the table, and
    what becomes of copies of quasi-identifiers.
    """
    proposal, rows = _propose(as_source(table), source, bound)
    step = choose_step(proposal, rows)
    copies = copies_in(proposal.columns, rows, step, sampled=proposal.sampled is not None)
    columns = tuple(copies.applied(column) for column in proposal.columns)
    return dataclasses.replace(proposal, columns=columns, step=step, follows=copies.follows)


def _propose(table: ColumnSource, source: Source, bound: int) -> tuple[Proposal, pl.DataFrame]:
    """What is proposed, and the rows in which all columns were looked at together."""
    profiled = _look_at_columns(table, bound)
    columns, rows = profiled.columns, profiled.rows
    guesses = assign_roles(
        columns,
        profiled.direct,
        title=PurePath(source.name).stem,
        prefix=_shared_prefix(table.columns),
        labels=source.labels.get("variables", {}),
    )
    ranking = rank(
        [
            _candidate(c, guesses[c.card.name])
            for c in columns
            if _may_be_known(guesses[c.card.name])
        ]
    )
    proposal = Proposal(
        source=source,
        rows=table.height,
        columns=tuple(_proposal(c, guesses[c.card.name]) for c in columns),
        ranking=ranking,
        identifying=_identifying(rows, ranking, guesses),
        missing_codes={c.card.name: c.missing_codes for c in columns if c.missing_codes},
        left_alone=_left_alone(columns, rows, guesses),
        sampled=rows.height if rows.height < table.height else None,
        repeated_share=repeated_share(rows),
        spelling_variants=_variants_of(columns, rows),
    )
    return proposal, rows


@dataclasses.dataclass(frozen=True, repr=False)
class _LookedAt:
    """The columns, each looked at in full; what they identify persons by; and the rows in which
    they are looked at together.
    """

    columns: list[ProfiledColumn]
    direct: dict[str, Recognition]
    rows: pl.DataFrame


def _look_at_columns(table: ColumnSource, bound: int) -> _LookedAt:
    """One column after the other: of a large table no more than one is in memory in full."""
    prefix = _shared_prefix(table.columns)
    positions = drawn_positions(table.height, bound)
    columns: list[ProfiledColumn] = []
    direct: dict[str, Recognition] = {}
    rows: dict[str, pl.Series] = {}
    for name in table.columns:
        values = table.column(name)
        column = look_at(name, values, prefix=prefix, load=functools.partial(table.column, name))
        recognised = identify(
            column.match, comparable(values), column.sample, column.card.distinct, name=name
        )
        if recognised is not None:
            direct[name] = recognised
        columns.append(column)
        rows[name] = values if positions is None else values.gather(positions)
    return _LookedAt(columns, direct, pl.DataFrame(rows))


def _variants_of(columns: list[ProfiledColumn], rows: pl.DataFrame) -> dict[str, int]:
    """Nominal columns with values that are spelled in more than one way, and how many of these."""
    nominal = [column.card.name for column in columns if column.card.kind is Kind.NOMINAL]
    counts = {name: spelling_variants(rows.get_column(name)) for name in nominal}
    return {name: count for name, count in counts.items() if count}


def _left_alone(
    columns: list[ProfiledColumn], rows: pl.DataFrame, guesses: Mapping[str, RoleGuess]
) -> float:
    """Share of records that plain columns, and those waiting for a decision, single
    out; :data:`MOST_COLUMNS` are counted.
    """
    free = ((Role.KEEP,), (Role.ASK,))
    plain = [
        c.card.name for c in columns if guesses[c.card.name].roles in free and not c.card.constant
    ][:MOST_COLUMNS]
    coded = as_frame([codes_of(comparable(rows.get_column(name))) for name in plain], plain)
    if plain:
        return uniqueness(class_sizes(coded, coded.columns))
    return 0.0


def _shared_prefix(names: list[str]) -> str:
    """Letters all columns begin with (``iage, isex, irace``); none for two columns, whose names may
    agree by chance.
    """
    if len(names) <= 2:
        return ""
    return os.path.commonprefix(names)  # noqa: RUF071 - letters, not parts of a path


def _proposal(column: ProfiledColumn, guess: RoleGuess) -> ColumnProposal:
    card = column.card
    kind, reasons = card.kind, [guess.reason]
    hierarchy = None
    if Role.DROP in guess.roles:
        if guess.concept == "free text":
            kind = Kind.TEXT
        address = suggest_for_address(column)
        if address is not None:
            reasons.append(f"to keep part of it: role quasi, hierarchy {address.hierarchy}")
    elif not UNITS & set(guess.roles):
        reasons.append(f"{kind}: {card.reason}")
    if Role.QUASI in guess.roles:
        suggestion = suggest(column)
        hierarchy = suggestion.hierarchy
        reasons.append(f"hierarchy: {suggestion.reason}")
    return ColumnProposal(
        name=card.name,
        roles=guess.roles,
        kind=kind,
        hierarchy=hierarchy,
        reasons=tuple(reasons),
        confidence=guess.confidence,
        missing_share=card.missing_share,
        distinct=card.distinct,
        uniqueness=card.uniqueness,
        separation=card.separation,
        copy_of=guess.copy_of,
        doubt=guess.doubt,
        rule=guess.rule,
    )


def _may_be_known(guess: RoleGuess) -> bool:
    """Direct identifiers are dropped and units and weights are not known outside: all other columns
    may be.
    """
    return not {Role.DROP, *UNITS, Role.WEIGHT} & set(guess.roles)


def _candidate(column: ProfiledColumn, guess: RoleGuess) -> QuasiCandidate:
    concept = None
    if Role.QUASI in guess.roles:
        concept = guess.concept
    return QuasiCandidate(column.card.name, concept, column.card.uniqueness, column.card.separation)


def _identifying(
    frame: pl.DataFrame, ranking: tuple[QuasiCandidate, ...], guesses: Mapping[str, RoleGuess]
) -> IdentifyingSet | None:
    """The set among the proposed quasi-identifiers, for those are what the intruder is taken to
    know.
    """
    quasi = [c.name for c in ranking if Role.QUASI in guesses[c.name].roles][:MOST_COLUMNS]
    if not quasi or not frame.height:
        return None
    return smallest_identifying_set(frame, quasi, uniqueness=SINGLED_OUT)
