"""Small parts that all pages are put together from. Text that comes from data goes in as text,
never as markup or a property string.
"""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from nicegui import ui
from nicegui.element import Element

# What stands in a field at first. As the property ``value`` it would be set again with everything
# that changes on the page, over what is being typed.
AS_TYPED, AS_TYPED_IN_AREA = "^value", ".defaultValue"
VALUE = "(event) => emit(event.target.value)"
# What a field tells of itself.
CHECKED = "(event) => emit(event.target.checked)"
# The same of boxes and options: as attributes they say what was drawn, and a script of the page
# takes that over where nobody is at work.
AT_FIRST = ("checked", "selected")
FIELDS, UNSETTLED = ("input", "select", "textarea"), ("file", "search")
ECHO = "(event) => emit(window.sfumato.entered(event.target), window.sfumato.number(event.target))"
# Every drawing of a field has a number, so that the page sees that it was drawn anew although it
# stayed where it is. What somebody enters has one too: the drawing says which it heard of last
# (``data-heard``), and the page shows none that has not heard of the last.
DRAWINGS = itertools.count(1)


def element(
    tag: str, *classes: str | bool, key: str | None = None, **attributes: Any
) -> ui.element:
    """An HTML element; attributes are set one by one (``aria_label`` is ``aria-label``), so no
    value can become another attribute.

    A class that is False is left out: ``element("td", changed and "changed")``. Attributes of ARIA
    that are switches are written as the words true and false. ``key`` names it across redraws: the
    focus goes back to the element of the same key.
    What fields hold at first is their ``defaultValue``: a ``value`` would be put back over what is
    being typed with every change of the page. A field is drawn at once as what was entered in it,
    also where nothing else on the page changes by it, unless it keeps a draft (``data_draft``).
    """
    widget = ui.element(tag).classes(" ".join(str(name) for name in classes if name))
    for name, value in attributes.items():
        attribute = name.rstrip("_").replace("_", "-")
        switch = attribute.startswith("aria-") and isinstance(value, bool)
        widget.props[attribute] = str(value).lower() if switch else value
    for name in AT_FIRST:
        if name in widget.props and widget.props.pop(name):
            widget.props[f"^{name}"] = ""
    if key is not None:
        widget.props["data-key"] = key
    if tag in FIELDS and attributes.get("type") not in UNSETTLED:
        widget.props["data-drawn"] = next(DRAWINGS)
        widget.on("change", lambda event: _echo(widget, *event.args), js_handler=ECHO)
    return widget


def _echo(field: Element, entered: str | bool | None, number: int) -> None:
    """Draw a field as what was entered in it, so that a drawing which was on its way before is not
    the last one it sees.

    A draft is drawn by who keeps it, and what is too long was not told: of these it is only known
    that something was entered.
    """
    if field.is_deleted:
        return
    # of radio buttons, one that is chosen takes the choice from the others
    group = [field]
    if field.props.get("type") == "radio":
        group = [
            member
            for member in field.client.elements.values()
            if member.props.get("name") == field.props.get("name")
        ]
    at = next(DRAWINGS)
    for member in group:
        HEARD[member] = (at, (member is field) if entered is True else entered)
        member.props["data-heard"] = number
        if entered is not None and "data-draft" not in member.props:
            member.props["data-drawn"] = at
            enter(member)
        member.update()


# What was entered in fields, and when, as a number among those of the drawings.
HEARD: weakref.WeakKeyDictionary[Element, tuple[int, str | bool | None]] = (
    weakref.WeakKeyDictionary()
)


def enter(field: Element) -> None:
    """Draw a field as what was entered in it."""
    entered = HEARD[field][1]
    if isinstance(entered, bool):
        _mark(field, "^checked", entered)
    elif field.tag == "select":
        for choice in field.descendants():
            if choice.tag == "option":
                _mark(choice, "^selected", choice.props.get("value") == entered)
                choice.update()
    else:
        field.props[AS_TYPED_IN_AREA if field.tag == "textarea" else AS_TYPED] = entered


def heard(before: Element, now: Element) -> bool:
    """Let a field that takes the place of another one know what was heard by that; True: it was
    drawn before that was entered, and is told so.
    """
    if before not in HEARD:
        return False
    HEARD[now] = HEARD[before]
    now.props["data-heard"] = before.props["data-heard"]
    # drawn after that was heard: it shows it already
    if now.props["data-drawn"] > HEARD[now][0]:
        return False
    for name in (AS_TYPED, AS_TYPED_IN_AREA, "^checked", "data-drawn"):
        now.props.pop(name, None)
        if name in before.props:
            now.props[name] = before.props[name]
    return True


def _mark(widget: Element, name: str, holds: bool) -> None:
    if holds:
        widget.props[name] = ""
    else:
        widget.props.pop(name, None)


def text(words: str, tag: str = "span", *classes: str | bool, **attributes: Any) -> ui.element:
    """Words in an element, shown as they are."""
    widget = element(tag, *classes, **attributes)
    if tag == "option":  # holds text and no other element: one in it leaves it without a name
        widget._text = words
        return widget
    with widget:
        Words(words)
    return widget


def option(words: str, value: str, *, selected: bool = False) -> None:
    """Something to choose from a list."""
    text(words, "option", value=value, selected=selected)


class Words(Element):
    """A piece of text that is nothing but text."""

    def __init__(self, words: str) -> None:
        super().__init__("span")
        self._text = words

    def say(self, words: str) -> None:
        """Say something else in place."""
        self._text = words
        self.update()


def button(
    words: str,
    on_click: Callable[..., Any],
    *classes: str,
    key: str | None = None,
    label: str | None = None,
    **attributes: Any,
) -> ui.element:
    """A native button; ``label`` is what a screen reader says where the words alone do not tell."""
    if label is not None:
        attributes["aria_label"] = label
    widget = text(
        words, "button", "button", *classes, key=key or words, type="button", **attributes
    )
    widget.on("click", on_click)
    return widget


def hint(words: str) -> None:
    """A small grey sentence."""
    text(words, "p", "soft", "small")


@contextlib.contextmanager
def section(title: str, *classes: str, level: int = 2) -> Iterator[ui.element]:
    """A part of a page with a heading."""
    with element("section", *classes) as widget:
        text(title, f"h{level}")
        yield widget


@contextlib.contextmanager
def until_drawn() -> Iterator[None]:
    """Say that something is on its way for as long as the block waits for it."""
    waiting = text("One moment …", "p", "soft", role="status")
    try:
        yield
    finally:
        if not waiting.is_deleted:
            waiting.delete()
