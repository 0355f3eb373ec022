"""Parts that stages with figures share: a native list to choose from, tabs, tables, pages of a long
table, and pips for levels.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from nicegui import ui

from sfumato.interfaces.web.pages.parts import VALUE, Words, button, element, option, text


def choice(
    label: str, options: Mapping[str, str], value: str, on_choice: Callable[[str], Any], *, key: str
) -> ui.element:
    """A native list to choose one of; its label stands before it."""
    with element("label", "choice") as label_element:
        text(label, "span", "soft", "small")
        with element("select", key=key, aria_label=label) as select:
            for name, words in options.items():
                option(words, name, selected=name == value)
    select.on("change", lambda event: on_choice(str(event.args)), js_handler=VALUE)
    return label_element


def tabs(label: str, names: Sequence[str], current: str, on_choice: Callable[[str], Any]) -> None:
    """Views of one thing, as buttons of which one is pressed."""
    with element("div", "tabs", role="group", aria_label=label):
        for name in names:
            pressed = name == current
            button(
                name, lambda _, n=name: on_choice(n), "tab", key=f"tab {name}", aria_pressed=pressed
            )


@contextlib.contextmanager
def table(
    caption: str, heads: Sequence[tuple[str, bool]], *classes: str, key: str | None = None
) -> Iterator[ui.element]:
    """A table in a box that scrolls; ``heads`` are names of columns and whether they hold numbers.
    The body is filled by the caller.
    """
    with (
        element(
            "div", "scroller", tabindex=0, role="region", aria_label=caption, key=key or caption
        ),
        element("table", "points", *classes),
    ):
        text(caption, "caption", "unseen")
        with element("thead"), element("tr"):
            for words, number in heads:
                text(words, "th", number and "num", scope="col")
        with element("tbody") as body:
            yield body


def pager(rows: str, part: tuple[int, int, int], on_page: Callable[[int], Any]) -> None:
    """Where in a long table one is (first row, rows of a page, all rows), and the way on and
    back.
    """
    first, size, total = part
    last = min(first + size, total)
    if total:
        words = f"{rows} {first + 1:,} to {last:,} of {total:,}"
    else:
        words = f"no {rows}"
    with element("div", "pager"):
        button(
            "← Before",
            lambda: on_page(max(0, first - size)),
            key=f"{rows} before",
            disabled=first <= 0,
        )
        text(words, "span", "soft", "small", role="status")
        button("Next →", lambda: on_page(first + size), key=f"{rows} next", disabled=last >= total)


def pips(level: int, top: int) -> None:
    """A level as filled squares of as many as there are."""
    with element("span", "pips", aria_hidden="true"):
        for position in range(max(top, 1)):
            element("i", position < level and "full")


def badge(words: str) -> None:
    """A few words in a frame."""
    text(words, "span", "tag")


def draw_entry(
    title: str, lines: Sequence[str], words: str, act: Callable[..., Any], **about: Any
) -> ui.element:
    """Something to take from a list: its title, what is said of it, and the button that takes it;
    ``about`` says more about the button.
    """
    with element("div"):
        text(title, "span", "strong")
        for line in lines:
            text(line, "p", "help")
    return button(words, act, **about)


@contextlib.contextmanager
def folded(words: str, *, key: str, unfolded: bool = False) -> Iterator[ui.element]:
    """Something that is seen on request."""
    with element("details", "folded") as details:
        if unfolded:
            details.props["open"] = True
        with element("summary", key=key):
            Words(words)
        yield details
