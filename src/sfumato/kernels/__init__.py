"""The numba loops, and nothing but loops.

Importing this room imports numba, so it is imported inside the functions that need it. Machine code is cached
beside the sources, or in the user's cache folder; where neither can be written, in a temporary folder.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _choose_cache_folder() -> None:
    """Point numba to a folder it can write, when its own choices cannot be written."""
    if os.environ.get("NUMBA_CACHE_DIR"):
        return
    beside = Path(__file__).parent / "__pycache__"
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    if _writable(beside):
        return
    folder = home / "sfumato"
    if not _writable(folder):
        folder = Path(tempfile.gettempdir()) / f"sfumato-kernels-{os.getuid() if hasattr(os, 'getuid') else 0}"
    os.environ["NUMBA_CACHE_DIR"] = str(folder)


_choose_cache_folder()


def compiled_before() -> bool:
    """Whether machine code of these loops is in the cache, so that the first call will be quick."""
    folder = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parent / "__pycache__")
    return next(folder.rglob("*.nbi"), None) is not None
