"""Numba loops, and nothing but loops.

``from sfumato import kernels`` is light and stands at the top of a module;
``kernels.keys.group(...)`` loads the file with that loop, and numba with it, on first use.
Machine code is cached beside the sources, or in the user's cache folder; where neither can be
written, in a temporary folder.
"""

from __future__ import annotations

import importlib
import os
import stat
import tempfile
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.kernels import (
        baskets,
        buckets,
        crowd_costs,
        degrees,
        designs,
        distributions,
        fact_sets,
        graph_isomorphism,
        graphs,
        group_changes,
        group_closeness,
        keys,
        lattice,
        level_pairs,
        linkage,
        local,
        mdav_tree,
        microaggregation,
        neighbours,
        node_counts,
        partition,
        paths,
        philox,
        points,
        queries,
        record_tree,
        rounding,
        rules,
        runs,
        simplex,
        skyline,
        suppression,
        swapping,
        trees,
        unique_records,
        uniques,
    )

__all__ = [
    "baskets",
    "buckets",
    "crowd_costs",
    "degrees",
    "designs",
    "distributions",
    "fact_sets",
    "graph_isomorphism",
    "graphs",
    "group_changes",
    "group_closeness",
    "keys",
    "lattice",
    "level_pairs",
    "linkage",
    "local",
    "mdav_tree",
    "microaggregation",
    "neighbours",
    "node_counts",
    "partition",
    "paths",
    "philox",
    "points",
    "queries",
    "record_tree",
    "rounding",
    "rules",
    "runs",
    "simplex",
    "skyline",
    "suppression",
    "swapping",
    "trees",
    "unique_records",
    "uniques",
]


def _writable(folder: Path) -> bool:
    """Whether a file can be created in a folder, which is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _own_temporary_folder() -> Path:
    """A folder among the temporary files that only this user can write: code in it is executed, so
    nobody else may have put it there.

    The usual one serves again and again; where somebody else owns it, or could write into it, a new
    one is made for this process.
    """
    # Windows gives every user a temporary folder of his or her own.
    if not hasattr(os, "getuid"):
        return Path(tempfile.gettempdir()) / "sfumato-kernels"
    folder = Path(tempfile.gettempdir()) / f"sfumato-kernels-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        # lstat, not stat: a link that somebody else put here is not a folder of ours.
        status = folder.lstat()
        if (
            stat.S_ISDIR(status.st_mode)
            and not status.st_mode & 0o022
            and status.st_uid == os.getuid()
        ):
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="sfumato-kernels-"))


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
        folder = _own_temporary_folder()
    os.environ["NUMBA_CACHE_DIR"] = str(folder)


_choose_cache_folder()


def cache_folder() -> Path:
    """The folder with the machine code of the loops."""
    return Path(os.environ.get("NUMBA_CACHE_DIR") or Path(__file__).parent / "__pycache__")


def compiled_before() -> bool:
    """Whether machine code of the loops is in the cache, so that the first call will be quick."""
    return next(cache_folder().rglob("*.nbi"), None) is not None


def __getattr__(name: str) -> ModuleType:
    """Import a file of loops on first use; from then on it is an attribute like any other."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
