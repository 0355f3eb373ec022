"""Data files of the package: word lists, code lists and tables that are data and no code.

Each package keeps its files in a folder ``data_files`` beside the module that reads them.
"""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Any


@functools.cache
def read_data_file(package: str, name: str) -> Any:
    """The content of ``data_files/<name>.json`` of a package, read once.

    Everybody gets the same object: do not change it.

    >>> len(read_data_file("sfumato.methods.hierarchies", "icd10_chapters"))
    22
    """
    path = resources.files(package) / "data_files" / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8"))
