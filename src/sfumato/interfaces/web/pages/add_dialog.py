"""Adding something to a recipe: a searchable list of everything there is, then its form until it is
complete.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from sfumato.core import registry
from sfumato.interfaces.web.catalogue import CatalogueEntry, catalogue, meaning_of, title_of
from sfumato.interfaces.web.forms import FormError, read_form, starting_values
from sfumato.interfaces.web.pages.forms import DrawnForm, FormOptions
from sfumato.interfaces.web.pages.partial_redraw import redrawn
from sfumato.interfaces.web.pages.parts import button, element, text
from sfumato.interfaces.web.pages.tables import draw_entry

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.promises import PromiseStage

# What is searched for stays in the page: the list is there already.
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
# The browser opened the list, so the browser closes it: drawn anew it is empty until somebody opens
# it again.
CLOSED = "(event) => { event.target.closest('details').open = false; }"


class Adding:
    """The list behind *Add*, and the form of what was chosen."""

    def __init__(self, stage: PromiseStage, family: str, section: str, words: str) -> None:
        self.stage, self.family, self.section, self.words = stage, family, section, words
        self.key = f"add-{section}"
        # The method that was chosen, while its form is filled in.
        self.name: str | None = None

    def draw(self) -> None:
        """Draw the list, or the form of what was chosen."""
        self.part = element("div", "adding", data_heir=self.key)
        self._redraw()

    def _redraw(self) -> None:
        with redrawn(self.part):
            if self.name is None:
                self._list()
            else:
                self._form(self.name)

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
        about = {"key": f"{self.key}-{entry.name}", "label": f"Add {entry.title}"}
        with element("div", "entry"):
            add = draw_entry(
                entry.title, [entry.line], "Add", lambda: self.choose(entry.name), **about
            )
            add.on("click", js_handler=CLOSED)

    def choose(self, name: str | None) -> None:
        """Add what needs nothing more, and ask for the rest of what does."""
        self.name = name
        if name is not None and self.stage.project.has_recipe:
            self.stage.open.discard(self.key)
            cls = registry.family(self.family)[name]
            with contextlib.suppress(FormError):
                start = starting_values(cls, self.stage.recipe.schema)
                self._finished(read_form(cls, start), None)
                return
        self._redraw()

    def _form(self, name: str) -> None:
        cls = registry.family(self.family)[name]
        with element("div", "card", "draft"):
            text(f"{self.words}: {title_of(name)}", "h3")
            text(meaning_of(cls), "p")
            schema = self.stage.recipe.schema
            options = FormOptions(at_once=False, values=starting_values(cls, schema))
            form = DrawnForm(cls, schema, f"{self.key}-draft", self._finished, options)
            form.draw()
            with element("div", "buttons"):
                button(self.words, form.submit, "strongly", key=f"{self.key}-submit")
                button("Cancel", lambda: self.choose(None), "quiet", key=f"{self.key}-cancel")

    def _finished(self, member: Any, _: Any) -> None:
        self.name = None
        self.stage.add(self.section, member)
