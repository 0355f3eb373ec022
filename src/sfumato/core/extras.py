"""Optional packages: imported where they are needed, named when they are missing."""

from __future__ import annotations

import importlib
from types import ModuleType

from sfumato.errors import MissingExtra


def require(module: str, *, extra: str, to: str) -> ModuleType:
    """Import an optional module, or say which extra brings it.

    >>> require("surely_not_installed", extra="excel", to="read Excel files")
    Traceback (most recent call last):
    ...
    sfumato.errors.MissingExtra: to read Excel files, install the extra: pip install 'sfumato[excel]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(f"to {to}, install the extra: pip install 'sfumato[{extra}]'") from error
