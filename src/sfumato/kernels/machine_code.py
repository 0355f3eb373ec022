"""Machine code of loops: kept in a cache that several processes may share, and loaded without the
compiler.

numba prepares its whole compiler before it looks into its cache: implementations of everything
numpy can do, and with them the linear algebra of scipy, 0.3 s that a loop from the cache never
needs. Here the cache is asked first.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.runtime.nrt import rtsys


class ForgivingIndex(IndexDataCacheFile):
    """The index of a cache, empty where it cannot be read, and never wrong about what a file holds.

    numba reads the index before it looks whether it belongs to this source. One of another version
    may name a tuple that has another name now, or be cut off: the loop is compiled again, as after
    every other change.

    numba counts the names of files up: two processes that compile a loop for different types at the
    same time would write one file, and list it under the types of the other. Here a file is named
    by what it holds, and is complete before it is listed. Of two indexes written at the same time
    the later one stays, and what it lacks is compiled again.
    """

    def _load_index(self) -> Any:
        """The index, or an empty one where it cannot be unpickled."""
        try:
            return super()._load_index()
        except (AttributeError, ImportError, EOFError, pickle.UnpicklingError):
            return {}

    def save(self, key: Any, data: Any) -> None:
        """Store machine code for some types of arguments."""
        digest = hashlib.sha256(self._dump((self._source_stamp, key))).hexdigest()[:16]
        name = f"{self._index_name.removesuffix('.nbi')}.{digest}.nbc"
        # The file first: an index never names a file that does not exist yet.
        self._save_data(name, data)
        self._save_index({**self._load_index(), key: name})


class CacheFirst(FunctionCache):
    """numba's cache of one loop, asked before the compiler is prepared.

    Machine code needs the runtime that counts references to arrays, and nothing else; a signature
    that is not in the cache, or cannot be loaded, goes numba's own way. Machine code that cannot be
    stored, because the disk is full, is used all the same and compiled again next time.
    """

    waiting: Any
    """The class of loops that are not compiled yet."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The loop for some types of arguments, from the cache; None when it must be compiled."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            loop = self._load_overload(sig, target_context)
            if loop is not None:
                return loop
        # Not there: numba compiles it, and must find compiled loops under the names that it reads.
        name_loops(self._py_func, self.waiting)
        return super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the loop for some types of arguments, where there is room."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)


def compiled(function: Callable[..., Any], options: Mapping[str, Any], waiting: Any) -> Any:
    """Compile a function with numba and this cache; ``waiting`` is the class of loops that are not
    compiled yet.
    """
    loop = numba.njit(**options)(function)
    cache: Any = loop._cache
    if type(cache) is FunctionCache:
        cache.__class__ = CacheFirst  # it has its folder and stamp already
        vars(cache)["waiting"] = waiting
        cache._cache_file.__class__ = ForgivingIndex
    else:
        name_loops(function, waiting)
    return loop


def name_loops(function: Callable[..., Any], waiting_loop: Any) -> None:
    """Replace loops that wait in the modules a function reads from by their compiled forms, before
    the function is compiled: a loop may call others.

    Machine code from the cache holds the loops it calls, and needs no names.
    """
    waiting = [function.__globals__]
    visited = []
    # Modules reached through the functions of loops are visited once each.
    # Modules reached through the functions of loops are visited once each.
    while waiting:
        names = waiting.pop()
        visited.append(names)
        for name, value in list(names.items()):
            if isinstance(value, waiting_loop):
                names[name] = value.numba
                if all(value.function.__globals__ is not module for module in [*visited, *waiting]):
                    waiting.append(value.function.__globals__)
