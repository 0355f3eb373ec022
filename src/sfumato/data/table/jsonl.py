"""JSON lines: one object a line, one value a key."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from sfumato.core.source import Source
from sfumato.data.table.formats import FileFormat, ReadRequest, listed, refuse_nested, refusing
from sfumato.data.table.sniff import to_utf8
from sfumato.errors import OutputError, UnreadableInput

if TYPE_CHECKING:
    from sfumato.data.table.form import Form

_HEAD = 100


def read(
    data: bytes, *, name: str, encoding: str | None = None, lists: bool = False
) -> tuple[pl.DataFrame, Source]:
    """Read JSON lines; a key that an object lacks is missing there. With ``lists`` a value may be a
    list of single ones.
    """
    data, encoding, notes = to_utf8(data, name=name, encoding=encoding)
    if not data.strip():
        raise UnreadableInput(f"{name} is empty: it needs one JSON object per line")
    _refuse_repeated_keys(data, name)
    try:
        with refusing("the reason is determined below"):
            # All rows decide about types: a late one may need a wider type than the first.
            frame = pl.read_ndjson(io.BytesIO(data), infer_schema_length=None)
    except UnreadableInput:
        frame = None
    # Polars failed or found no column: line by line it is seen which one is wrong.
    if frame is None or not frame.width:
        _diagnose(data, name, lists=lists)
        raise UnreadableInput(f"{name} cannot be read as JSON lines")
    _refuse_hidden_nesting(refuse_nested(frame, name, lists=lists), data, name)
    # A column of nothing but null has no type yet.
    frame = frame.with_columns(
        pl.col(pl.Null).cast(pl.String), pl.col(pl.List(pl.Null)).cast(pl.List(pl.String))
    )
    return frame, Source(name, "jsonl", encoding=encoding, notes=tuple(notes), types_found=True)


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    stripped = ((number, line.strip()) for number, line in enumerate(io.BytesIO(data), start=1))
    return ((number, line) for number, line in stripped if line)


def _refuse_repeated_keys(data: bytes, name: str, lines: int | None = _HEAD) -> None:
    """Look at so many lines, or at all."""
    for number, line in _lines(data if lines is None else data[: 1 << 20]):
        try:
            pairs: Any = json.loads(line, object_pairs_hook=list)
        except (ValueError, RecursionError):
            return
        if isinstance(pairs, list):
            keys = [pair[0] for pair in pairs if isinstance(pair, tuple)]
        else:
            keys = []
        if len(keys) != len(set(keys)):
            raise UnreadableInput(
                f"{name}, line {number}: an object has the same key twice; rename one"
            )
        if lines is not None and number > lines:
            return


def _diagnose(data: bytes, name: str, *, lists: bool) -> None:
    """Raise with the line and the column that keep the text from being a table."""
    kinds: dict[str, set[type]] = {}
    for number, line in _lines(data):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise UnreadableInput(
                f"{name}, line {number}: not valid JSON; each line must be one complete object"
            ) from None
        if not isinstance(row, dict):
            raise UnreadableInput(
                f"{name}, line {number}: a JSON {_word(row)} where an object is expected; write "
                "one object per line"
            )
        for key, value in row.items():
            if isinstance(value, dict) or (
                isinstance(value, list) and not (lists and _is_plain(value))
            ):
                raise UnreadableInput(
                    f"{name}, line {number}: column {key!r} holds nested values; flatten or drop it"
                    " before reading"
                )
            kinds.setdefault(key, set()).add(type(value))
    if not kinds:
        raise UnreadableInput(f"{name}: no object has a key; a table needs at least one column")
    mixed = [key for key, types in kinds.items() if bool in types and types & {int, float}]
    if mixed:
        raise UnreadableInput(
            f"{name}: {listed(mixed)} mixes true/false and numbers; use one of the two"
        )


def _is_plain(values: list[Any]) -> bool:
    return not any(isinstance(value, dict | list) for value in values)


def _word(value: object) -> str:
    return {list: "array", str: "string", int: "number", float: "number", bool: "boolean"}.get(
        type(value), "null"
    )


def _refuse_hidden_nesting(frame: pl.DataFrame, data: bytes, name: str) -> None:
    """Raise when polars wrote a list out as text because other rows hold text in that column."""
    for column in (c for c in frame if c.dtype == pl.String):
        # Only cells that begin like a list or an object are looked up in the file.
        suspects = set(column.alias("cells").str.contains(r"^[\[{]").fill_null(False).arg_true())
        for row, (number, line) in enumerate(_lines(data) if suspects else ()):
            if row in suspects and isinstance(json.loads(line).get(column.name), dict | list):
                raise UnreadableInput(
                    f"{name}, line {number}: column {column.name!r} holds nested values; flatten or"
                    " drop it before reading"
                )


def write(frame: pl.DataFrame, target: Path, source: Source) -> None:
    """Write one object a line in UTF-8; NaN and infinities become null, as JSON has none."""
    refused = [
        column for column, dtype in frame.schema.items() if dtype.is_object() or dtype == pl.Binary
    ]
    if refused:
        raise OutputError(
            f"{listed(refused)}: binary values do not fit into JSON; drop them, or write Parquet"
        )
    with target.open("wb") as out:
        frame.write_ndjson(out)


class JsonLines(FileFormat):
    """JSON lines."""

    name: ClassVar[str] = "jsonl"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson", ".json")
    options: ClassVar[frozenset[str]] = frozenset({"encoding"})

    def read(self, data: bytes, name: str, request: ReadRequest) -> tuple[pl.DataFrame, Source]:
        """What :func:`read` reads; an exact reading looks for repeated keys in every line."""
        frame, source = read(data, name=name, encoding=request.intake.encoding, lists=request.lists)
        if request.exact:
            # What is written back as the same bytes repeats no key: the fast way to know it.
            written = io.BytesIO()
            frame.write_ndjson(written)
            if written.getvalue() != data:
                _refuse_repeated_keys(data, name, lines=None)
        return frame, source

    def write(self, frame: pl.DataFrame, target: Path, source: Source, form: Form) -> None:
        """What :func:`write` writes."""
        write(frame, target, source)
