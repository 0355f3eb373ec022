"""Trees: a nested mapping from the top down to the leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from sfumato.core.fields import Document
from sfumato.core.hierarchy import Paths, require_single_parents
from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError, SfumatoError
from sfumato.methods.hierarchies.leaf_lists import (
    Catch,
    CatchesOthers,
    LeafRows,
    label_text,
    paths_under,
    require_other_below_top,
)

DEEPEST = 100
"""More levels than this are taken for a mapping that contains itself."""


def copy_plain(node: object, depth: int = 0) -> Any:
    """A copy of a nested mapping made of dicts, lists and text alone."""
    # A mapping that contains itself would never end.
    if depth > DEEPEST:
        raise ValueError(f"is nested more than {DEEPEST} levels deep")
    if isinstance(node, Mapping):
        return {label_text(label): copy_plain(below, depth + 1) for label, below in node.items()}
    if node is None:
        return []
    if isinstance(node, Sequence) and not isinstance(node, str | bytes):
        return [
            copy_plain(item, depth + 1) if isinstance(item, Mapping) else label_text(item)
            for item in node
        ]
    raise ValueError("only a mapping or a list of labels may follow a label")


@parameters
class Tree(CatchesOthers):
    """``{top: {inner: [leaf, …], …}}``: mappings hold inner nodes, lists hold leaves.

    Lists may hold mappings as well, and a label with nothing below it is a leaf, so branches may
    end at different depths. Levels are counted from the top: a shallow leaf stays itself until the
    level of its parent. All leaves of the tree count, whether they occur or not: the loss of a node
    is ``(leaves−1)/(all leaves−1)``, 0 for a tree with one leaf. ``other`` adopts values that are
    not listed.

    Reference: Iyengar 2002, doi:10.1145/775047.775089, for the loss.

    >>> illness = Tree({"*": {"virus": ["HIV", "flu"], "injury": None}})
    >>> illness.paths(["flu", "injury"], [1, 1]).rows
    (('flu', 'virus', '*'), ('injury', 'injury', '*'))
    """

    nested: Annotated[
        Mapping[Any, Any],
        AfterValidator(copy_plain),
        Field(description="{top: {inner: [leaf, …], …}}"),
    ]
    other: Catch = None

    name: ClassVar[str] = "tree"
    title: ClassVar[str] = "Groups by hand"
    by_hand: ClassVar[Literal["yes", "as a list", "no"]] = "yes"
    secret: ClassVar[tuple[str, ...]] = ("nested",)
    fixed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if len(self.nested) != 1:
            raise ParameterError(
                f"a tree has one top, but this one has {len(self.nested)}; put them under one: "
                "{'*': {…}}"
            )
        rows = self._rows()
        if len(rows[0]) < 2:
            raise ParameterError("there are no leaves below the top")
        require_single_parents(rows, "tree")
        require_other_below_top(self.other, rows[0][-1])

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """Paths of the distinct values; without ``other``, values that are not listed are counted
        and refused.
        """
        return paths_under(LeafRows(self._rows()), values, "tree", self.other)

    def listed(self) -> tuple[str, ...]:
        """The leaves, in their order."""
        return tuple(dict.fromkeys(row[0] for row in self._rows()))

    @classmethod
    def from_paths(cls, rows: Sequence[tuple[str, ...]], other: str | None) -> Tree | None:
        """The tree with these paths; None where a tree would count the levels otherwise."""
        if not rows:
            return None
        try:
            paths_below = [row[:-1] for row in rows]
            tree = cls(nested={rows[0][-1]: nested_paths(paths_below)}, other=other)
        except SfumatoError:
            return None
        # A tree counts levels from the top, so rows may come back with other levels than they had.
        if set(tree._rows()) == set(rows):
            return tree
        return None

    def _rows(self) -> list[tuple[str, ...]]:
        """One path per leaf, the short ones filled up at the bottom."""
        paths = list(dict.fromkeys(_leaf_paths(self.nested, ())))
        depth = max(len(path) for path in paths)
        # Short paths repeat the leaf, so that all have the same depth.
        return [path[:1] * (depth - len(path)) + path for path in paths]


def nested_paths(paths: Sequence[tuple[str, ...]]) -> Any:
    """Paths from the leaf up, without the top, as nested mappings; lists where only leaves stand
    below.

    >>> nested_paths([("flu", "virus"), ("HIV", "virus"), ("injury", "injury")])
    {'virus': ['flu', 'HIV'], 'injury': None}
    """
    below: dict[str, list[tuple[str, ...]]] = {}
    for path in paths:
        label = path[-1]
        shorter = path[:-1]
        while shorter and shorter[-1] == label:  # a leaf that ends higher repeats its label
            shorter = shorter[:-1]
        below.setdefault(label, [])
        if shorter:
            below[label].append(shorter)
    # Only leaves are left: a list says it more briefly.
    if not any(below.values()):
        return list(below)
    nested: Document = {}
    for label, branches in below.items():
        nested[label] = nested_paths(branches) if branches else None
    return nested


def _leaf_paths(below: Any, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for item in below:
        if isinstance(item, Mapping):
            yield from _leaf_paths(item, above)
        elif isinstance(below, Mapping) and below[item]:
            yield from _leaf_paths(below[item], (item, *above))
        else:
            yield (item, *above)


def tree(nested: Mapping[Any, Any], *, other: str | None = None) -> Tree:
    """A hierarchy written as a nested mapping: ``sf.tree({"*": {"virus": ["HIV", "flu"]}})``.
    See :class:`Tree`.
    """
    return Tree(nested=nested, other=other)
