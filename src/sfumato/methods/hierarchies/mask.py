"""Masks: hide one character more on every level, from the right or from the left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Self

import numpy as np
import polars as pl
from pydantic import Field

from sfumato.core.hierarchy import TOP, Hierarchy, Ladder, Paths
from sfumato.core.labels import text_of
from sfumato.core.parameters import parameters
from sfumato.errors import SchemaError
from sfumato.methods.hierarchies.bulk_ladders import has_many_values, ladder_by_nodes
from sfumato.methods.hierarchies.leaf_lists import category_paths

Length = Annotated[
    int, Field(ge=1, le=1000, description="number of characters of the longest value")
]
Char = Annotated[
    str, Field(min_length=1, max_length=1, description="the character that stands for a hidden one")
]
Pad = Annotated[
    str | None,
    Field(
        min_length=1,
        max_length=1,
        description=(
            "what fills up shorter values from the left: '0' for codes that were read as numbers"
        ),
    ),
]


@parameters
class Mask(Hierarchy):
    """Hides one character more on every level, from one side."""

    length: Length
    char: Char = "*"
    pad: Pad = None

    fixed: ClassVar[bool] = True
    from_left: ClassVar[bool] = False

    @classmethod
    def from_values(cls, counts: Mapping[str, int]) -> Self:
        """Masks as long as the longest value."""
        return cls(length=max(map(len, counts), default=1) or 1)

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """Paths of the distinct values, some of which may be masked already; values longer than
        ``length`` are counted and refused.
        """
        longer = [len(v) for v in values if len(v) > self.length]
        if longer:
            raise SchemaError(
                f"{self.name}({self.length}): {len(longer)} of {len(values)} distinct values have"
                f" more than {self.length} characters; use {self.name}({max(longer)}), or correct"
                " the values"
            )
        rows, levels = [], []
        for value in values:
            if value == TOP:
                rows.append((TOP,) * (self.length + 1))
                levels.append(self.length)
                continue
            if self.from_left:
                bare = value.lstrip(self.char)
            else:
                bare = value.rstrip(self.char)
            hidden = len(value) - len(bare)
            own = min(hidden, self.length)
            # A value is filled up to the length of the codes; up to its own level it is as it came.
            filled = value
            if self.pad is not None and not (self.from_left and hidden):
                filled = value.rjust(self.length, self.pad)
            if own < self.length:
                row = [value] * (own + 1)
            else:
                row = [filled] * self.length
            for level in range(hidden + 1, min(len(filled), self.length - 1) + 1):
                blanks = self.char * level
                row.append(blanks + filled[level:] if self.from_left else filled[:-level] + blanks)
            # One that is shorter is hidden completely before the top, and stays so.
            row += row[-1:] * (self.length - len(row))
            rows.append((*row[: self.length], TOP))
            levels.append(own)
        return category_paths(rows, levels, self.length + 1)

    def ladder(self, values: Sequence[str], *, missing: bool) -> Ladder | None:
        """The ladder of very many codes, made at once; None where they are few or one is masked
        already.

        Codes that differ in the first hidden character only are one node.
        """
        if not has_many_values(values) or self.length < 2:
            return None
        texts = text_of(values)
        if (
            texts.str.contains(self.char, literal=True).any()
            or texts.str.contains(TOP, literal=True).any()
        ):
            return None
        # refused with a message, path by path
        if int(texts.str.len_chars().max()) > self.length:  # type: ignore[arg-type]
            return None
        if self.pad is None:
            filled = texts
        else:
            filled = texts.str.pad_start(self.length, self.pad)
        if self.from_left:
            visible = filled.str.tail(-1)
        else:
            visible = filled.str.head(-1)
        # Codes of different length never meet below the top.
        lengths = filled.str.len_chars().cast(pl.String)
        nodes = (lengths + ":" + visible).rank("dense").to_numpy().astype(np.int64)
        return ladder_by_nodes(self, texts, nodes, [], missing=missing)

    def too_short(self, values: Sequence[str]) -> int:
        """How many values are shorter than the codes are and not filled up."""
        if self.pad is not None:
            return 0
        return sum(len(v) < self.length for v in values)


@parameters
class MaskRight(Mask):
    """Level *j* hides the last *j* characters; level ``length`` is the top.

    A shorter value is hidden completely from the level of its own length on and stays so until
    the top: values of different length never meet before it. A value that ends in mask characters
    (``537**``) is taken as an inner node. The loss of a label is ``(leaves−1)/(all leaves−1)``,
    where the leaves are the values that occur: how many others a mask could stand for is not known.
    (ARX estimates it from the alphabet instead.)

    Codes that were read as numbers have lost their leading zeros, and 36** of 3601 would be read as
    36 and not as 036: ``pad="0"`` fills them up again. A column of numbers with shorter values is
    refused without it.

    Reference: Iyengar 2002, doi:10.1145/775047.775089, for the loss.

    >>> MaskRight(3, pad="0").paths(["36"], [1]).rows
    (('36', '03*', '0**', '*'),)
    >>> MaskRight(3).paths(["537", "539", "53*"], [1, 1, 1]).rows
    (('537', '53*', '5**', '*'), ('539', '53*', '5**', '*'), ('53*', '53*', '5**', '*'))
    """

    name: ClassVar[str] = "mask_right"
    title: ClassVar[str] = "Hide characters from the right"


@parameters
class MaskLeft(Mask):
    """Level *j* hides the first *j* characters; otherwise as :class:`MaskRight`.

    >>> MaskLeft(3).paths(["537"], [1]).rows
    (('537', '*37', '**7', '*'),)
    """

    name: ClassVar[str] = "mask_left"
    from_left: ClassVar[bool] = True
    title: ClassVar[str] = "Hide characters from the left"


def mask_right(length: int, *, char: str = "*", pad: str | None = None) -> MaskRight:
    """Hide characters from the right, one more a level: ``sf.mask_right(5)`` for ZIP codes.
    See :class:`MaskRight`.
    """
    return MaskRight(length=length, char=char, pad=pad)


def mask_left(length: int, *, char: str = "*", pad: str | None = None) -> MaskLeft:
    """Hide characters from the left, one more a level. See :class:`MaskLeft`."""
    return MaskLeft(length=length, char=char, pad=pad)
