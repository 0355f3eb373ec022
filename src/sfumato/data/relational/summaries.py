"""What the means for several tables did, in sentences that anybody reads."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.core.words import counted, listed


def share_told(share: float) -> str:
    """A share in words that do not say that nothing is something.

    >>> share_told(0.139248), share_told(0.00005), share_told(0.0)
    ('13.9%', 'less than 0.1%', '0.0%')
    """
    return "less than 0.1%" if 0 < share < 0.001 else f"{share:.1%}"


def rows_gone(gone: Mapping[str, int], share: float) -> str:
    """How many rows of each table went.

    >>> rows_gone({"visits": 1932, "rx": 1}, 0.139248), rows_gone({"visits": 0}, 0.0)
    ('1,932 rows of visits and 1 row of rx went, 13.9% of all', 'none had to go')
    """
    told = [f"{counted(count, 'row', 'rows')} of {table}" for table, count in gone.items() if count]
    return f"{listed(told)} went, {share_told(share)} of all" if told else "none had to go"
