"""Adding something to a recipe: a searchable list of everything there is, then its form until it is
complete.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sfumato.core import registry
from sfumato.interfaces.web.catalogue import CatalogueEntry, catalogue, meaning_of, title_of
from sfumato.interfaces.web.forms import FormError, form_of, read_form
from sfumato.interfaces.web.pages.forms import DrawnForm
from sfumato.interfaces.web.pages.partial_redraw import redrawn
from sfumato.interfaces.web.pages.parts import button, element, text

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.promises import PromiseStage

SEARCH = """(event) => {
  const wanted = event.target.value.toLowerCase();
  const box = event.target.closest('details');
  let seen = 0;
  for (const group of box.querySelectorAll('.catalogue')) {
    let any = false;
    for (const one of group.querySelectorAll('.entry')) {
      const fits = one.textContent.toLowerCase().includes(wanted);
      one.hidden = !fits;
      any = any || fits;
      seen += fits;
    }
    group.hidden = !any;
  }
  window.sfumato.say(box.querySelector('.found'), seen + ' found');
}"""
"""What is searched for stays in the page: the list is there already."""
CLOSED = "(event) => { event.target.closest('details').open = false; }"
"""The browser opened the list, so the browser closes it: drawn anew it is empty until somebody
opens it again.
"""


class Adding:
    """The list behind *Add*, and the form of what was chosen."""

    def __init__(
        self, stage: PromiseStage, family: str, key: str, words: str, on_made: Callable[[Any], None]
    ) -> None:
        self.stage, self.family, self.key, self.words, self.on_made = (
            stage,
            family,
            f"add-{key}",
            words,
            on_made,
        )
        self.chosen: str | None = None

    def draw(self) -> None:
        """Draw the list, or the form of what was chosen."""
        self.place = element("div", "adding", data_heir=self.key)
        self._again()

    def _again(self) -> None:
        with redrawn(self.place):
            if self.chosen is None:
                self._list()
            else:
                self._form(self.chosen)

    def _list(self) -> None:
        self.stage.details(self.key, self.words, self._every, "add")

    def _every(self) -> None:
        """Everything there is, under headings, and a field that leaves of it what is searched
        for.
        """
        entries = catalogue(self.family)
        about = {"type": "search", "placeholder": "search", "aria_label": f"{self.words}: search"}
        element("input", "input", key=f"{self.key}-search", **about).on("input", js_handler=SEARCH)
        text(f"{len(entries)} found", "span", "found", "soft", "small", role="status")
        with element(
            "div", "every", tabindex=0, role="group", aria_label=f"{self.words}: all there is"
        ):
            for group in dict.fromkeys(entry.group for entry in entries):
                with element("div", "catalogue"):
                    text(group, "h3", "grouphead")
                    for entry in entries:
                        if entry.group == group:
                            self._entry(entry)

    def _entry(self, entry: CatalogueEntry) -> None:
        with element("div", "entry"):
            with element("div"):
                text(entry.title, "span", "strong")
                text(entry.line, "p", "help")
            label = f"Add {entry.title}"
            made = button(
                "Add", lambda: self.choose(entry.name), key=f"{self.key}-{entry.name}", label=label
            )
            made.on("click", js_handler=CLOSED)

    def choose(self, name: str | None) -> None:
        """Add what needs nothing more, and ask for the rest of what does."""
        if name is not None and self.stage.page.workbench.project.has_recipe:
            self.stage.open.discard(self.key)
            cls = registry.family(self.family)[name]
            try:
                made = read_form(cls, self._start(cls))
            except FormError:
                self.chosen = name
            else:
                self.on_made(made)
                return
        else:
            self.chosen = name
        self._again()

    def _start(self, cls: Any) -> dict[str, Any]:
        """What stands in the fields at first: examples of the declaration, and a column where there
        is only one of the role.
        """
        start = {}
        for field in form_of(cls, self.stage.recipe.schema):
            first = (
                [choice for choice in field.choices if choice.group == field.choices[0].group]
                if field.choices
                else []
            )
            if field.required and field.example is not None:
                start[field.name] = field.example
            elif field.required and field.kind in ("column", "columns") and len(first) == 1:
                start[field.name] = first[0].value
        return start

    def _form(self, name: str) -> None:
        cls = registry.family(self.family)[name]
        with element("div", "card", "draft"):
            text(f"{self.words}: {title_of(name)}", "h3")
            text(meaning_of(cls), "p")
            form = DrawnForm(
                cls,
                self.stage.recipe.schema,
                f"{self.key}-draft",
                self._finished,
                at_once=False,
                start=self._start(cls),
            )
            form.draw()
            with element("div", "buttons"):
                button(self.words, form.submit, "strongly", key=f"{self.key}-submit")
                button("Cancel", lambda: self.choose(None), "quiet", key=f"{self.key}-cancel")

    def _finished(self, made: Any, field: Any) -> None:
        self.chosen = None
        self.on_made(made)
