"""Tables in and out: one file a format, two verbs.

``read_table`` gives a polars frame and a :class:`~sfumato.core.source.Source`; ``write_table``
takes both back.
"""

from __future__ import annotations

from sfumato.data.table.read import read_table
from sfumato.data.table.write import suffix_of, write_table

__all__ = ["read_table", "suffix_of", "write_table"]
