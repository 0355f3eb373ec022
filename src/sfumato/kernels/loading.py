"""Loading loops that were compiled before, without the compiler.

numba prepares its whole compiler before it looks into its cache: implementations of everything numpy can do, and with them
the linear algebra of scipy, 0.3 s that a loop found in the cache never needs. Here the cache is asked first.
"""

from __future__ import annotations

import pickle
from types import ModuleType
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.dispatcher import Dispatcher
from numba.core.runtime.nrt import rtsys


class ForgivingIndex(IndexDataCacheFile):
    """The list of what is in a cache, empty where it cannot be read.

    numba reads the list before it looks whether it belongs to this source. One of another version may name a tuple that is called
    otherwise now, or be cut off: the loop is compiled again, as after every other change.
    """

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except (AttributeError, ImportError, EOFError, pickle.UnpicklingError):
            return {}


class CacheFirst(FunctionCache):
    """numba's cache of one loop, asked before the compiler is made ready.

    Machine code needs the runtime that counts references to arrays, and nothing else; a signature that is not in the
    cache, or cannot be loaded, goes numba's own way.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The loop for some types of arguments, from the cache; None when it must be compiled."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(sig, target_context)
            if found is not None:
                return found
        return super().load_overload(sig, target_context)


def ask_cache_first(module: ModuleType) -> None:
    """Let all loops of a module ask their cache first."""
    loops: list[Any] = [loop for loop in vars(module).values() if isinstance(loop, Dispatcher)]
    for loop in loops:
        if type(loop._cache) is FunctionCache:
            loop._cache.__class__ = CacheFirst  # it has its folder and stamp already
            loop._cache._cache_file.__class__ = ForgivingIndex
