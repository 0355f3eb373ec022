"""Several tables: which column is the key of each, and to which other table its rows belong, each
guess with its reason.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.relations import canonical
from sfumato.core.schema import UNITS, Role
from sfumato.core.source import Source
from sfumato.core.words import percent
from sfumato.errors import SchemaError
from sfumato.guidance.profiling.lexicon import word_lists
from sfumato.guidance.profiling.proposal import ColumnProposal, Proposal, propose
from sfumato.guidance.profiling.related_persons import PersonsDesign, design_of

KEY_WORDS = frozenset(
    {"id", "key", "no", "nr", "num", "number", "code", "nummer", "ref", "uid", "guid", "uuid"}
)
# Share of the values of a column that must be keys of another table for its rows to be taken as
# belonging there.
ENOUGH = 0.9
# What is said for a column of the same name that is called neither like a key nor after a table;
# all of its values must be keys then.
SAME = "and it has the same name, though not one like a key's"
# The same for a column that is called after people, and so is the other table or its key.
BOTH = "and both are named after people"
# Columns of a table without a key that are looked at in pairs.
MOST_COMBINED = 8
# Share of the people who must have no more rows than the cap that is proposed.
USUAL = 0.95


@dataclasses.dataclass(frozen=True)
class KeyGuess:
    """A column that tells the rows of its table apart, and why it is taken for the key."""

    column: str
    reason: str


@dataclasses.dataclass(frozen=True)
class ParentGuess:
    """A column whose values are keys of another table, the share of rows of which that is so, and
    why.
    """

    column: str
    table: str
    share: float
    reason: str
    by_name: bool = False
    """Whether it is called as the key is, and like a key."""


@dataclasses.dataclass(frozen=True)
class TableGuess:
    """One table of several: what is proposed for its columns, its key, and the table it belongs to.

    ``other_parents`` are keys of further tables in it, which are dropped; ``usual_rows`` is how
    many rows of it nearly all people have at most.
    """

    name: str
    proposal: Proposal
    key: KeyGuess | None
    parent: ParentGuess | None
    other_parents: tuple[ParentGuess, ...] = ()
    usual_rows: int | None = None

    @property
    def columns(self) -> tuple[ColumnProposal, ...]:
        """The proposals for columns that are no keys; keys of further tables are direct
        identifiers, and so are units.
        """
        keys = {guess.column for guess in (self.key, self.parent) if guess is not None}
        further = {guess.column: guess.table for guess in self.other_parents}
        columns = [column for column in self.proposal.columns if column.name not in keys]
        return tuple(_dropped(column, further.get(column.name)) for column in columns)


@dataclasses.dataclass(frozen=True)
class RelationsProposal:
    """Several tables that belong together, the people first; ``apart`` are those that belong to
    nobody of them, and ``why`` they do not.
    """

    tables: tuple[TableGuess, ...]
    apart: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    design: PersonsDesign | None = None
    """Promises about persons, and the steps that reach them."""


def _dropped(column: ColumnProposal, further: str | None) -> ColumnProposal:
    """What is proposed for a column besides the keys; one that names people or rows of further
    tables is dropped.
    """
    if further is not None:
        why = (
            f"its values are keys of {further}, to which these rows belong by another column or"
            " through another table"
        )
        return dataclasses.replace(column, roles=(Role.DROP,), hierarchy=None, reasons=(why,))
    if UNITS & set(column.roles):
        why = "it numbers rows or people, and the keys say who belongs together"
        return dataclasses.replace(column, roles=(Role.DROP,), hierarchy=None, reasons=(why,))
    return column


def propose_relations(tables: Mapping[str, tuple[pl.DataFrame, Source]]) -> RelationsProposal:
    """Look at several tables: keys are columns of different values without a gap, and a table
    belongs to the one whose keys it holds.

    Names decide between several that fit: a key is called as its table is, or ends in a word like
    *id*. Nothing in the result is a value.
    """
    frames = {name: frame for name, (frame, _) in tables.items()}
    key_guesses = _candidates(frames)
    above = {name: _parents(name, frames, key_guesses) for name in frames}
    top = _top(frames, above, key_guesses)
    people = propose(*tables[top])
    _require_people(top, frames, key_guesses, people)
    parents = _tree(top, above)
    order = [top, *(name for name in _by_depth(parents) if name != top)]
    needed = {guess.table for guess in parents.values()}
    keys = {name: _key_for(name, parents, key_guesses) for name in order}
    owners = _owners(order, frames, parents, keys)
    guesses = []
    for name in order:
        parent = parents.get(name)
        key = keys[name]
        if (
            key is not None
            and parent is not None
            and (key.column == parent.column or (name not in needed and not _is_named(key)))
        ):
            key = None
        other_parents = tuple(g for g in above[name] if parent is None or g.column != parent.column)
        other_parents = tuple(
            g for g in other_parents if g.table in order and (key is None or g.column != key.column)
        )
        counts = None
        if name != top:
            counts = _counts(owners[name], frames[top].height)
        usual = None
        if counts is not None:
            usual = max(1, int(np.quantile(counts, USUAL)))
        looked_at = people if name == top else propose(*tables[name])
        guesses.append(TableGuess(name, looked_at, key, parent, other_parents, usual))
    apart = tuple(name for name in frames if name not in order)
    why = tuple(_stranger(name, frames, keys, above) for name in apart)
    return RelationsProposal(tuple(guesses), apart, why, design_of(guesses, frames, owners))


def _counts(owners: pl.Series, persons: int) -> Any:
    """How many rows everybody has."""
    return np.bincount(owners.drop_nulls().to_numpy(), minlength=persons)


# Names in words, and what they say.


def _words(name: str) -> list[str]:
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)
    return [part.lower() for part in parts]


def _stem(word: str) -> str:
    """A word without the end that makes several of one: ``visits`` and ``visit`` are one, and so
    are ``people`` and ``person``.
    """
    if word in ("people", "persons"):
        return "person"
    if word.endswith("ies"):
        return re.sub(r"(ies)$", "y", word)
    return word.rstrip("s")


def _stems(name: str) -> set[str]:
    return {_stem(word) for word in _words(name)}


def _means_people(name: str) -> bool:
    return any(word in word_lists().person or word == "person" for word in _stems(name))


def _means_whom_rows_are_about(column: str) -> bool:
    """Whether a column is called after people, and not after others than those whose rows these
    are, as doctors are.
    """
    return _means_people(column) and not _stems(column) & word_lists().other_people


def _is_named(key: KeyGuess) -> bool:
    """Whether a column is called like a key."""
    words = _words(key.column)
    return bool(words) and (
        words[-1] in KEY_WORDS or words[0] in KEY_WORDS or key.column.lower().endswith("id")
    )


# Keys, and what refers to them.


def _candidates(frames: Mapping[str, pl.DataFrame]) -> dict[str, list[KeyGuess]]:
    """Per table the columns that could be its key, the likeliest first."""
    return {
        name: sorted(_unique(frame), key=lambda g: _likely(name, g), reverse=True)
        for name, frame in frames.items()
    }


def _unique(frame: pl.DataFrame) -> list[KeyGuess]:
    reason = f"{frame.height:,} different values in {frame.height:,} rows, none missing"
    return [
        KeyGuess(column.name, reason) for column in frame.iter_columns() if _tells_apart(column)
    ]


def _tells_apart(column: pl.Series) -> bool:
    return (
        bool(column.len())
        and not column.null_count()
        and _fits(column)
        and canonical(column).is_unique().all()
    )


def _fits(column: pl.Series) -> bool:
    """Whether a column may hold keys: text or whole numbers, be they written with a fraction of
    nothing.
    """
    return canonical(column).dtype.is_integer() or column.dtype == pl.String


def _likely(table: str, key: KeyGuess) -> tuple[bool, bool, bool]:
    return (
        bool(_stems(key.column) & _stems(table)) and _is_named(key),
        _is_named(key),
        bool(_stems(key.column) & _stems(table)),
    )


def _parents(
    name: str, frames: Mapping[str, pl.DataFrame], key_guesses: Mapping[str, list[KeyGuess]]
) -> list[ParentGuess]:
    """The columns of a table that hold keys of others."""
    parents = []
    for parent in frames:
        for key in key_guesses[parent] if parent != name else []:
            for column in frames[name].columns:
                words = _why(column, key.column, parent)  # first, for it costs nothing
                share = 0.0
                if words is not None:
                    share = _included(frames[name][column], frames[parent][key.column])
                if words is not None and share >= (1.0 if words in (SAME, BOTH) else ENOUGH):
                    reason = (
                        f"{percent(share)} of its values are a {key.column} of {parent}, {words}"
                    )
                    like = column.lower() == key.column.lower() and words != SAME
                    parents.append(ParentGuess(column, parent, share, reason, like))
    return _nearest(parents)


def _nearest(parents: Sequence[ParentGuess]) -> list[ParentGuess]:
    """Of each table the column that fits best, and those that are called as its key is with a word
    before, like ``tutor_pupil``.
    """
    best: dict[str, ParentGuess] = {}
    ranked = sorted(parents, key=lambda g: (g.by_name, g.share), reverse=True)
    for guess in ranked:
        best.setdefault(guess.table, guess)
    prefixed = [g for g in ranked if g.column.lower().endswith(f"_{best[g.table].column.lower()}")]
    return [*best.values(), *prefixed]


def _why(column: str, key: str, table: str) -> str | None:
    """What the names say for a column holding keys of a table; None: nothing, and numbers alone
    agree by chance.

    The same name that is not like a key's says something only where every value is a key, and so do
    two that mean people.
    """
    if column.lower() == key.lower():
        says_so = _is_named(KeyGuess(column, "")) or bool(_stems(column) & _stems(table))
        if says_so:
            return "and it has the same name"
        return SAME
    if _stems(column) & _stems(table):
        return "and it is named after it"
    if _stems(column) & _stems(key) - KEY_WORDS:
        return "and the names agree"
    means_people = _means_whom_rows_are_about(column) and (
        _means_people(table) or _means_people(key)
    )
    return BOTH if means_people else None


def _included(values: pl.Series, keys: pl.Series) -> float:
    """The share of the values of a column that are keys, compared as they are when tables are read;
    0 for columns that are no keys.
    """
    if not (len(values) and _fits(values) and _fits(keys)):
        return 0.0
    foreign_values, key_values = canonical(values).drop_nulls(), canonical(keys)
    if foreign_values.dtype != key_values.dtype:
        foreign_values, key_values = foreign_values.cast(pl.String), key_values.cast(pl.String)
    return float(foreign_values.is_in(key_values.implode()).sum()) / len(values)


# The tree below the people.


def _top(
    frames: Mapping[str, pl.DataFrame],
    above: Mapping[str, list[ParentGuess]],
    key_guesses: Mapping[str, list[KeyGuess]],
) -> str:
    """The table of the people: they are meant by its name, or else its key; most tables are below,
    and none above it.
    """

    def below(name: str) -> int:
        reached, frontier = {name}, {name}
        while frontier := {
            t for t in frames if t not in reached and any(g.table in frontier for g in above[t])
        }:
            reached |= frontier
        return len(reached)

    def people(name: str) -> int:
        keys = key_guesses[name][:1]
        return 2 * _means_people(name) or int(any(_means_people(key.column) for key in keys))

    keyed = [name for name in frames if key_guesses[name]]
    if not keyed:
        reasons = [_keyless(name, frame) for name, frame in frames.items() if _means_people(name)]
        raise SchemaError(
            reasons
            or "no table has a column of different values without a gap, so none can be the"
            " people's; name the keys in a recipe"
        )
    return max(keyed, key=lambda name: (people(name), below(name), not above[name]))


def _require_people(
    top: str,
    frames: Mapping[str, pl.DataFrame],
    key_guesses: Mapping[str, list[KeyGuess]],
    proposal: Proposal,
) -> None:
    """Refuse to take rows for people that are none: where the table of the people has no key, or is
    not there.
    """
    people_tables = [name for name in frames if _means_people(name) and not key_guesses[name]]
    if people_tables and not _means_people(top):
        raise SchemaError([_keyless(name, frames[name]) for name in people_tables])
    if not _means_people(top) and not any(
        any(_likely(top, key)) or _means_people(key.column) for key in key_guesses[top][:1]
    ):
        raise SchemaError(
            "which table holds the people is unclear: no key of one is called like a key, or"
            f" as its table is, nor is a table named after people ({', '.join(frames)}); name"
            " tables and keys in a recipe (a key of two columns goes into one first)"
        )
    units = [c.name for c in proposal.columns if Role.PERSON in c.roles]
    repeated_keys = [
        c for c in units if not _refers_to_itself(frames[top], c, key_guesses[top][0].column)
    ]
    if repeated_keys and not _means_people(top):
        raise SchemaError(
            f"no table has a row for every person: {top!r} has several rows of one (column"
            f" {repeated_keys[0]!r}); give the table of the people too, or one with a row for each,"
            " and its key"
        )


def _refers_to_itself(frame: pl.DataFrame, column: str, key: str) -> bool:
    """Whether a column names other rows of its table, as that of the case whom a control was chosen
    for does.
    """
    return not _means_people(column) and _included(frame[column].drop_nulls(), frame[key]) >= ENOUGH


def _keyless(name: str, frame: pl.DataFrame) -> str:
    """Why a table that is called as that of the people is cannot be, and what helps."""
    beginning = f"table {name!r} seems to be that of the people, and"
    if not frame.height:
        return f"{beginning} has no rows"
    likely = sorted(
        frame.columns, key=lambda c: (_is_named(KeyGuess(c, "")), frame[c].n_unique()), reverse=True
    )
    nearly = (
        _is_named(KeyGuess(likely[0], "")) and frame[likely[0]].n_unique() >= ENOUGH * frame.height
    )
    for first, second in itertools.combinations([] if nearly else likely[:MOST_COMBINED], 2):
        pair = frame.select(first, second)
        if not sum(pair.null_count().row(0)) and pair.n_unique() == frame.height:
            return (
                f"{beginning} no single column identifies its rows; {first!r} and {second!r}"
                " together"
                " do: put both into one column, in every table that has them"
            )
    column = frame[likely[0]]
    gaps, repeats = column.null_count(), frame.height - column.n_unique()
    return (
        f"{beginning} no column identifies its rows; {likely[0]!r} is nearest, with {gaps:,}"
        " missing"
        f" value(s) and {max(0, repeats - max(0, gaps - 1)):,} row(s) with one that another row"
        " has too"
    )


def _stranger(
    name: str,
    frames: Mapping[str, pl.DataFrame],
    keys: Mapping[str, KeyGuess | None],
    above: Mapping[str, Sequence[ParentGuess]],
) -> str:
    """Why a table belongs to none of the others, and what helps: rows belong to it, or a column is
    called as a key is and differs.
    """
    if not frames[name].height:
        return "it has no rows"
    near_miss = _near(name, frames, keys)
    if near_miss is not None:
        return near_miss
    list_of = next(
        ((child, g.column) for child, guesses in above.items() for g in guesses if g.table == name),
        None,
    )
    if list_of is not None:
        return (
            f"rows of {list_of[0]} belong to its rows ({list_of[1]}), and its own to nobody; join"
            f" to {list_of[0]} first what is wanted of it"
        )
    return "no column of it holds keys of the others; join it first, or say what it belongs to"


def _near(
    name: str, frames: Mapping[str, pl.DataFrame], keys: Mapping[str, KeyGuess | None]
) -> str | None:
    """The column of a table that is called as a key is and holds others, or such as differ in
    writing; None: there is none.
    """
    for parent, key in keys.items():
        for column in frames[name].columns if key is not None else ():
            if key is None or _why(column, key.column, parent) in (None, BOTH):
                continue
            values, key_values = frames[name][column], frames[parent][key.column]
            share, alike = (
                _included(values, key_values),
                _included(_loosely(values), _loosely(key_values)),
            )
            message = f"only {percent(share)} of its {column} are a {key.column} of {parent}"
            if alike > share:
                return (
                    f"{message}; {percent(alike)} would be if capitals, blanks and leading zeros"
                    " were"
                    " the same, so make them so"
                )
            return (
                f"{message}; give the rows that are missing, or write belongs_to and 'orphans:"
                " drop'"
            )
    return None


def _loosely(keys: pl.Series) -> pl.Series:
    return (
        canonical(keys)
        .cast(pl.String)
        .str.strip_chars()
        .str.to_lowercase()
        .str.strip_chars_start("0")
    )


def _tree(top: str, above: Mapping[str, list[ParentGuess]]) -> dict[str, ParentGuess]:
    """The table that each belongs to: the farthest from the people of those whose keys it holds,
    since that one leads to them too.
    """
    depth, parents = {top: 0}, dict[str, ParentGuess]()
    for _ in above:
        for name, guesses in above.items():
            fits = [
                g
                for g in guesses
                if g.table in depth and g.table != name and not _leads(parents, g.table, name)
            ]
            if name == top or not fits:
                continue
            best = max(fits, key=lambda g: (depth[g.table], g.by_name, g.share))
            parents[name], depth[name] = best, depth[best.table] + 1
    return parents


def _leads(parents: Mapping[str, ParentGuess], start: str, name: str) -> bool:
    """Whether a table belongs to another one, perhaps through others."""
    at: str | None = start
    while at is not None:
        if at == name:
            return True
        at = parents[at].table if at in parents else None
    return False


def _by_depth(parents: Mapping[str, ParentGuess]) -> list[str]:
    def depth(name: str) -> int:
        if name in parents:
            return 1 + depth(parents[name].table)
        return 0

    return sorted(parents, key=depth)


def _key_for(
    name: str, parents: Mapping[str, ParentGuess], key_guesses: Mapping[str, list[KeyGuess]]
) -> KeyGuess | None:
    """The key of a table: the one that others refer to by name, else the likeliest."""
    guesses = key_guesses[name]
    referred = [g.column.lower() for g in parents.values() if g.table == name]
    return next(
        (k for k in guesses if k.column.lower() in referred), guesses[0] if guesses else None
    )


def _owners(
    order: Sequence[str],
    frames: Mapping[str, pl.DataFrame],
    parents: Mapping[str, ParentGuess],
    keys: Mapping[str, KeyGuess | None],
) -> dict[str, pl.Series]:
    """Per table the person of every row; missing where it belongs to nobody."""
    top = order[0]
    owners: dict[str, pl.Series] = {top: pl.Series(np.arange(frames[top].height))}
    for name in order[1:]:
        guess, key = parents[name], keys[parents[name].table]
        if key is None:
            raise SchemaError(f"table {guess.table!r} has no key")
        above = canonical(frames[guess.table][key.column]).cast(pl.String)
        over = pl.DataFrame({"key": above, "owner": owners[guess.table]})
        references = pl.DataFrame({"key": canonical(frames[name][guess.column]).cast(pl.String)})
        owners[name] = references.join(over, on="key", how="left", maintain_order="left")["owner"]
    return owners
