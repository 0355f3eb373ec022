"""Drawing forms: help stands under its field, what is wrong stands at its field, and the last valid
value stays in the recipe.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Collection, Mapping
from typing import Any

from nicegui import ui

from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.forms import (
    FormChoice,
    FormError,
    FormField,
    form_of,
    read_form,
    text_of_value,
)
from sfumato.interfaces.web.pages.partial_redraw import redrawn
from sfumato.interfaces.web.pages.parts import (
    AS_TYPED,
    AS_TYPED_IN_AREA,
    CHECKED,
    VALUE,
    Words,
    button,
    element,
    option,
    text,
)

LONG_VALUE = "(event) => emit(window.sfumato.sent(event.target.value))"
TOO_LONG = "The text is longer than a page can send. Save it as a file, then give its path."
TOGGLED = "(event) => emit(event.target.open)"
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
# A number follows its slider without a word to the server; so does the count that hangs on it.
FOLLOW = """(event) => {
  const box = event.target.closest('.slider');
  const number = box && box.querySelector('input[type=number]');
  if (number) number.value = event.target.value;
  const under = box && box.dataset.under ? JSON.parse(box.dataset.under) : null;
  const told = document.getElementById(event.target.dataset.tells);
  if (!under || !told) return;
  const size = Number(event.target.value);
  const records = under[Math.min(size, under.length - 1)];
  const spoken = records.toLocaleString('en-US');
  const belong = records === 1 ? ' record belongs' : ' records belong';
  window.sfumato.say(told, spoken + belong + ' to a class smaller than ' + size + '.');
}"""
# What a slider of multiples stands at is said while it moves; the server says the rest.
STEP_OF_SLIDER = """(event) => {
  const bar = event.target;
  const words = bar.dataset.sizes ? bar.dataset.sizes.split('|')[bar.value] : '× ' + bar.value;
  bar.setAttribute('aria-valuetext', words);
  window.sfumato.say(bar.parentElement.querySelector('output'), words);
}"""
# What a slider offers for the first of several multiples; other numbers can be typed.
ROUND_SIZES = (0.01, 0.1, 0.5, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 50, 100, 500, 1000)
LARGEST_FACTOR = 20


@dataclasses.dataclass(frozen=True)
class FormOptions:
    """What only some forms need.

    With ``at_once`` every change is tried; without, only :meth:`DrawnForm.submit` does so: a form
    of something that is not there yet. ``values`` is what stands in fields, and ``opened`` the keys
    of parts that are open: whoever draws the form again hands them in again. Fields of ``without``
    are not drawn; with ``folded`` those that need not be filled in are behind a click. ``choices``
    are what can be chosen in a field here, with its words, and ``suggestions`` what can be typed.
    ``class_size_field`` is the field whose slider tells how many records belong to smaller classes.
    ``on_preview`` gets the object while a slider moves. ``say`` gets what must outlive the form: a
    change by another tab draws it anew, without what stands at its fields.
    """

    at_once: bool = True
    values: Fields = dataclasses.field(default_factory=dict)
    opened: set[str] = dataclasses.field(default_factory=set)
    without: Collection[str] = ()
    folded: bool = True
    choices: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    suggestions: Mapping[str, Collection[str]] = dataclasses.field(default_factory=dict)
    class_size_field: str | None = None
    on_preview: Callable[[Any], Any] | None = None
    say: Callable[[str], None] | None = None


class DrawnForm:
    """A form on a page. ``on_made`` gets the object whenever what stands in the fields makes one,
    and the field that was changed.
    """

    def __init__(
        self,
        subject: Any,
        schema: Any,
        key: str,
        on_made: Callable[[Any, FormField | None], Any],
        options: FormOptions | None = None,
    ) -> None:
        self.options = options or FormOptions()
        self.cls = subject if isinstance(subject, type) else type(subject)
        self.fields: dict[str, FormField] = {}
        self.values = self.options.values
        for field in form_of(subject, schema):
            if field.name not in self.options.without:
                self.fields[field.name] = field
                # what was entered before the form was drawn anew goes before the declared value
                self.values.setdefault(field.name, field.value)
        for name, offered in self.options.choices.items():
            choices = tuple(FormChoice(value, words) for value, words in offered.items())
            field = dataclasses.replace(self.fields[name], kind="select", choices=choices)
            self.fields[name] = field
        self.key, self.on_made = key, on_made
        self._counted_slider: ui.element | None = None
        self._problems: dict[str, Words] = {}

    def draw(self) -> None:
        """Draw all fields; of many that need not be filled in, those that were not stand apart."""
        fields = list(self.fields.values())
        # a form always shows something: at least its first field
        required = [field for field in fields if field.required] or fields[:1]
        optional = [field for field in fields if field not in required]
        unset = [field for field in optional if self.values[field.name] == field.default]
        if len(optional) <= 3 or not self.options.folded:
            unset = []
        with element("div", "fields"):
            for field in [*required, *optional]:
                if field not in unset:
                    self._draw(field)
            if unset:
                self._draw_unset(unset)
            self._problems[""] = _problem({})

    def _draw_unset(self, fields: list[FormField]) -> None:
        key, opened = f"{self.key}-more", self.options.opened
        with element("details", "more") as details:
            text(f"{len(fields)} more settings", "summary", key=f"{key}-open")
            with element("div", "fields"):
                for field in fields:
                    self._draw(field)
        if key in opened:
            details.props["open"] = True
        remember = {True: opened.add, False: opened.discard}
        details.on("toggle", lambda event: remember[bool(event.args)](key), js_handler=TOGGLED)

    def submit(self) -> Any:
        """Make the object of what was entered, and give what ``on_made`` gives; what is wrong is
        said at its field.
        """
        entered = self.read()
        if entered is None:
            return None
        return self.on_made(entered, None)

    def _draw(self, field: FormField) -> None:
        name = f"{self.key}-{field.name}"
        with element("div", "formfield", f"kind-{field.kind}"):
            if field.kind not in ("switch", "segments", "many", "columns", "mapping"):
                text(field.label, "label", "label", **{"for": name})
            WIDGETS[field.kind](self, field, name)
            if len(field.examples) > 1:
                self._draw_presets(field)
            if field.help:
                text(field.help, "p", "help", id=f"{name}-help")
            self._problems[field.name] = _problem({"id": f"{name}-problem"})

    def _draw_presets(self, field: FormField) -> None:
        with element("div", "tools"):
            text("Presets", "span", "soft", "small")
            for example in field.examples:
                words = " ".join(map(str, example))
                button(
                    words,
                    lambda example=example: self.changed(field, list(example)),
                    key=f"preset {words}",
                    label=f"preset {words}",
                )

    def count_under(self, under: list[int]) -> None:
        """Give the slider what it tells: records in classes smaller than 0, 1, 2 …"""
        if self._counted_slider is not None:
            self._counted_slider.props["data-under"] = f"[{','.join(map(str, under))}]"
            self._counted_slider.update()

    def counted_slider(self, box: ui.element) -> None:
        """The slider that tells about classes is in this box."""
        self._counted_slider = box

    def changed(self, field: FormField, value: Any, *, preview: bool = False) -> Any:
        """Something else stands in a field; gives what ``on_made`` gives, which may be something to
        wait for.
        """
        self.values[field.name] = value
        if not self.options.at_once:
            return None
        entered = self.read()
        if entered is None:
            return None
        if not preview:
            return self.on_made(entered, field)
        if self.options.on_preview is None:
            return None
        return self.options.on_preview(entered)

    def listens(self, field: FormField, widget: ui.element) -> None:
        """Let a widget tell the form what is entered in it."""
        widget.on("change", lambda event: self.changed(field, event.args), js_handler=VALUE)

    def enter_long(self, field: FormField, value: str | None) -> Any:
        """Take a text of several lines; None: it is longer than a page can send."""
        if value is None:
            say = self.options.say or self._problems[field.name].say
            say(TOO_LONG)
            return None
        return self.changed(field, value)

    def read(self) -> Any:
        """What stands in the fields; None: something is wrong, and said at its field."""
        problems: Mapping[str, str] = {}
        entered = None
        try:
            entered = read_form(self.cls, self.values)
        except FormError as error:
            problems = error.problems
        for name, message in self._problems.items():
            words = problems.get(name, "")
            message.say(f"{words[:1].upper()}{words[1:]}." if words else "")
        return entered


def _problem(attributes: Mapping[str, str]) -> Words:
    with element("p", "problem", role="alert", **attributes):
        return Words("")


def _describe_by(name: str) -> dict[str, str]:
    return {"aria_describedby": f"{name}-help {name}-problem"}


def _input(form: DrawnForm, field: FormField, name: str, **attributes: Any) -> None:
    """A field of text, a number or a date; what stands in it counts when it is left, or on
    Enter.
    """
    value = _text(field, form.values[field.name])
    about = {AS_TYPED: value, **_describe_by(name), **attributes}
    names = form.options.suggestions.get(field.name, ())
    if names:
        about["list"] = f"{name}-names"
        with element("datalist", id=f"{name}-names"):
            for suggestion in names:
                element("option", value=suggestion)
    widget = element("input", "input", key=name, id=name, **about)
    form.listens(field, widget)


def _text(field: FormField, value: Any) -> str:
    if isinstance(value, str):
        return value
    return text_of_value(field, value)


def _number(form: DrawnForm, field: FormField, name: str) -> None:
    percent = 100 if field.kind == "share" else 1
    value = form.values[field.name]
    ends = field.slider
    with element("div", "slider") as box:
        if form.options.class_size_field == field.name:
            form.counted_slider(box)
            # a class size has no upper limit, so the slider ends at twice the value
            ends = (float(field.low or 1), float(largest_shown(value)), 1.0)
        if ends is not None and value is not None:
            _range(form, field, name, [round(end * percent, 6) for end in ends])
        bounds = {"min": field.low, "max": field.high}
        limits = {end: at * percent for end, at in bounds.items() if at is not None}
        _input(form, field, name, type="number", step=1 if field.whole else "any", **limits)
        if percent == 100:
            text("%", "span", "soft")


def _range(form: DrawnForm, field: FormField, name: str, ends: list[float]) -> None:
    low, high, step = ends
    about = {
        "min": low,
        "max": high,
        "step": step,
        AS_TYPED: _text(field, form.values[field.name]),
        "aria_label": f"{field.label}, slider",
        "data-tells": f"{form.key}-under",
        **_describe_by(name),
    }
    text(f"{low:,.10g}", "span", "soft", "small")
    widget = element("input", "range", key=f"{name}-slider", type="range", **about)
    widget.on("input", js_handler=FOLLOW)
    form.listens(field, widget)
    text(f"{high:,.10g}", "span", "soft", "small")


def largest_shown(value: Any) -> int:
    """Where the slider of a class size ends.

    >>> largest_shown(5), largest_shown(60)
    (50, 120)
    """
    if isinstance(value, int):
        return max(50, 2 * value)
    return 50


def _multiples(form: DrawnForm, field: FormField, name: str) -> None:
    """Numbers of which each is a multiple of the one before: typed, or by a slider for the first
    one and for every factor.
    """
    _line(form, field, name)
    sizes = [float(size) for size in form.values[field.name] or ()]
    if not sizes:
        return
    first_sizes = sorted({size for size in ROUND_SIZES if not field.whole or size > 1} | {sizes[0]})
    # widths 5, 10, 40 are 5, then twice, then four times
    factors = [round(coarse / fine) for fine, coarse in itertools.pairwise(sizes)]
    positions = [first_sizes.index(sizes[0]), *factors]

    def current() -> list[int | float]:
        numbers = [first_sizes[positions[0]]]
        for factor in positions[1:]:
            numbers.append(round(numbers[-1] * factor, 6))
        return [_whole(number) for number in numbers]

    def slide(position: int, words: str, ends: tuple[int, int], **about: str) -> None:
        def move(event: Any, *, preview: bool) -> Any:
            positions[position] = min(ends[1], max(ends[0], int(event.args)))
            return form.changed(field, current(), preview=preview)

        with element("label", "widthbar"):
            text(f"{field.label}: level {position + 1}", "span", "small", "soft")
            about |= {"type": "range", "aria-valuetext": words}
            limits = {"min": ends[0], "max": ends[1], "step": 1, AS_TYPED: positions[position]}
            bar = element("input", key=f"{name} {position + 1}", **about, **limits)
            text(words, "output", "small", aria_live="off")
        bar.on("input", js_handler=STEP_OF_SLIDER)
        bar.on("input", lambda event: move(event, preview=True), js_handler=VALUE, throttle=0.15)
        bar.on("change", lambda event: move(event, preview=False), js_handler=VALUE)

    def resize(now: list[int]) -> Any:
        positions[1:] = now
        return form.changed(field, current())

    with element("div", "sliders"):
        names = [f"{_whole(size)}" for size in first_sizes]
        offered = {"data-sizes": "|".join(names)}
        slide(0, names[positions[0]], (0, len(names) - 1), **offered)
        for position, factor in enumerate(factors, 1):
            words = f"× {factor} = {_whole(sizes[position])}"
            slide(position, words, (2, max(LARGEST_FACTOR, factor)))
        with element("div", "tools"):
            button("Add a level", lambda: resize([*factors, 2]), "quiet", key=f"{name} add")
            if factors:
                words = "Remove the coarsest"
                button(words, lambda: resize(factors[:-1]), "quiet", key=f"{name} remove")


def _whole(number: float) -> int | float:
    return int(number) if number == int(number) else number


def _switch(form: DrawnForm, field: FormField, name: str) -> None:
    with element("label", "switch"):
        about = {"checked": bool(form.values[field.name]), **_describe_by(name)}
        widget = element("input", key=name, id=name, type="checkbox", **about)
        widget.on("change", lambda event: form.changed(field, bool(event.args)), js_handler=CHECKED)
        text(field.label, "span", "label")


def _segments(form: DrawnForm, field: FormField, name: str) -> None:
    choices = [(choice.value, choice.words) for choice in field.choices]
    if field.optional:
        choices.insert(0, ("", "not said"))
    with element("fieldset", "choices", data_waits="", **_describe_by(name)):
        text(field.label, "legend", "label")
        for value, words in choices:
            with element("label", "choice"):
                on = value == (form.values[field.name] or "")
                about = {"type": "radio", "name": name, "value": value, "checked": on}
                widget = element("input", key=f"{name}-{value}", **about)
                form.listens(field, widget)
                text(words)


def _select(form: DrawnForm, field: FormField, name: str) -> None:
    value = form.values[field.name]
    with element("select", "input", key=name, id=name, **_describe_by(name)) as widget:
        if field.required or field.optional:
            option("choose …" if field.required else "not said", "", selected=value in (None, ""))
        _options(field, value)
    form.listens(field, widget)


def _options(field: FormField, value: Any) -> None:
    """The choices of a field as options, under the headings they have."""
    for group in dict.fromkeys(choice.group for choice in field.choices):
        with element("optgroup", label=group) if group else contextlib.nullcontext():
            for choice in field.choices:
                if choice.group == group:
                    option(choice.words, choice.value, selected=choice.value == value)
    if value and isinstance(value, str) and value not in {choice.value for choice in field.choices}:
        option(f"{value} (not in the table)", value, selected=True)


def _columns(form: DrawnForm, field: FormField, name: str) -> None:
    """Columns that are chosen, in their order, each with a button that takes it out; and a list to
    choose another from.
    """
    value = form.values[field.name]
    columns = [value] if isinstance(value, str) else list(value or ())

    def become(now: list[str]) -> Any:
        answer = form.changed(field, now or (None if field.optional else []))
        if not form.options.at_once:
            with redrawn(part):
                inside(now)
        return answer

    def inside(now: list[str]) -> None:
        text(field.label, "legend", "label")
        with element("div", "chips"):
            for column in now:
                without = [name for name in now if name != column]
                label = f"Take {column} out of {field.label}"
                key = f"{name}-out-{column}"
                with element("span", "chip"):
                    text(column)
                    button(
                        "×", lambda without=without: become(without), "quiet", key=key, label=label
                    )
            offered = [choice for choice in field.choices if choice.value not in now]
            label = f"Add a column to {field.label}"
            if offered:
                with element("select", "input", key=f"{name}-add", aria_label=label) as widget:
                    option("add a column …", "", selected=True)
                    _options(dataclasses.replace(field, choices=tuple(offered)), None)
                adds(widget, lambda column: become([*now, column]))
            elif not field.choices:
                about = {"placeholder": "a column, then Enter", "aria_label": label}
                typed = element("input", "input", key=f"{name}-add", data_is=len(now), **about)
                typed.on("change", lambda event: become([*now, event.args]), js_handler=VALUE)

    with element("fieldset", "columns", **_describe_by(name)) as part:
        inside(columns)


def adds(select: ui.element, on_added: Callable[[str], Any]) -> None:
    """Let a list add what is chosen from it: by mouse at once; by keys on Enter, so that they can
    go through the list first.
    """

    def take(event: Any) -> Any:
        return on_added(event.args) if event.args else None

    for kind in ("change", "keydown", "mousedown"):
        select.on(kind, take, js_handler=ADDED)


def _draw_checkboxes(form: DrawnForm, field: FormField, name: str) -> None:
    def toggle(word: str, on: bool) -> Any:
        words = set(form.values[field.name] or ()) - {word} | ({word} if on else set())
        now = [choice.value for choice in field.choices if choice.value in words]
        return form.changed(field, now or None)

    with element("fieldset", "columns", **_describe_by(name)):
        text(field.label, "legend", "label")
        for choice in field.choices:
            with element("label", "switch"):
                on = choice.value in (form.values[field.name] or ())
                key = f"{name}-{choice.value}"
                widget = element("input", key=key, type="checkbox", checked=on)
                widget.on(
                    "change",
                    lambda event, word=choice.value: toggle(word, bool(event.args)),
                    js_handler=CHECKED,
                )
                text(choice.words)


def _mapping(form: DrawnForm, field: FormField, name: str) -> None:
    """A table of two columns; a row whose key is emptied is gone, and there is always one more to
    fill in.
    """
    value = form.values[field.name]
    if not isinstance(value, list):
        value = dataclasses.replace(field, value=value).rows
    rows = [*map(list, value), ["", ""]]

    def typed(position: int, part: int, entered: str) -> Any:
        rows[position][part] = entered
        named_rows = [row for row in rows if row[0].strip()]
        if not all(row[1].strip() for row in named_rows):  # half a row is no change yet
            return None
        return form.changed(field, named_rows)

    def cell(position: int, part: int) -> None:
        caption = ("name", "value")[part]
        label = f"{field.label}: {caption} {position + 1}"
        key = f"{name}-{('key', 'value')[part]}-{position}"
        if field.choices and part == 0:
            with element("select", "input", key=key, aria_label=label) as widget:
                option("–", "", selected=not rows[position][0])
                _options(field, rows[position][0])
        else:
            about = {AS_TYPED: rows[position][part], "placeholder": caption, "aria_label": label}
            widget = element("input", "input", key=key, **about)
        widget.on("change", lambda event: typed(position, part, event.args), js_handler=VALUE)

    with element("fieldset", "mapping", **_describe_by(name)):
        text(field.label, "legend", "label")
        for position in range(len(rows)):
            with element("div", "maprow"):
                cell(position, 0)
                cell(position, 1)


def _area(form: DrawnForm, field: FormField, name: str) -> None:
    value = _text(field, form.values[field.name])
    lines = max(2, min(12, value.count("\n") + 1))
    about = {"rows": lines, "spellcheck": "false", AS_TYPED_IN_AREA: value, **_describe_by(name)}
    widget = element("textarea", "input", "mono", key=name, id=name, **about)
    widget.on("change", lambda event: form.enter_long(field, event.args), js_handler=LONG_VALUE)


def _line(form: DrawnForm, field: FormField, name: str) -> None:
    _input(form, field, name, type="date" if field.kind == "date" else "text", spellcheck="false")


# How each kind of field is drawn.
WIDGETS: dict[str, Callable[[DrawnForm, FormField, str], None]] = {
    "switch": _switch,
    "segments": _segments,
    "select": _select,
    "many": _draw_checkboxes,
    "number": _number,
    "share": _number,
    "column": _select,
    "columns": _columns,
    "mapping": _mapping,
    "numbers": _line,
    "multiples": _multiples,
    "texts": _area,
    "text": _line,
    "area": _area,
    "path": _line,
    "date": _line,
    "yaml": _area,
}
