"""Gestures that arrive when the part they were made on is gone: nothing is done, and that is
said.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable

from nicegui.client import Client
from nicegui.element import Element

from sfumato.interfaces.web.fields import Fields

# What somebody does on purpose; looking, typing on and leaving are told too, and nobody misses
# them.
MEANT = frozenset(
    [
        "click",
        "change",
        "submit",
        "submit.prevent",
        "accept",
        "kind",
        "move",
        "moved",
        "part",
        "pick",
        "rename",
        "role",
        "sort",
        "use",
    ]
)
# Gestures that could still arrive.
KEPT = 5_000
TOO_LATE = (
    "That part of the page changed at the same moment, so nothing was done. Please look at it and "
    "try again."
)


class Arriving:
    """What comes from one tab. A second click on a button that went with the first one is no
    loss.
    """

    def __init__(self, client: Client, say: Callable[[str], None]) -> None:
        self.client, self.say = client, say
        self.gone: OrderedDict[str, None] = OrderedDict()
        self.done: OrderedDict[str, None] = OrderedDict()
        self._take, self._remove = client.handle_event, client.remove_elements
        # the library drops such gestures in silence
        client.handle_event = self.take  # type: ignore[method-assign,assignment]
        client.remove_elements = self.remove  # type: ignore[method-assign]

    def take(self, message: Fields) -> None:
        """Hand a gesture to its part, or say that it came too late."""
        part, listener = self.client.elements.get(message["id"]), str(message.get("listener_id"))
        if part is not None and listener in part._event_listeners:
            _note(self.done, listener)
            self._take(message)
        elif listener in self.gone and listener not in self.done:
            self.say(TOO_LATE)

    def remove(self, elements: Iterable[Element]) -> None:
        """Remove parts, and remember what could be done with them."""
        parts = list(elements)
        for part in parts:
            for listener in part._event_listeners.values():
                if listener.type in MEANT:
                    _note(self.gone, listener.id)
        self._remove(parts)


def _note(listeners: OrderedDict[str, None], name: str) -> None:
    listeners[name] = None
    while len(listeners) > KEPT:
        listeners.popitem(last=False)
