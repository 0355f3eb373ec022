"""Drawing forms: help stands under its field, what is wrong stands at its field, and the last valid
value stays in the recipe.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import Any

from nicegui import ui

from sfumato.interfaces.web.forms import FormError, FormField, form_of, read_form, shown
from sfumato.interfaces.web.pages.partial_redraw import redrawn
from sfumato.interfaces.web.pages.parts import (
    AS_TYPED,
    AS_TYPED_IN_AREA,
    Words,
    button,
    element,
    text,
)

VALUE = "(event) => emit(event.target.value)"
TOGGLED = "(event) => emit(event.target.open)"
CHECKED = "(event) => emit(event.target.checked)"
ADDED = """(event) => {
  const list = event.target;
  if (event.type === 'change') {
    if (!list.dataset.keyed) emit(list.value);
    return;
  }
  const waits = event.type === 'keydown' && event.key !== 'Enter';
  if (waits) list.dataset.keyed = '1';
  else delete list.dataset.keyed;
  if (event.key === 'Enter' && list.value) {
    event.preventDefault();
    emit(list.value);
  }
}"""
FOLLOW = """(event) => {
  const box = event.target.closest('.slider');
  const number = box && box.querySelector('input[type=number]');
  if (number) number.value = event.target.value;
  const under = box && box.dataset.under ? JSON.parse(box.dataset.under) : null;
  const told = document.getElementById(event.target.dataset.tells);
  if (!under || !told) return;
  const wanted = Number(event.target.value);
  const records = under[Math.min(wanted, under.length - 1)];
  const spoken = records.toLocaleString('en-US');
  window.sfumato.say(told, spoken + (records === 1 ? ' record stands' : ' records stand') + ' in a class smaller than ' + wanted + '.');
}"""
"""A number follows its slider without a word to the server; so does the count that hangs on it."""


class DrawnForm:
    """A form on a page. ``on_made`` gets the object whenever what stands in the fields makes one,
    and the field that was changed.

    With ``at_once`` every change is tried; without, only :meth:`submit` does so: a form of
    something that is not there yet.
    """

    def __init__(
        self,
        thing: Any,
        schema: Any,
        key: str,
        on_made: Callable[[Any, FormField | None], Any],
        *,
        at_once: bool = True,
        crowd: str | None = None,
        start: Mapping[str, Any] | None = None,
        opened: set[str] | None = None,
        without: Collection[str] = (),
    ) -> None:
        self.cls = thing if isinstance(thing, type) else type(thing)
        self.fields = {
            field.name: field for field in form_of(thing, schema) if field.name not in without
        }
        self.key, self.on_made, self.at_once = key, on_made, at_once
        self.values: dict[str, Any] = {name: field.value for name, field in self.fields.items()}
        self.values |= dict(start or {})
        self.opened: set[str] = set() if opened is None else opened
        """Keys of parts that are open; whoever draws the form again hands them in again."""
        self.crowd = crowd
        """The field whose slider tells how many records stand in smaller classes."""
        self._slider: ui.element | None = None
        self._problems: dict[str, Words] = {}
        self._whole: Words | None = None

    def draw(self) -> None:
        """Draw all fields; those that need not be filled in stand apart, below."""
        with element("div", "fields"):
            first = [field for field in self.fields.values() if field.required] or list(
                self.fields.values()
            )[:1]
            rest = [field for field in self.fields.values() if field not in first]
            for field in first:
                self._draw(field)
            if rest:
                self._draw_rest(rest)
            self._whole = _problem(None)

    def _draw_rest(self, rest: list[FormField]) -> None:
        touched = [field for field in rest if self.values[field.name] != field.default]
        if len(rest) <= 3 or len(touched) == len(rest):
            for field in rest:
                self._draw(field)
            return
        for field in touched:
            self._draw(field)
        key = f"{self.key}-more"
        more = element("details", "more")
        if key in self.opened:
            more.props["open"] = True
        with more:
            text(f"{len(rest) - len(touched)} more settings", "summary", key=f"{key}-open")
            with element("div", "fields"):
                for field in rest:
                    if field not in touched:
                        self._draw(field)
        turned = {True: self.opened.add, False: self.opened.discard}
        more.on("toggle", lambda event: turned[bool(event.args)](key), js_handler=TOGGLED)

    def submit(self) -> bool:
        """Make the object of what was entered; False: something is wrong, and said at its field."""
        made = self._read()
        if made is not None:
            self.on_made(made, None)
        return made is not None

    def _draw(self, field: FormField) -> None:
        name = f"{self.key}-{field.name}"
        with element("div", "formfield", f"kind-{field.kind}"):
            if field.kind not in ("switch", "segments", "many", "columns", "mapping"):
                text(field.label, "label", "label", **{"for": name})
            DRAWN[field.kind](self, field, name)
            if field.help:
                text(field.help, "p", "help", id=f"{name}-help")
            self._problems[field.name] = _problem(f"{name}-problem")

    def has_slider(self, box: ui.element) -> None:
        """The slider of the class size stands in this box."""
        self._slider = box

    def counts(self, under: list[int]) -> None:
        """Give the slider what it tells: records in classes smaller than 0, 1, 2 …"""
        if self._slider is not None:
            self._slider.props["data-under"] = f"[{','.join(map(str, under))}]"
            self._slider.update()

    def changed(self, field: FormField, value: Any) -> Any:
        """Something else stands in a field; gives what ``on_made`` gives, which may be something to
        wait for.
        """
        self.values[field.name] = value
        made = self._read() if self.at_once else None
        return None if made is None else self.on_made(made, field)

    def _read(self) -> Any:
        """What stands in the fields; None: something is wrong, and said at its field."""
        try:
            made = read_form(self.cls, self.values)
        except FormError as error:
            self._tell(error.problems)
            return None
        self._tell({})
        return made

    def _tell(self, problems: Mapping[str, str]) -> None:
        for name, place in self._problems.items():
            place.say(_sentence(problems.get(name, "")))
        if self._whole is not None:
            self._whole.say(_sentence(problems.get("", "")))


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}." if words else ""


def _problem(place: str | None) -> Words:
    with element("p", "problem", role="alert", **({} if place is None else {"id": place})):
        return Words("")


def _described(name: str) -> dict[str, str]:
    return {"aria_describedby": f"{name}-help {name}-problem"}


def _input(form: DrawnForm, field: FormField, name: str, **attributes: Any) -> ui.element:
    """A field of text, a number or a date; what stands in it counts when it is left, or on
    Enter.
    """
    value = _text(field, form.values[field.name])
    made = element(
        "input", "input", key=name, id=name, **{AS_TYPED: value}, **_described(name), **attributes
    )
    made.on("change", lambda event: form.changed(field, event.args), js_handler=VALUE)
    return made


def _text(field: FormField, value: Any) -> str:
    return value if isinstance(value, str) else shown(field, value)


def _number(form: DrawnForm, field: FormField, name: str) -> None:
    percent = 100 if field.kind == "share" else 1
    of_crowd = form.crowd == field.name
    value = form.values[field.name]
    ends = field.slider if not of_crowd else (float(field.low or 1), float(most_shown(value)), 1.0)
    with element("div", "slider") as box:
        if of_crowd:
            form.has_slider(box)
        if ends is not None and value is not None:
            _range(form, field, name, [round(end * percent, 6) for end in ends])
        limits = {"min": field.low, "max": field.high}
        bounds = {end: at * percent for end, at in limits.items() if at is not None}
        _input(form, field, name, type="number", step=1 if field.whole else "any", **bounds)
        if percent == 100:
            text("%", "span", "soft")


def _range(form: DrawnForm, field: FormField, name: str, ends: list[float]) -> None:
    low, high, step = ends
    text(_end(low), "span", "soft", "small")
    limits = {
        "min": low,
        "max": high,
        "step": step,
        AS_TYPED: _text(field, form.values[field.name]),
    }
    about = {
        "aria_label": f"{field.label}, slider",
        "data-tells": f"{form.key}-under",
        **_described(name),
    }
    made = element("input", "range", key=f"{name}-slider", type="range", **limits, **about)
    made.on("input", js_handler=FOLLOW)
    made.on("change", lambda event: form.changed(field, event.args), js_handler=VALUE)
    text(_end(high), "span", "soft", "small")


def most_shown(value: Any) -> int:
    """Where the slider of a class size ends.

    >>> most_shown(5), most_shown(60)
    (50, 120)
    """
    return max(50, 2 * value) if isinstance(value, int) else 50


def _end(number: float) -> str:
    return f"{number:,.10g}"


def _switch(form: DrawnForm, field: FormField, name: str) -> None:
    with element("label", "switch"):
        on = {"checked": True} if form.values[field.name] else {}
        made = element("input", key=name, id=name, type="checkbox", **on, **_described(name))
        made.on("change", lambda event: form.changed(field, bool(event.args)), js_handler=CHECKED)
        text(field.label, "span", "label")


def _segments(form: DrawnForm, field: FormField, name: str) -> None:
    choices = [
        *([("", "not said")] if field.optional else []),
        *((one.value, one.words) for one in field.choices),
    ]
    with element("fieldset", "choices", data_waits="", **_described(name)):
        text(field.label, "legend", "label")
        for value, words in choices:
            with element("label", "choice"):
                chosen = {"checked": True} if value == (form.values[field.name] or "") else {}
                about = {"type": "radio", "name": name, "value": value, **chosen}
                made = element("input", key=f"{name}-{value}", **about)
                made.on("change", lambda event: form.changed(field, event.args), js_handler=VALUE)
                text(words)


def _select(form: DrawnForm, field: FormField, name: str) -> None:
    value = form.values[field.name]
    with element("select", "input", key=name, id=name, **_described(name)) as made:
        if field.required or field.optional:
            option("choose …" if field.required else "not said", "", chosen=value in (None, ""))
        options(field, value)
    made.on("change", lambda event: form.changed(field, event.args), js_handler=VALUE)


def options(field: FormField, value: Any) -> None:
    """The choices of a field as options, under the headings they have."""
    groups = list(dict.fromkeys(choice.group for choice in field.choices))
    for group in groups:
        mine = [choice for choice in field.choices if choice.group == group]
        if not group:
            for choice in mine:
                option(choice.words, choice.value, chosen=choice.value == value)
            continue
        with element("optgroup", label=group):
            for choice in mine:
                option(choice.words, choice.value, chosen=choice.value == value)
    if value and isinstance(value, str) and value not in {choice.value for choice in field.choices}:
        option(f"{value} (not in the table)", value, chosen=True)


def option(words: str, value: str, *, chosen: bool = False) -> None:
    """Something to choose from a list."""
    made = element("option", value=value)
    if chosen:
        made.props["^selected"] = ""
    made._text = words  # an option holds text and no other element


def _columns(form: DrawnForm, field: FormField, name: str) -> None:
    """Columns that are chosen, in their order, each with a button that takes it out; and a list to
    choose another from.
    """
    held = form.values[field.name]
    chosen = [held] if isinstance(held, str) else list(held or ())

    def become(now: list[str]) -> Any:
        answer = form.changed(field, now or (None if field.optional else []))
        if not form.at_once:
            with redrawn(part):
                inside(now)
        return answer

    def inside(now: list[str]) -> None:
        text(field.label, "legend", "label")
        with element("div", "chips"):
            for column in now:
                with element("span", "chip"):
                    text(column)
                    rest = [one for one in now if one != column]
                    label = f"Take {column} out of {field.label}"
                    button(
                        "×",
                        lambda rest=rest: become(rest),
                        "quiet",
                        key=f"{name}-out-{column}",
                        label=label,
                    )
            left = [choice for choice in field.choices if choice.value not in now]
            if left:
                _add_column(field, name, left, lambda added: become([*now, added]))
            elif not field.choices:
                about = {
                    "placeholder": "a column, then Enter",
                    "aria_label": f"Add a column to {field.label}",
                }
                typed = element("input", "input", key=f"{name}-add", data_is=len(now), **about)
                typed.on("change", lambda event: become([*now, event.args]), js_handler=VALUE)

    with element("fieldset", "columns", **_described(name)) as part:
        inside(chosen)


def _add_column(
    field: FormField, name: str, left: list[Any], on_added: Callable[[str], Any]
) -> None:
    with element(
        "select", "input", key=f"{name}-add", aria_label=f"Add a column to {field.label}"
    ) as made:
        option("add a column …", "", chosen=True)
        options(dataclasses.replace(field, choices=tuple(left)), None)
    adds(made, on_added)


def adds(select: ui.element, on_added: Callable[[str], Any]) -> None:
    """Let a list add what is chosen from it: by mouse at once; by keys on Enter, so that they can
    go through the list first.
    """
    for event in ("change", "keydown", "mousedown"):
        select.on(
            event, lambda event: on_added(event.args) if event.args else None, js_handler=ADDED
        )


def _many(form: DrawnForm, field: FormField, name: str) -> None:
    held = list(form.values[field.name] or ())
    words = [choice.value for choice in field.choices]

    def toggled(word: str, on: bool) -> Any:
        now = [
            one
            for one in words
            if (one in (form.values[field.name] or ()) and one != word) or (one == word and on)
        ]
        return form.changed(field, now or None)

    with element("fieldset", "columns", **_described(name)):
        text(field.label, "legend", "label")
        for choice in field.choices:
            with element("label", "switch"):
                on = {"checked": True} if choice.value in held else {}
                made = element("input", key=f"{name}-{choice.value}", type="checkbox", **on)
                made.on(
                    "change",
                    lambda event, word=choice.value: toggled(word, bool(event.args)),
                    js_handler=CHECKED,
                )
                text(choice.words)


def _mapping(form: DrawnForm, field: FormField, name: str) -> None:
    """A table of two columns; a row whose key is emptied is gone, and there is always one more to
    fill in.
    """
    held = form.values[field.name]
    rows = [list(row) for row in (held if isinstance(held, list) else _rows(field, held))] + [
        ["", ""]
    ]

    def typed(place: int, part: int, value: str) -> Any:
        rows[place][part] = value
        full = [row for row in rows if row[0].strip()]
        whole = all(row[1].strip() for row in full)  # half a row is no change yet
        return form.changed(field, full) if whole else None

    with element("fieldset", "mapping", **_described(name)):
        text(field.label, "legend", "label")
        for place, row in enumerate(rows):
            with element("div", "maprow"):
                _map_key(field, name, place, row[0], typed)
                about = {
                    AS_TYPED: row[1],
                    "placeholder": "value",
                    "aria_label": f"{field.label}: value {place + 1}",
                }
                cell = element("input", "input", key=f"{name}-value-{place}", **about)
                cell.on(
                    "change",
                    lambda event, place=place: typed(place, 1, event.args),
                    js_handler=VALUE,
                )


def _rows(field: FormField, held: Any) -> list[tuple[str, str]]:
    return list(dataclasses.replace(field, value=held).rows)


def _map_key(
    field: FormField, name: str, place: int, key: str, typed: Callable[[int, int, str], Any]
) -> None:
    label = f"{field.label}: name {place + 1}"
    if field.choices:
        with element("select", "input", key=f"{name}-key-{place}", aria_label=label) as made:
            option("–", "", chosen=not key)
            options(field, key)
    else:
        about = {AS_TYPED: key, "placeholder": "name", "aria_label": label}
        made = element("input", "input", key=f"{name}-key-{place}", **about)
    made.on("change", lambda event: typed(place, 0, event.args), js_handler=VALUE)


def _area(form: DrawnForm, field: FormField, name: str) -> None:
    value = _text(field, form.values[field.name])
    lines = max(2, min(12, value.count("\n") + 1))
    about = {"rows": lines, "spellcheck": "false", AS_TYPED_IN_AREA: value, **_described(name)}
    made = element("textarea", "input", "mono", key=name, id=name, **about)
    made.on("change", lambda event: form.changed(field, event.args), js_handler=VALUE)


def _line(form: DrawnForm, field: FormField, name: str) -> None:
    _input(form, field, name, type="date" if field.kind == "date" else "text", spellcheck="false")


DRAWN: dict[str, Callable[[DrawnForm, FormField, str], None]] = {
    "switch": _switch,
    "segments": _segments,
    "select": _select,
    "many": _many,
    "number": _number,
    "share": _number,
    "column": _select,
    "columns": _columns,
    "mapping": _mapping,
    "numbers": _line,
    "texts": _area,
    "text": _line,
    "path": _line,
    "date": _line,
    "yaml": _area,
}
"""How each kind of field is drawn."""
