"""What a release keeps, in a few words for its owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.hierarchy import TOP
from sfumato.core.words import join_words, percent
from sfumato.methods.utility.groupability import Groupability
from sfumato.methods.utility.moments import Means
from sfumato.methods.utility.tables import MarginalError
from sfumato.release.documents import evaluated

if TYPE_CHECKING:
    from sfumato.release.table_release import TableRelease

CLOSE = 0.05
"""An error up to which a mean counts as kept."""


def kept_of(release: TableRelease) -> tuple[str, ...]:
    """Records, columns, means and tables that survived: ``94 % of records``."""
    evaluation = evaluated(release, release.pair, (Means(), MarginalError(), Groupability()))
    measures = {measure.name: measure for measure in evaluation.measures}
    original = release.original
    if release.released.drawn:
        words = [
            f"{release.released.records:,} synthetic records for {original.records:,} true ones"
        ]
    else:
        share = release.released.records / max(1, original.records)
        words = [f"{percent(share)} of records"]
    columns = len(release.released_columns)
    empty = _without_values(release)
    if columns - len(empty) < len(original.columns):
        words.append(f"{columns - len(empty)} of {len(original.columns)} columns")
    if empty:
        # A column of suppressed cells alone is released, and tells nothing.
        words[-1] += f" (nothing is left in {join_words(empty)})"
    if "means" in measures:
        errors = measures["means"].per_column
        close = [name for name, error in errors.items() if error <= CLOSE]
        if errors and len(close) == len(errors):
            words.append(f"all means within {percent(max(errors.values()))}")
        elif errors:
            words.append(f"{len(close)} of {len(errors)} means within {percent(CLOSE)}")
    if "marginal_error" in measures:
        # Half of the sum of differences is the share of records in another cell than before.
        moved = (measures["marginal_error"].raw or 0.0) / 2
        words.append(f"tables of two columns with {percent(moved)} of records in another cell")
    if "groupability" in measures:
        words.append(_groups(measures["groupability"].value))
    return tuple(words)


def _without_values(release: TableRelease) -> list[str]:
    """Quasi-identifiers of which every released cell is suppressed."""
    empty = []
    frame = release.released.to_polars()
    for name in release.original.schema.quasi:
        if name in frame.columns and frame.height:
            values = frame.get_column(name).unique().to_list()
            if all(value is None or value == TOP for value in values):
                empty.append(name)
    return empty


def _groups(share: float) -> str:
    if share == 1:
        return "labels that can be grouped in every column"
    return f"labels that can be grouped in {percent(share)} of columns"
