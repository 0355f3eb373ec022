"""Hierarchies: rules and tables that give every value its coarser values. One builder a file.

A name is loaded when it is first used: a recipe with one kind of hierarchy waits for one file. No
file is called like a builder, for a package that was asked for a file holds it under its name.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sfumato.core.parameters import Members

if TYPE_CHECKING:
    from sfumato.methods.hierarchies.by_example import Like, like
    from sfumato.methods.hierarchies.date_periods import Dates, dates
    from sfumato.methods.hierarchies.file import HierarchyFile, hierarchy_file, read_hierarchy
    from sfumato.methods.hierarchies.frequency_groups import Frequency, frequency
    from sfumato.methods.hierarchies.grouped_numbers import GroupedNumbers, grouped
    from sfumato.methods.hierarchies.leaf_lists import write_hierarchy
    from sfumato.methods.hierarchies.mask import MaskLeft, MaskRight, mask_left, mask_right
    from sfumato.methods.hierarchies.network_prefixes import Networks, networks
    from sfumato.methods.hierarchies.number_intervals import Intervals, intervals
    from sfumato.methods.hierarchies.ordered_values import Order, order
    from sfumato.methods.hierarchies.public_classification import (
        PublicClassification,
        classification,
    )
    from sfumato.methods.hierarchies.separated_parts import CodeParts, parts
    from sfumato.methods.hierarchies.suppressed_value import SuppressedValue, suppress
    from sfumato.methods.hierarchies.table import TableHierarchy, hierarchy_table
    from sfumato.methods.hierarchies.url_levels import WebAddresses, web_addresses
    from sfumato.methods.hierarchies.value_tree import Tree, tree

ALL = Members(
    __name__,
    {
        "intervals": "number_intervals:Intervals",
        "mask_right": "mask:MaskRight",
        "mask_left": "mask:MaskLeft",
        "dates": "date_periods:Dates",
        "tree": "value_tree:Tree",
        "order": "ordered_values:Order",
        "suppress": "suppressed_value:SuppressedValue",
        "file": "file:HierarchyFile",
        "table": "table:TableHierarchy",
        "frequency": "frequency_groups:Frequency",
        "classification": "public_classification:PublicClassification",
        "like": "by_example:Like",
        "grouped": "grouped_numbers:GroupedNumbers",
        "parts": "separated_parts:CodeParts",
        "networks": "network_prefixes:Networks",
        "web_addresses": "url_levels:WebAddresses",
    },
)
"""Every hierarchy a recipe can name."""

_BUILDERS = {
    "by_example": ("like",),
    "date_periods": ("dates",),
    "file": ("hierarchy_file", "read_hierarchy"),
    "frequency_groups": ("frequency",),
    "grouped_numbers": ("grouped",),
    "leaf_lists": ("write_hierarchy",),
    "mask": ("mask_left", "mask_right"),
    "network_prefixes": ("networks",),
    "number_intervals": ("intervals",),
    "ordered_values": ("order",),
    "public_classification": ("classification",),
    "separated_parts": ("parts",),
    "suppressed_value": ("suppress",),
    "table": ("hierarchy_table",),
    "url_levels": ("web_addresses",),
    "value_tree": ("tree",),
}
"""File → the functions of it that make hierarchies, read and write them."""
_FILE_OF = {name: file for file, names in _BUILDERS.items() for name in names}

__all__ = [
    "ALL",
    "CodeParts",
    "Dates",
    "Frequency",
    "GroupedNumbers",
    "HierarchyFile",
    "Intervals",
    "Like",
    "MaskLeft",
    "MaskRight",
    "Networks",
    "Order",
    "PublicClassification",
    "SuppressedValue",
    "TableHierarchy",
    "Tree",
    "WebAddresses",
    "classification",
    "dates",
    "frequency",
    "grouped",
    "hierarchy_file",
    "hierarchy_table",
    "intervals",
    "like",
    "mask_left",
    "mask_right",
    "networks",
    "order",
    "parts",
    "read_hierarchy",
    "suppress",
    "tree",
    "web_addresses",
    "write_hierarchy",
]


# Files are loaded when a name of theirs is first asked for: importing the package stays fast.
def __getattr__(name: str) -> Any:
    if name in _FILE_OF:
        return getattr(importlib.import_module(f"{__name__}.{_FILE_OF[name]}"), name)
    return ALL.called(name)
