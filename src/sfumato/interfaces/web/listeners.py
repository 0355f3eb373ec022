"""Who is told when something changed."""

from __future__ import annotations

from collections.abc import Callable

Listener = Callable[[], None]


class Listeners:
    """Functions that are called when something changed."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> Listener:
        """Call a function at every change; what comes back ends that."""
        self._listeners.append(listener)

        def leave() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return leave

    def tell(self) -> None:
        """Call them all; one that leaves meanwhile is still called."""
        for listener in tuple(self._listeners):
            listener()
