"""Sensitive columns that no promise is about, pointed out before the run, each with a promise that
would be, and its price.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.words import count_of
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.pages.parts import button, element, hint, section, text

if TYPE_CHECKING:
    from sfumato.interfaces.web.pages.shell import Page

# Under this, the digest of the table and the version the workbench keeps measured prices.
PRICES = "prices of"


class SensitiveColumns:
    """The part in one tab."""

    def __init__(self, page: Page) -> None:
        self.page, self.workbench = page, page.workbench

    async def draw(self) -> None:
        """The columns with the promise that each lacks; nothing where there is none."""
        if not self.workbench.ready:
            return
        offers = await self.workbench.answer("unpromised")
        if not offers:
            return
        prices = self._prices()
        title = f"{count_of(len(offers), 'sensitive column')} without a promise"
        with section(title, "card", "unpromised"):
            hint(
                "Whoever finds the class of a person may read off the value, where all in the class"
                " share it."
            )
            for offer in offers:
                self._draw_offer(offer, prices)
            if not prices:
                button("What would each cost?", self._measure, key="prices")

    def _draw_offer(self, offer: Fields, prices: dict[str, str]) -> None:
        column = offer["column"]
        with element("div", "change"):
            text(column, "p", "strong")
            if column in prices:
                hint(f"measured: {prices[column]}")
            button(
                f"Promise {offer['words']}",
                lambda: self.page.edit(offer["recipe"], f"promise {offer['words']}"),
                key=f"promise {column}",
            )

    def _prices(self) -> dict[str, str]:
        prices: dict[str, str] = self.workbench.remembered.get(self._key, {})
        return prices

    @property
    def _key(self) -> str:
        project = self.workbench.project
        return f"{PRICES} {project.data.digest} {project.version}"

    async def _measure(self) -> None:
        """Measure what each proposed promise costs."""
        key = self._key
        prices = await self.page.wait_for(
            self.workbench.do("price_of_promises", "Measuring what promises cost")
        )
        if prices is not None:
            self.workbench.remembered[key] = prices
            self.workbench.project.tell()
