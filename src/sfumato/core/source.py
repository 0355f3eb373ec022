"""Where a table came from, and what is needed to write one of the same form."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from sfumato.core.intake import Intake


@dataclasses.dataclass(frozen=True)
class Source:
    """The form of a table as it was read.

    ``format`` is one of ``csv, parquet, arrow, jsonl, excel, spss, stata, sas, frame``; ``notes`` are
    decisions worth telling (a delimiter sniffed, a column kept as text and why), never data values;
    ``labels`` is what the format knows besides the values (variable and value labels, user-missing codes)
    and what a writer of the same format needs back; ``digest`` is the SHA-256 of the file's bytes, or None;
    ``intake`` is what was said about how to read it; ``types_found`` says that the types of columns were found by looking at all
    their cells, so that one record may decide about them.
    """

    name: str = "the table"
    format: str = "frame"
    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    header: bool = True
    labels: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    digest: str | None = None
    intake: Intake = dataclasses.field(default_factory=Intake)
    types_found: bool = False
