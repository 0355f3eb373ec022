"""Named intruders: what each knows, and what each tries on a release before someone else does."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core import registry
from sfumato.core.attack import NOT_IN_FILE, Intruder
from sfumato.core.encoding import require_same_codes
from sfumato.core.randomness import Seed
from sfumato.core.schema import UNITS, Role, Schema
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from sfumato.core.pair import TablePair
    from sfumato.core.table import Table


# What an intruder has: columns of the original itself, or a file of its own.


def intruder_from(pair: TablePair, knows: Sequence[str], *, sample: int, seed: Seed) -> Intruder:
    """An intruder who took the columns from the original itself: the most anyone can know of them.

    Where rows are synthetic, half of those looked for are people that the rows were learnt from,
    half such as were set aside. Of a person with several rows the intruder knows one.
    """
    pair.original.require(knows)
    # a stream of its own: how many people are drawn changes no other draw
    draw = seed.stream("attack: whom to look for")
    groups = [np.arange(len(pair.original), dtype=np.int64)]
    if not pair.aligned and pair.learnt_from is not None and pair.held_out is not None:
        groups = [pair.learnt_from, pair.held_out]
    which_row = seed.stream("attack: which row of a person is known")
    groups = [pair.one_row_each(group, which_row) for group in groups]
    # at least one of each group
    room = [sample // len(groups) or 1] * len(groups)
    if len(groups) == 2:  # who needs less room leaves it to the others
        room = [max(room[0], sample - len(groups[1])), max(room[1], sample - len(groups[0]))]
    is_sampled = any(len(group) > limit for group, limit in zip(groups, room, strict=True))
    samples = [
        draw.choice(g, limit, replace=False) if len(g) > limit else g
        for g, limit in zip(groups, room, strict=True)
    ]
    # in the order of the table, whichever group they are from
    rows = np.sort(np.concatenate(samples))
    return Intruder(pair.original.take(rows), tuple(knows), rows, sampled=is_sampled)


def intruder_with(
    pair: TablePair,
    file: Table,
    knows: Sequence[str] | None,
    *,
    by: str | None = None,
    aux: Table | None = None,
) -> Intruder:
    """An intruder with a file of its own, and which original row each of its rows describes.

    ``by`` names a column that identifies people in both tables; without it a row of the file
    describes the only original row that agrees with it on every column both have, and nobody where
    there is none or are several. ``aux`` is a table of other people that has columns of both files:
    then the file may have nothing in common with the release.
    """
    common = [c for c in file.columns if c in pair.original.columns]
    # what the intruder can compare: columns of the file that were released, but for the key
    columns = tuple(knows or [c for c in common if c in pair.released.columns and c != by])
    file.require([*columns, *([by] if by else [])])
    if not len(file):
        raise SchemaError(f"{file.source.name} has no rows, so this intruder knows nobody")
    other_columns = tuple(
        c
        for c in file.columns
        if aux is not None and c in aux.columns and c not in pair.released.columns and c != by
    )
    if not other_columns and not [c for c in columns if c in pair.released.columns]:
        raise SchemaError(
            f"{file.source.name} and the release have no column in common that the intruder knows; "
            "give a table of other people with columns of both (aux)"
        )
    if not common and by is None:
        raise SchemaError(
            f"{file.source.name} and the table have no column in common; name the columns that "
            "identify people in both"
        )
    # without a key, all common columns together must point at one row
    on = [by] if by else common
    pair.original.require(on)
    # codes that two files use for different values would link the wrong people
    for name in on:
        theirs_of, ours_of = (table.encoded(name).labels for table in (file, pair.original))
        require_same_codes(theirs_of, ours_of, name, between="the intruder's file and the table")
    positions = [str(index) for index in range(len(on))]
    file_labels, own_labels = (
        _as_labels(file, on),
        _as_labels(pair.original, on).with_row_index("row"),
    )
    # rows that look alike cannot be distinguished: they describe nobody
    alone = (
        own_labels.group_by(positions)
        .agg(pl.col("row").first(), pl.len().alias("rows"))
        .filter(pl.col("rows") == 1)
    )
    # missing equals missing here, as a file repeats what its people left open
    joined = file_labels.join(
        alone, on=positions, how="left", nulls_equal=True, maintain_order="left"
    )
    truth = joined["row"].cast(pl.Int64).fill_null(NOT_IN_FILE).to_numpy()
    schema = Schema({c: pair.original.schema[c] for c in common})
    return Intruder(
        file.with_schema(schema), columns, np.asarray(truth, dtype=np.int64), others=other_columns
    )


def renamed(file: Table, names: Mapping[str, str]) -> Table:
    """An intruder's file with columns called as in the original: ``names`` maps its names to
    ours.
    """
    file.require(names)
    repeated = [
        own_name
        for own_name in names.values()
        # a name that is itself renamed makes room for the new one
        if own_name in file.columns and own_name not in names
    ]
    if repeated or len(set(names.values())) < len(names):
        raise SchemaError(
            f"{file.source.name}: two columns would have the same name; rename one of them"
        )
    coded = frozenset(names.get(name, name) for name in file.coded)
    return dataclasses.replace(
        file, frame=file.frame.rename(dict(names)), schema=Schema({}), coded=coded
    )


def _as_labels(table: Table, columns: Sequence[str]) -> pl.DataFrame:
    """Columns as the labels values are known by, numbered: 33 and 33.0 are the same, and no name is
    in the way.
    """
    encoded = [table.encoded(column) for column in columns]
    labels = [pl.Series(e.labels, dtype=pl.String).gather(e.codes) for e in encoded]
    return pl.DataFrame({str(index): series for index, series in enumerate(labels)})


# Who tries a release, what they know of people, and which attacks they try.


@dataclasses.dataclass(frozen=True)
class Profile:
    """An intruder: who it is and which columns it knows. ``attacks`` are those that say they are
    tried by it, by name, in turn.
    """

    name: str
    story: str
    known_columns: Callable[[TablePair, Sequence[str]], tuple[str, ...]]

    everything: bool = False

    def knows(self, pair: TablePair, not_known: Sequence[str] = ()) -> tuple[str, ...]:
        """The columns it knows of people. ``not_known`` are some that only their owner has seen, as
        the owner says: whoever knows whatever they happen to know does not know these.
        """
        return self.known_columns(pair, not_known)

    @property
    def attacks(self) -> tuple[str, ...]:
        """Names of the attacks this intruder tries, in turn; with ``everything``, all that anybody
        of the battery tries.
        """
        if self.everything:
            return tuple(dict.fromkeys(name for profile in BATTERY for name in profile.attacks))
        own_attacks = [cls for cls in registry.attacks().values() if self.name in cls.tried_by]
        return tuple(cls.name for cls in sorted(own_attacks, key=lambda cls: cls.turn))


def _everything_quasi(pair: TablePair, not_known: Sequence[str]) -> tuple[str, ...]:
    """All quasi-identifiers, whatever the owner says that nobody knows."""
    return pair.quasi


def _three_most_exposing(pair: TablePair, not_known: Sequence[str]) -> tuple[str, ...]:
    """The three quasi-identifiers with the most distinct released values: what can be seen over the
    fence.
    """
    return most_telling(pair, [name for name in pair.quasi if name not in not_known], 3)


def _five_of_any(pair: TablePair, not_known: Sequence[str]) -> tuple[str, ...]:
    """The five most telling columns of any role: a colleague knows things that nobody calls
    quasi-identifiers.

    A survey weight that hardly anyone shares tells as much as a name, but not where records were
    redrawn: those weights are multiplied by a number that nobody knows. Pseudonyms are left out,
    which nobody can know.
    """
    hidden = {*not_known}
    if not pair.aligned:
        hidden |= {*pair.original.schema.columns(Role.WEIGHT)}
    return most_telling(
        pair, [c for c in pair.columns if c not in hidden and not _pseudonymous(pair, c)], 5
    )


def _pseudonymous(pair: TablePair, name: str) -> bool:
    """Whether a column that names people or units was released with other names than it had."""
    names = {Role.DROP, *UNITS} & set(pair.original.schema[name].roles)
    return bool(names) and not (pair.aligned and pair.truthful(name).mean() > 0.5)


def most_telling(pair: TablePair, columns: Sequence[str], count: int) -> tuple[str, ...]:
    """The columns with the most entropy as released, most telling first."""
    # by name where entropy is equal, so that the choice is the same everywhere
    return tuple(sorted(columns, key=lambda name: (-_entropy(pair, name), name))[:count])


def _entropy(pair: TablePair, name: str) -> float:
    """The bits that a released cell of a column tells; counted once for a pair."""
    if ("entropy", name) not in pair.memo:
        # released values: what an intruder can recognise
        counts = pair.frequencies(name)
        shares = counts / max(1, counts.sum())
        positive = shares[shares > 0]
        pair.memo["entropy", name] = float(-(positive * np.log2(positive)).sum())
    entropy: float = pair.memo["entropy", name]
    return entropy


BATTERY: tuple[Profile, ...] = (
    Profile(
        "prosecutor",
        "knows that a person is in the table, and all quasi-identifiers",
        _everything_quasi,
    ),
    Profile(
        "journalist",
        "attacks any person of the population, without knowing who is in the table",
        _everything_quasi,
    ),
    Profile(
        "neighbour", "knows the three most identifying quasi-identifiers", _three_most_exposing
    ),
    Profile(
        "colleague",
        "knows the five most identifying columns",
        _five_of_any,
    ),
    Profile(
        "worst case",
        "knows everything about everyone but who is who, and how the release was made",
        _everything_quasi,
    ),
)
