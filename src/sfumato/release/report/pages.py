"""The pages of a release, and their charts, whatever the shape of its data.

A certificate that has classes is about one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sfumato.core.blocks import Block, ChartBlock, FoldBlock
from sfumato.core.fields import Fields
from sfumato.release.report import person_pages, table_pages
from sfumato.release.report.page_html import ReportPage, as_shown


def describe_shared_page(certificate: Fields, decision: Sequence[Block] = ()) -> ReportPage:
    """The page that goes with the released files, from their certificate alone; ``decision`` is
    what it says of the decision.
    """
    certificate = as_shown(certificate)
    if "classes" in certificate:
        return table_pages.shared_page(certificate, decision)
    return person_pages.shared_page(certificate)


def describe_owner_page(record: Fields, decision: Sequence[Block] = ()) -> ReportPage:
    """The page that stays with the owner."""
    record = as_shown(record)
    if "classes" in record["certificate"]:
        return table_pages.owner_page(record, decision)
    return person_pages.owner_page(record)


def charts_of(blocks: Iterable[Block]) -> dict[str, ChartBlock]:
    """The charts among blocks by name, those behind a click too."""
    charts: dict[str, ChartBlock] = {}
    for block in blocks:
        if isinstance(block, ChartBlock):
            charts[block.name] = block
        elif isinstance(block, FoldBlock):
            charts |= charts_of(block.blocks)
    return charts
