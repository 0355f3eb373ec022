"""The proposal: a role, a kind and a hierarchy for every column of a table, each with its reasons."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import polars as pl

from sfumato.core.schema import Kind, Role
from sfumato.core.source import Code, Source
from sfumato.profiling.columns import ProfiledColumn, look_at
from sfumato.profiling.copies import copies_in
from sfumato.profiling.identifiers import identify
from sfumato.profiling.means import ProposedStep, choose_means
from sfumato.profiling.quasi import (
    MOST_COLUMNS,
    IdentifyingSet,
    QuasiCandidate,
    as_frame,
    class_sizes,
    codes_of,
    rank,
    smallest_identifying_set,
    uniqueness,
)
from sfumato.profiling.roles import RoleGuess, assign_roles
from sfumato.profiling.suggested import suggest

# Codes that often stand for a missing value, looked for in a table; and the words of a recipe about reading.
#
# Only words and numbers of the lists below are ever named, never another value of the table; and only where they occur at least
# twice, so that none is one person's.

WORDS = frozenset(
    {"na", "n/a", "n.a.", "nan", "null", "none", "missing", "unknown", "not known", "?", ".", "-", "--", "#n/a"}
)
BELOW = (-9, -99, -999, -9999)
"""Proposed where all other numbers are not negative."""

ABOVE = (999, 9999, 99999, 999999)
"""Proposed where they are more than twice as large as all other numbers."""

LEAST = 2


def common_codes(frame: pl.DataFrame) -> dict[str, tuple[Code, ...]]:
    """Column → the common codes in it.

    >>> import polars as pl
    >>> common_codes(pl.DataFrame({"age": [31, -9, 44, -9], "job": ["cook", "?", "?", "nurse"], "n": [1, 2, 3, 999]}))
    {'age': (-9,), 'job': ('?',)}
    >>> narrow = pl.Series([31, -9, -9], dtype=pl.Int8)
    >>> common_codes(pl.DataFrame({"cost": [12.5, 999.0, 999.0], "age": narrow}))
    {'cost': (999,), 'age': (-9,)}
    >>> common_codes(pl.DataFrame({"job code": ["0110", "-9", "-9", "9999", "9999"]}))
    {'job code': ('-9',)}
    """
    by_column: dict[str, tuple[Code, ...]] = {column.name: (*_words(column), *_numbers(column)) for column in frame}
    return {name: codes for name, codes in by_column.items() if codes}


def _words(column: pl.Series) -> list[str]:
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return []
    text = column.cast(pl.String)
    spelled = text.str.strip_chars()
    counted = spelled.filter(spelled.str.to_lowercase().is_in([*WORDS, *map(str, (*BELOW, *ABOVE))])).value_counts()
    found = sorted(word for word, count in counted.rows() if count >= LEAST)
    if not any(map(_number, found)) or not _all_codes(spelled):
        return found
    below = [word for word in found if word.startswith("-") and _number(word)]
    lowest = spelled.filter(~spelled.is_in(below)).str.starts_with("-").any()  # a postcode is not negative
    return [word for word in found if not _number(word) or (word in below and not lowest)]


def _number(word: str) -> bool:
    return word.lstrip("-").isdigit()


def _all_codes(text: pl.Series) -> bool:
    """Whether every value is made of digits: then 9999 may be a code like any other, a postcode for one."""
    return bool(text.str.contains(r"^-?\d+$").all())


def _numbers(column: pl.Series) -> list[int]:
    if not column.dtype.is_numeric():
        return []
    if column.dtype.is_integer():
        column = column.cast(pl.Int64, strict=False)  # a narrow type cannot even be compared with what it cannot hold
    codes = [code for code in (*BELOW, *ABOVE) if int((column == code).sum()) >= LEAST]
    same = pl.Series(codes, dtype=pl.Int64).cast(
        column.dtype
    )  # numbers of one type can be compared, others are refused
    others = column.filter(~column.is_in(same.implode())).drop_nulls() if codes else column
    lowest, highest = others.min(), others.max()
    if not codes or lowest is None or highest is None:
        return []
    return [code for code in codes if (lowest >= 0 if code < 0 else 2 * highest < code)]  # type: ignore[operator]


SINGLED_OUT = 0.8
"""Uniqueness the reported identifying set aims at."""


@dataclasses.dataclass(frozen=True)
class ColumnProposal:
    """What is proposed for a column, why, and the figures of its card.

    ``unit`` says what a unit column numbers, ``copy_of`` which quasi-identifier tells the same as one that is dropped.
    """

    name: str
    roles: tuple[Role, ...]
    kind: Kind
    hierarchy: Mapping[str, Any] | None
    reasons: tuple[str, ...]
    confidence: float
    missing_share: float
    distinct: int
    uniqueness: float
    separation: float
    unit: str | None = None
    copy_of: str | None = None


@dataclasses.dataclass(frozen=True)
class Proposal:
    """Proposals for all columns, in table order.

    ``ranking`` has the columns an outsider may know, from most to least dangerous; ``identifying`` the few that
    single out most records together (None where there was nothing to count). ``missing_codes`` has, per column, common
    codes in it that may stand for a missing value. ``left_alone`` is the share of records that the columns proposed as plain or asked
    about single out together. ``means`` is the step that lost least when it was tried; ``follows`` are columns that copy a
    quasi-identifier and are released through its labels.
    """

    source: Source
    rows: int
    columns: tuple[ColumnProposal, ...]
    ranking: tuple[QuasiCandidate, ...]
    identifying: IdentifyingSet | None
    missing_codes: Mapping[str, tuple[Code, ...]] = dataclasses.field(default_factory=dict)
    left_alone: float = 0.0
    means: ProposedStep | None = None
    follows: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def with_roles(self, role: Role) -> tuple[str, ...]:
        """Names of the columns proposed for a role."""
        return tuple(column.name for column in self.columns if role in column.roles)

    def __getitem__(self, name: str) -> ColumnProposal:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)


def propose(frame: pl.DataFrame, source: Source) -> Proposal:
    """Look at every column once and propose what it is. Nothing in the result is a value of the table.

    Patterns are looked for in at most 10,000 values a column; distinct values, uniqueness and separation are
    exact. Works for tables without rows: then names and types speak alone.

    >>> import polars as pl
    >>> table = pl.DataFrame({"email": ["a@b.org", "c@d.org"], "age": [34, 51], "diagnosis": ["flu", "gout"]})
    >>> [str(column.roles[0]) for column in propose(table, Source()).columns]
    ['direct', 'quasi', 'sensitive']
    """
    prefix = _shared_prefix(frame.columns)
    columns = [look_at(name, frame.get_column(name), prefix=prefix) for name in frame.columns]
    direct = {c.card.name: finding for c in columns if (finding := identify(c.match, c.values, c.sample)) is not None}
    guesses = assign_roles(columns, direct)
    proposals = tuple(_proposal(c, guesses[c.card.name]) for c in columns)
    ranking = rank([_candidate(c, guesses[c.card.name]) for c in columns if _may_be_known(guesses[c.card.name])])
    identifying = _identifying(frame, ranking, guesses)
    alone = _left_alone(columns, guesses)
    return Proposal(source, frame.height, proposals, ranking, identifying, common_codes(frame), alone)


def propose_recipe(frame: pl.DataFrame, source: Source) -> Proposal:
    """As :func:`propose`, with the means that lost least when they were tried on the table, and what becomes of copies of quasi-identifiers."""
    proposal = propose(frame, source)
    means = choose_means(proposal, frame)
    copies = copies_in(proposal.columns, frame, means)
    columns = tuple(copies.applied(column) for column in proposal.columns)
    return dataclasses.replace(proposal, columns=columns, means=means, follows=copies.follows)


def _left_alone(columns: list[ProfiledColumn], guesses: Mapping[str, RoleGuess]) -> float:
    """Share of records that plain columns, and those waiting for a decision, single out; :data:`MOST_COLUMNS` are counted."""
    free = ((Role.PLAIN,), (Role.ASK,))
    plain = [c for c in columns if guesses[c.card.name].roles in free and not c.card.constant][:MOST_COLUMNS]
    coded = as_frame([codes_of(c.values) for c in plain], [c.card.name for c in plain])
    return uniqueness(class_sizes(coded, coded.columns)) if plain else 0.0


def _shared_prefix(names: list[str]) -> str:
    """Letters all columns begin with (``iage, isex, irace``); none for two columns, whose names may agree by chance."""
    least, most = min(names, default=""), max(names, default="")
    same = next((i for i, pair in enumerate(zip(least, most, strict=False)) if pair[0] != pair[1]), len(least))
    return least[:same] if len(names) > 2 else ""


def _proposal(column: ProfiledColumn, guess: RoleGuess) -> ColumnProposal:
    card = column.card
    kind, reasons = card.kind, [guess.reason]
    hierarchy = None
    if Role.DIRECT in guess.roles:
        kind = Kind.TEXT if guess.concept == "free text" else kind
    elif Role.UNIT not in guess.roles:
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
        unit=guess.unit,
        copy_of=guess.copy_of,
    )


def _may_be_known(guess: RoleGuess) -> bool:
    """Direct identifiers are dropped and units and weights are not known outside: all other columns may be."""
    return not {Role.DIRECT, Role.UNIT, Role.WEIGHT} & set(guess.roles)


def _candidate(column: ProfiledColumn, guess: RoleGuess) -> QuasiCandidate:
    concept = guess.concept if Role.QUASI in guess.roles else None
    return QuasiCandidate(column.card.name, concept, column.card.uniqueness, column.card.separation)


def _identifying(
    frame: pl.DataFrame, ranking: tuple[QuasiCandidate, ...], guesses: Mapping[str, RoleGuess]
) -> IdentifyingSet | None:
    """The set among the proposed quasi-identifiers, for those are what the intruder is taken to know."""
    quasi = [c.name for c in ranking if Role.QUASI in guesses[c.name].roles][:MOST_COLUMNS]
    if not quasi or not frame.height:
        return None
    return smallest_identifying_set(frame, quasi, uniqueness=SINGLED_OUT)
