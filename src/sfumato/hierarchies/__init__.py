"""Hierarchies: rules and tables that give every value its coarser values. One builder a file."""

from __future__ import annotations

from sfumato.core.parameters import Members
from sfumato.hierarchies.classification import PublicClassification, classification
from sfumato.hierarchies.dates import Dates, dates
from sfumato.hierarchies.file import HierarchyFile, hierarchy_file, read_hierarchy
from sfumato.hierarchies.frequency import Frequency, frequency
from sfumato.hierarchies.grouped import GroupedNumbers, grouped
from sfumato.hierarchies.intervals import Intervals, intervals
from sfumato.hierarchies.like import Like, like
from sfumato.hierarchies.listed import write_hierarchy
from sfumato.hierarchies.mask import MaskLeft, MaskRight, mask_left, mask_right
from sfumato.hierarchies.order import Order, order
from sfumato.hierarchies.suppress import SuppressedValue, suppress
from sfumato.hierarchies.table import Table, hierarchy_table
from sfumato.hierarchies.tree import Tree, tree

ALL = Members(
    __name__,
    {
        "intervals": "intervals:Intervals",
        "mask_right": "mask:MaskRight",
        "mask_left": "mask:MaskLeft",
        "dates": "dates:Dates",
        "tree": "tree:Tree",
        "order": "order:Order",
        "suppress": "suppress:SuppressedValue",
        "file": "file:HierarchyFile",
        "table": "table:Table",
        "frequency": "frequency:Frequency",
        "classification": "classification:PublicClassification",
        "like": "like:Like",
        "grouped": "grouped:GroupedNumbers",
    },
)
"""Every hierarchy a recipe can name."""

__all__ = [
    "ALL",
    "Dates",
    "Frequency",
    "GroupedNumbers",
    "HierarchyFile",
    "Intervals",
    "Like",
    "MaskLeft",
    "MaskRight",
    "Order",
    "PublicClassification",
    "SuppressedValue",
    "Table",
    "Tree",
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
    "order",
    "read_hierarchy",
    "suppress",
    "tree",
    "write_hierarchy",
]
