"""What the owner should know of rows and values before roles matter: rows that repeat others, and
values that are spelled in more than one way. Only shares and counts, no values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from sfumato.core.words import count_of, join_words, percent
from sfumato.guidance.profiling.quasi import class_sizes

# Share of rows that repeat another from which a row may be no person.
OFTEN_REPEATED = 0.5

NO_SENSITIVE = "No sensitive column found: is that right?"

# Columns whose spelling is named, and characters of a name that are shown.
_LISTED = 5
_LONGEST_NAME = 60

# Blanks, and accents once they are parted from their letters. Only these marks: the voicing marks
# of Japanese are parted as well, and make other letters (か, が).
_BLANKS_AND_ACCENTS = r"[\s\u{0300}-\u{036f}]"


def repeated_share(rows: pl.DataFrame) -> float:
    """Share of rows that are equal to another row in all columns; missing equals missing.

    >>> repeated_share(pl.DataFrame({"sex": ["f", "m", "f", "x"]}))
    0.5
    """
    if not rows.width or not rows.height:
        return 0.0
    sizes = class_sizes(rows, rows.columns)
    return float(sizes[sizes > 1].sum() / rows.height)


def spelling_variants(values: pl.Series) -> int:
    """How many different texts are equal to another text of the column but for capitals, blanks or
    accents; 0 for a column of anything but texts.

    >>> spelling_variants(pl.Series(["Menomonie", "MENOMONIE", "Eau Claire", "Menomonie"]))
    2
    """
    if values.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return 0
    texts = values.drop_nulls().unique().cast(pl.String)
    alike = texts.str.normalize("NFD").str.replace_all(_BLANKS_AND_ACCENTS, "").str.to_lowercase()
    return int(alike.is_duplicated().sum())


def warnings_of(
    repeated: float, variants: Mapping[str, int], *, sensitive: bool, drawn: int | None
) -> Iterator[str]:
    """The warnings of a proposal. ``sensitive``: it has a sensitive column; ``drawn``: the rows of
    the sample that shares and counts are from.
    """
    if not sensitive:
        yield NO_SENSITIVE
    rows = "the rows"
    if drawn is not None:
        rows = f"{drawn:,} rows drawn"
    if repeated >= OFTEN_REPEATED:
        yield f"{percent(repeated)} of {rows} repeat another: is every row one person?"
    if variants:
        yield (
            "Spelled in several ways that differ in capitals, blanks or accents:"
            f" {_list_with_counts(variants)}. Each spelling counts as another value; make them"
            " alike first."
        )


def _list_with_counts(variants: Mapping[str, int]) -> str:
    """Columns with their counts, those with most variants first."""
    ordered = sorted(variants, key=lambda name: -variants[name])
    parts = [
        f"{_name_on_one_line(name)} ({count_of(variants[name], 'value')})"
        for name in ordered[:_LISTED]
    ]
    if len(ordered) > _LISTED:
        parts.append(count_of(len(ordered) - _LISTED, "more column"))
    return join_words(parts)


def _name_on_one_line(name: str) -> str:
    """The name of a column in a sentence: bare where it is a word, on one line in any case."""
    if len(name) > _LONGEST_NAME:
        name = f"{name[: _LONGEST_NAME - 1]}…"
    if name.isprintable() and name.strip() == name and name:
        return name
    return repr(name)
