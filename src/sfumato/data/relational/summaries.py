"""What the steps for several tables did, in sentences that anybody reads."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.core.words import count_of, join_words, percent


def rows_gone(gone: Mapping[str, int], share: float) -> str:
    """How many rows of each table were removed.

    >>> rows_gone({"visits": 1932, "rx": 1}, 0.139248), rows_gone({"visits": 0}, 0.0)
    ('1,932 rows of visits and 1 row of rx, 13.9 % of all', 'none had to be removed')
    """
    row_counts = [f"{count_of(count, 'row')} of {table}" for table, count in gone.items() if count]
    if not row_counts:
        return "none had to be removed"
    return f"{join_words(row_counts)}, {percent(share)} of all"
