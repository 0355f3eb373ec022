"""One command of the speed guard: it counts how often all rows are gone over, and which modules are
imported.

What is counted are calls of full length (nine tenths of the rows or more) of the functions that
sort, group, tally or encode: those of numpy and polars, and our own encoder and loops. They are
replaced by counting ones before anything else is imported.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

NUMPY = ("unique", "sort", "argsort", "lexsort", "isin", "partition", "bincount")
SERIES = ("unique", "sort", "arg_sort", "n_unique", "value_counts", "rank")
FRAME = ("group_by", "sort", "unique", "join")
ROWS = int(os.environ["GUARD_ROWS"])
COUNTS: Counter[str] = Counter()


def counting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, counted where what it is given has about as many rows as the table."""

    @functools.wraps(function)
    def counted(*arguments: Any, **options: Any) -> Any:
        if arguments and _length(arguments[0]) >= 0.9 * ROWS:
            COUNTS[name] += 1
        return function(*arguments, **options)

    return counted


def _length(given: Any) -> int:
    if (
        isinstance(given, tuple | list)
        and given
        and hasattr(given[0], "__len__")
        and not isinstance(given[0], str)
    ):
        given = given[0]  # lexsort takes a list of keys
    try:
        return len(given)
    except TypeError:
        return 0


def write_counts() -> None:
    """Tell the guard what was counted."""
    ours = [name for name in sys.modules if name.split(".")[0] not in sys.stdlib_module_names]
    counted = {"passes": COUNTS.total(), "modules": len(ours), "by": dict(COUNTS)}
    Path(os.environ["GUARD_COUNTED"]).write_text(json.dumps(counted))


def main() -> None:
    """Replace what is counted, then run the command."""
    for name in NUMPY:
        setattr(np, name, counting(f"numpy.{name}", getattr(np, name)))
    for name in SERIES:
        setattr(pl.Series, name, counting(f"polars.Series.{name}", getattr(pl.Series, name)))
    for name in FRAME:
        setattr(
            pl.DataFrame, name, counting(f"polars.DataFrame.{name}", getattr(pl.DataFrame, name))
        )

    from sfumato import kernels
    from sfumato.core import encoding

    encoding.encode = counting("encode", encoding.encode)
    for name in ("group", "rank_keys", "count_codes"):
        setattr(kernels.keys, name, counting(f"kernels.keys.{name}", getattr(kernels.keys, name)))
    atexit.register(write_counts)

    from sfumato.interfaces.cli import main as run

    run()


if __name__ == "__main__":
    main()
