"""Tables that models compare with, beside the one that is released."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.evidence import population_path
from sfumato.core.files import MEGABYTE, require_plain
from sfumato.errors import ParameterError

MOST_BYTES = 16 * 1024 * MEGABYTE

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.core.model import Model


def require_readable(path: Path) -> None:
    """Refuse a second table that is a device, a pipe or larger than 16 GB, before it is read."""
    require_plain(path, most=MOST_BYTES, what="a second table")


def population_of(models: Sequence[Model], given: Dataset | None = None, base: Path = Path()) -> Dataset | None:
    """The population the models compare with: the one given to the call, or the file they name; None without either.

    Paths start from ``base``, the folder of the recipe, and must lead to a plain file of at most 16 GB: devices and pipes
    are refused.
    """
    path = population_path(models)
    if path is None:
        return given
    if given is not None:
        raise ParameterError("a population was given to the call, but a model names a file with one; give it once")
    from sfumato.core.dataset import Dataset as Table
    from sfumato.io.read import read_table

    require_readable(base / path)
    frame, source = read_table(base / path)
    return Table(frame, source=source)  # type: ignore[arg-type]
