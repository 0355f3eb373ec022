r"""Columns that tell each other: codes beside their labels, groups beside what they group, the same
column twice.

Column *a* tells column *b* as well as guessing *b* from *a* beats guessing it from nothing
(Goodman and Kruskal's λ):

.. math::

    \lambda(b \mid a) = \frac{\sum_x \max_y n_{xy} - \max_y n_{\cdot y}}{n - \max_y n_{\cdot y}}

Recoding one of two such columns is undone by releasing the other, so a proposal must not leave one
of them as it is.

Reference: Goodman and Kruskal 1954, Measures of association for cross classifications.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sfumato.core.schema import Kind, Role
from sfumato.guidance.profiling.columns import ProfiledColumn
from sfumato.guidance.profiling.design import Difference, differences
from sfumato.guidance.profiling.quasi import Codes, codes_of
from sfumato.guidance.profiling.role_guess import RoleGuess

MOST_COLUMNS = 120
FEWEST_ROWS_TO_DEPEND = 30
# λ from which one column tells another, where that has `SEVERAL` values; with fewer only λ = 1
# counts.
TELLS = 0.9

# λ in both directions from which two columns say the same.
SAME = 0.9

SEVERAL = 5
# Mean records a value needs before what it goes with says anything.
ROWS_A_VALUE = 4


@dataclasses.dataclass(frozen=True)
class Telling:
    """Column ``first`` tells column ``second``; ``mutual``: and the other way round."""

    first: str
    second: str
    mutual: bool


def tellings(
    quasi: Sequence[ProfiledColumn], other_columns: Sequence[ProfiledColumn]
) -> tuple[Telling, ...]:
    """Which of the columns an outsider may know tell which column, or are told by it.

    Looks at 10,000 rows at most and at 120 columns at most. Columns with nearly as many values as
    records say nothing, unless they are the same column twice.
    """
    columns = [*quasi, *other_columns][:MOST_COLUMNS]
    if not columns or columns[0].card.rows < FEWEST_ROWS_TO_DEPEND:
        return ()
    coded = [_Coded.of(column) for column in columns]
    pairs: list[Telling] = []
    for i, first in enumerate(coded[: len(quasi)]):
        for second in coded[i + 1 :]:
            pairs.extend(_between(first, second))
    return tuple(pairs)


def _between(first: _Coded, second: _Coded) -> Iterator[Telling]:
    if first.same_as(second):
        yield Telling(first.name, second.name, mutual=True)
        return
    forward, back = first.tells(second), second.tells(first)
    if min(forward, back) >= SAME:
        yield Telling(first.name, second.name, mutual=True)
    elif max(forward, back) >= TELLS:
        if forward >= back:
            teller, follower = (first, second)
        else:
            teller, follower = (second, first)
        yield Telling(teller.name, follower.name, mutual=False)


@dataclasses.dataclass(frozen=True, repr=False)
class _Coded:
    """A column as codes of the rows looked at."""

    column: ProfiledColumn
    codes: Codes
    distinct: int
    commonest: int

    @classmethod
    def of(cls, column: ProfiledColumn) -> _Coded:
        codes = codes_of(column.spread).dense()
        return cls(column, codes, codes.size, int(codes.counts().max()))

    @property
    def name(self) -> str:
        return self.column.card.name

    def same_as(self, other: _Coded) -> bool:
        """Whether the two are one column, value by value."""
        own_column, other_column = self.column, other.column
        alike = self.distinct == other.distinct > 1 and own_column.dtype == other_column.dtype
        if not alike or not own_column.spread.equals(other_column.spread, check_names=False):
            return False
        return own_column.values.equals(other_column.values, check_names=False)

    def tells(self, other: _Coded) -> float:
        """λ, where there is enough to say so; 0 otherwise."""
        rows = len(self.codes.of)
        if self.distinct * ROWS_A_VALUE > rows or not 1 < other.distinct <= 2 * self.distinct:
            return 0.0
        right = _right_guesses(self.codes, other.codes)
        if right == rows:
            return 1.0
        if other.distinct >= SEVERAL:
            return (right - other.commonest) / (rows - other.commonest)
        return 0.0


def _right_guesses(known_codes: Codes, guessed: Codes) -> int:
    """Records whose code in one column is the commonest among those with their code in the
    other.
    """
    joint = Codes(known_codes.of * guessed.size + guessed.of, known_codes.size * guessed.size)
    if joint.compact:
        return int(joint.counts().reshape(known_codes.size, guessed.size).max(axis=1).sum())
    pairs, counts = np.unique(joint.of, return_counts=True)
    best = np.zeros(known_codes.size, dtype=np.int64)
    np.maximum.at(best, pairs // guessed.size, counts)
    return int(best.sum())


# Roles once it is known which columns tell each other: no column is left to undo the recoding of
# another.

# Of two columns that say the same, words with an order are kept before dates, labels and bare
# numbers.
_SPEAKING = (Kind.ORDINAL, Kind.DATE, Kind.NOMINAL, Kind.NUMERIC)


def with_duplicates_found(
    columns: Sequence[ProfiledColumn], guesses: Mapping[str, RoleGuess]
) -> dict[str, RoleGuess]:
    """Guesses in which of columns that tell each other one is kept as quasi-identifier.

    Both ways: the others are dropped (role ``drop``), for they would only have to be recoded in
    step. One way (an age group beside the age): the column that was to be released as it is becomes
    quasi too.
    """
    quasi = [c for c in columns if Role.QUASI in guesses[c.card.name].roles]
    other_columns = [
        c
        for c in columns
        if guesses[c.card.name].roles in ((Role.KEEP,), (Role.ASK,)) and not c.card.constant
    ]
    pairs = tellings(quasi, other_columns)
    by_name = {column.card.name: column for column in columns}
    changed = dict(guesses)
    for telling in pairs:
        if telling.mutual:
            _keep_one(telling, by_name, changed)
    for telling in pairs:
        if not telling.mutual:
            _know_both(telling, changed)
    return changed


def _keep_one(
    telling: Telling, columns: Mapping[str, ProfiledColumn], guesses: dict[str, RoleGuess]
) -> None:
    pair = (telling.first, telling.second)
    if any(guesses[name].roles == (Role.DROP,) for name in pair):
        return  # one of them is gone already
    first_name = min(pair, key=lambda name: _precedence(columns[name], guesses[name]))
    gone = pair[1] if first_name == pair[0] else pair[0]
    reason = (
        f"has the same information as {first_name}: dropped, since it would undo the recoding of"
        " that column"
    )
    guesses[gone] = dataclasses.replace(
        guesses[gone], roles=(Role.DROP,), reason=reason, confidence=0.7, copy_of=first_name
    )


def _precedence(column: ProfiledColumn, guess: RoleGuess) -> tuple[bool, int]:
    """Quasi-identifiers first, those that are sensitive too before others, then what speaks; equals
    in table order.
    """
    standing = (Role.QUASI in guess.roles) + (Role.SENSITIVE in guess.roles)
    numbers = column.dtype.is_numeric()
    return standing == 0, 10 * (2 - standing) + 5 * numbers + _SPEAKING.index(column.card.kind)


def _know_both(telling: Telling, guesses: dict[str, RoleGuess]) -> None:
    first, second = guesses[telling.first], guesses[telling.second]
    if (Role.DROP,) in (first.roles, second.roles) or (Role.QUASI in first.roles) == (
        Role.QUASI in second.roles
    ):
        return
    if Role.QUASI in first.roles:
        reason = f"follows from {telling.first}, which others can know"
        guesses[telling.second] = dataclasses.replace(
            second, roles=(Role.QUASI,), reason=reason, confidence=0.6
        )
    else:
        reason = f"reveals {telling.second}, which others can know"
        guesses[telling.first] = dataclasses.replace(
            first, roles=(Role.QUASI,), reason=reason, confidence=0.6
        )


def with_differences_found(
    columns: Sequence[ProfiledColumn], guesses: Mapping[str, RoleGuess]
) -> dict[str, RoleGuess]:
    """Guesses in which no column is released as it is that is the difference or the sum of two
    quasi-identifiers.
    """
    quasi = [c for c in columns if Role.QUASI in guesses[c.card.name].roles]
    free = ((Role.KEEP,), (Role.ASK,), (Role.SENSITIVE,))
    other_columns = [c for c in columns if guesses[c.card.name].roles in free]
    return {
        **guesses,
        **{
            difference.name: _undoing(difference, guesses[difference.name])
            for difference in differences(quasi, other_columns)
        },
    }


def _undoing(difference: Difference, guess: RoleGuess) -> RoleGuess:
    """Dropped; what is sensitive is recoded with the two instead, for it may be what the table is
    about.
    """
    if Role.SENSITIVE in guess.roles:
        reason = (
            f"{guess.reason}; is {difference} in every record: quasi too, since unchanged it would"
            " undo their recoding"
        )
        return dataclasses.replace(guess, roles=(Role.QUASI, Role.SENSITIVE), reason=reason)
    reason = f"is {difference} in every record: dropped, since it would undo the recoding of both"
    return dataclasses.replace(guess, roles=(Role.DROP,), reason=reason, confidence=0.7)
