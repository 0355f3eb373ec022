"""Drawing a part of a page anew without taking away what a hand is on.

A part is drawn beside the page and then put in the place of what was there. What is of the same
kind and key as before keeps its identity: the browser changes it in place, so a click that began on
it ends on it, a field keeps its cursor, and an event that is on its way still finds its listener.
"""

from __future__ import annotations

import contextlib
import weakref
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any

from nicegui import ui
from nicegui.element import Element
from nicegui.outbox import deleted
from nicegui.slot import Slot

from sfumato.interfaces.web.pages.parts import enter, heard

# Attributes in which an element and the one that takes its place are equal; a picture cannot change
# its ``spec``.
SAME = ("data-key", "data-is", "id", "type", "name", "spec")
# A button that says something else does something else: a click on its way must not reach it.
SAME_BUTTON = (*SAME, "aria-label")


def beside(container: Element) -> ui.element:
    """A place off the page, to draw in what shall stand in another one."""
    with container:
        drawing = ui.element(container.tag)
    container.default_slot.children.remove(drawing)
    return drawing


@contextlib.contextmanager
def redrawn(container: Element) -> Iterator[None]:
    """Draw a place anew: what is drawn in the block takes the place of what was there. The block
    must not wait for anything.
    """
    drawing = beside(container)
    with drawing:
        yield
    exchange_contents(drawing, container)


def exchange_contents(drawing: Element, container: Element) -> None:
    """Put what was drawn beside the page into its place; what is the same as before stays, changed
    where it says something else.

    Whoever still draws goes on in the place: it takes over the slot that is drawn in. Putting twice
    is the same as once.
    """
    if drawing.is_deleted:
        return
    if container.is_deleted:  # while it was drawn, what is around it was drawn anew
        drawing.client.remove_elements(drawing.descendants(include_self=True))
        return
    old, slot = list(container.default_slot.children), drawing.default_slot
    before = [child.id for child in old]
    # the slot itself moves: whoever still draws into it goes on in the page
    slot._parent = weakref.ref(container)
    container.slots["default"] = container.default_slot = slot
    drawing.slots["default"] = drawing.default_slot = Slot(drawing, "default")
    drawing._deleted = True
    _forget(drawing)
    _exchange(old, list(slot.children))
    if before != [child.id for child in slot.children]:
        container.update()


def _exchange(old: list[Element], new: list[Element]) -> None:
    """Let new siblings take over the identities of the old ones they are the same as; the rest of
    the old ones is gone.
    """
    # equal elements keep their order: the first old one becomes the first new one
    waiting: dict[Any, deque[Element]] = defaultdict(deque)
    for child in old:
        waiting[_kind(child)].append(child)
    for child in new:
        candidates = waiting.get(_kind(child))
        if candidates:
            _take_over(candidates.popleft(), child)
    for unused in waiting.values():
        for child in unused:
            child.client.remove_elements(child.descendants(include_self=True))


def _kind(child: Element) -> tuple[Any, ...]:
    names = SAME_BUTTON if child.tag == "button" else SAME
    listeners = tuple(
        (listener.type, listener.js_handler) for listener in child._event_listeners.values()
    )
    attributes = tuple(repr(child.props.get(name)) for name in names)
    return (type(child), child.tag, listeners, attributes)


def _take_over(old: Element, new: Element) -> None:
    """Let a new element be, for the browser, the one that it takes the place of."""
    client = new.client
    was = old._to_dict()
    pending = old.id in client.outbox.updates
    children = list(old), list(new)
    _forget(new)
    new.id = old.id
    client.elements[new.id] = new
    for before, now in zip(
        old._event_listeners.values(), list(new._event_listeners.values()), strict=True
    ):
        now.id, now.element_id = before.id, new.id
    new._event_listeners = {listener.id: listener for listener in new._event_listeners.values()}
    for slot in old.slots.values():
        slot.children.clear()
    old._event_listeners.clear()
    old._deleted = True
    stale = heard(old, new)
    _exchange(*children)
    if stale and new.tag == "select":
        enter(new)
    # only what says something else is sent to the browser
    if pending or was != new._to_dict():
        client.outbox.enqueue_update(new)


def _forget(child: Element) -> None:
    """The browser need not know an element by the number it was drawn with."""
    client = child.client
    client.elements.pop(child.id, None)
    if client.outbox.updates.pop(child.id, None) is None:
        client.outbox.updates[child.id] = deleted
        client.outbox._set_enqueue_event()
