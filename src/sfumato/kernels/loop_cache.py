"""The decorator of all loops: numba is imported when the first one is called.

A file of loops also holds functions that let numpy do the work where rows are few. A command on a
small table that needs nothing else does without numba, whose import takes longer than its work.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any


class Loop:
    """A function that numba compiles, or finds compiled, when it is called for the first time."""

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        self.function, self.options = function, options
        functools.update_wrapper(self, function)

    @functools.cached_property
    def numba(self) -> Any:
        """The function compiled by numba; from now on its module calls it under its name, without a
        detour.
        """
        from sfumato.kernels.machine_code import compiled

        loop = compiled(self.function, self.options, Loop)
        names = self.function.__globals__
        # The module's name is replaced once; compiled callers and later calls skip this object.
        if names.get(self.function.__name__) is self:
            names[self.function.__name__] = loop
        return loop

    def __call__(self, *arguments: Any) -> Any:
        """Run the compiled function."""
        return self.numba(*arguments)


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Numba's decorator, which waits for the first call."""
    return lambda function: Loop(function, options)
