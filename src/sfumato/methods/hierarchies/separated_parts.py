"""Parts of codes between separators: dotted and slashed codes, MAC addresses, ISBN, host names."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field

from sfumato.core.hierarchy import TOP, Hierarchy, Paths
from sfumato.core.parameters import parameters
from sfumato.errors import ParameterError
from sfumato.methods.hierarchies.leaf_lists import category_paths

SEPARATORS = "./:-_|,;@#\\ "
"""Characters that separate the parts of codes, as far as examples and profiles are read."""
Row = tuple[str, ...]
Count = Annotated[int, Field(ge=1, le=1000)]


@parameters
class CodeParts(Hierarchy):
    """Level *j* keeps the first ``keep[j−1]`` parts of a code; the level above is ``*``.

    Parts stand between the characters of ``separators``. What is hidden is replaced by one ``mark``
    (``192.168.1.127`` → ``192.168.1.*``), with ``each`` by one for every part (``192.168.*.*``),
    and without a mark (``mark: ""``) it is cut off together with its separator, as codes of a
    classification are: then a code of few parts is the group of those that begin with it.
    ``hide: left`` keeps the last parts: ``*.example.org``. A code that has no more parts than a
    level keeps stays as it is there, so codes of any length are covered. Its path depends on the
    code alone. A cell that ends in a mark is taken as an inner node. The loss of a label is
    ``(leaves−1)/(all leaves−1)`` over the values that occur.

    Networks by the length of their prefix are :class:`Networks`, pages of the web
    :class:`WebAddresses`.

    Reference: Iyengar 2002, doi:10.1145/775047.775089, for the loss.

    >>> CodeParts(separators=".", keep=[3, 2]).paths(["192.168.1.127", "10.0"], [1, 1]).rows
    (('192.168.1.127', '192.168.1.*', '192.168.*', '*'), ('10.0', '10.0', '10.0', '*'))
    >>> CodeParts(separators="-", keep=[3, 2], mark="").paths(["978-3-16-148410-0"], [1]).rows
    (('978-3-16-148410-0', '978-3-16', '978-3', '*'),)
    """

    separators: Annotated[
        str,
        Field(
            min_length=1,
            max_length=20,
            description="characters each of which separates two parts",
            examples=["."],
        ),
    ]
    keep: Annotated[
        Sequence[Count],
        AfterValidator(tuple),
        Field(
            min_length=1,
            description="how many parts each level keeps, from many to few",
            examples=[[3, 2, 1]],
        ),
    ]
    mark: Annotated[
        str,
        Field(max_length=1, description="the character in place of what is hidden; empty: none"),
    ] = "*"
    each: Annotated[
        bool, Field(description="whether every hidden part has its own mark: 192.168.*.*")
    ] = False
    hide: Annotated[
        Literal["right", "left"], Field(description="the side from which parts are hidden")
    ] = "right"

    name: ClassVar[str] = "parts"
    title: ClassVar[str] = "Parts of codes between separators"
    fixed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for more, fewer in itertools.pairwise(self.keep):
            if fewer >= more:
                raise ParameterError(
                    f"keep must fall from level to level; {fewer} after {more} does not"
                )
        if self.mark and (self.mark.isalnum() or self.mark in self.separators):
            raise ParameterError(
                "the mark must be no letter, no digit and none of the separators; choose another, "
                "such as *"
            )
        if self.each and not self.mark:
            raise ParameterError("each needs a mark; give one, such as *, or leave each out")

    @classmethod
    def from_values(cls, counts: Mapping[str, int]) -> Self | None:
        """The separators and at most four of the numbers of parts that most values have; None where
        most have no separator.
        """
        shape = common_shape(list(counts))
        if shape is None:
            return None
        separators, parts = shape
        step = -(-(parts - 1) // 4)
        return cls(separators=separators, keep=sorted(range(1, parts, step), reverse=True))

    @functools.cached_property
    def _separator(self) -> re.Pattern[str]:
        return re.compile(f"[{re.escape(self.separators)}]")

    def paths(self, values: Sequence[str], counts: Sequence[int]) -> Paths:
        """Paths of the distinct values; every text has one."""
        rows, levels = [], []
        for value in values:
            row, own = self._path(value)
            rows.append(row)
            levels.append(own)
        return category_paths(rows, levels, len(self.keep) + 2)

    def level_name(self, level: int, top: int) -> str:
        """How many parts the level keeps."""
        count = self.keep[level - 1]
        return "1 part" if count == 1 else f"{count} parts"

    def _path(self, value: str) -> tuple[Row, int]:
        """The labels of a value up to the top, and the level of the node that it is."""
        top = len(self.keep) + 1
        if value == TOP:
            return (TOP,) * (top + 1), top
        # Both sides are treated alike: codes whose last parts are kept are read backwards.
        text = value[::-1] if self.hide == "left" else value
        cuts = [match.start() for match in self._separator.finditer(text)]
        parts = self._separator.split(text)
        bare = len(parts)
        # One mark stands for all that is hidden, unless each part has its own.
        while self.mark and bare and parts[bare - 1] == self.mark:
            bare -= 1
            if not self.each:
                break
        labels = [value]
        own = 0
        for level, count in enumerate(self.keep, 1):
            if count >= bare:
                # Nothing to hide on this level. A code that can be the label of others here is
                # their inner node: one that ends in marks, or any where no mark is written.
                labels.append(value)
                if bare < len(parts) or (not self.mark and count == bare):
                    own = level
                continue
            label = self._label(text, cuts, count)
            labels.append(label[::-1] if self.hide == "left" else label)
        return (*labels, TOP), own

    def _label(self, text: str, cuts: Sequence[int], count: int) -> str:
        """A text of more than ``count`` parts with all but the first of them hidden."""
        start = cuts[count - 1]
        if not self.mark:
            # A code that begins with a separator has nothing before it: then all is hidden.
            return text[:start] or TOP
        if not self.each:
            return text[: start + 1] + self.mark
        return text[:start] + "".join(text[cut] + self.mark for cut in cuts[count - 1 :])


def common_shape(values: Sequence[str]) -> tuple[str, int] | None:
    """The separators and the number of parts that at least 95 % of the values have; None where
    there are no such.

    >>> common_shape(["10.0.0.1", "10.0.0.2"]), common_shape(["abc"]), common_shape(["1.2", "1-2"])
    (('.', 4), None, None)
    """
    shapes: dict[str, int] = {}
    for value in values:
        shape = "".join(character for character in value if character in SEPARATORS)
        shapes[shape] = shapes.get(shape, 0) + 1
    shape = max(shapes, key=lambda own: shapes[own], default="")
    if not shape or shapes[shape] < 0.95 * len(values):
        return None
    return "".join(dict.fromkeys(shape)), len(shape) + 1


# The rule behind examples.


@dataclasses.dataclass(frozen=True)
class _Cut:
    """How a label was cut from its value: what is kept and what follows it."""

    kept: str
    separator: str
    rest: str


def rules_of(rows: Sequence[Row]) -> list[CodeParts]:
    """The rules of parts that explain all labels of some examples (the top left out), one for each
    side at most.

    The separators are the characters at which the labels were cut. Each level keeps the number of
    parts that its labels have.

    >>> rules_of([("192.168.1.127", "192.168.1.*", "192.168.*")])
    [CodeParts(separators='.', keep=(3, 2), mark='*', each=False, hide='right')]
    """
    sides: list[Literal["right", "left"]] = ["right", "left"]
    rules = [_rule_of_side(rows, side) for side in sides]
    return [rule for rule in rules if rule is not None]


def _rule_of_side(rows: Sequence[Row], hide: Literal["right", "left"]) -> CodeParts | None:
    texts = [tuple(label[::-1] for label in row) if hide == "left" else row for row in rows]
    for mark, each in _marks_in(texts):
        separators = _separators_of(texts, mark, each=each)
        if separators is None:
            continue
        keep = _counts_of(texts, separators, mark, each=each)
        if keep is None:
            continue
        rule = CodeParts(separators=separators, keep=keep, mark=mark, each=each, hide=hide)
        paths = rule.paths([row[0] for row in rows], [1] * len(rows)).rows
        if [path[:-1] for path in paths] == list(rows):
            return rule
    return None


def _marks_in(texts: Sequence[Row]) -> list[tuple[str, bool]]:
    """The marks that the labels may end in, and none."""
    ends = {label[-1:] for row in texts for label in row[1:] if label != row[0]}
    marks = [end for end in sorted(ends) if end and not end.isalnum() and end not in SEPARATORS]
    options = [("", False)]
    for mark in marks:
        options += [(mark, False), (mark, True)]
    return options


def _cut_behind_label(value: str, label: str, mark: str, *, each: bool) -> _Cut | None:
    """The cut behind a label; None where it is no cut at a separator."""
    kept = label
    if mark:
        kept = label.rstrip(mark + SEPARATORS) if each else label[:-2]
        if not label.endswith(mark) or len(kept) + 1 >= len(label):
            return None
    if not kept or not value.startswith(kept) or len(kept) >= len(value):
        return None
    separator = value[len(kept)]
    if separator not in SEPARATORS or (mark and label[len(kept)] != separator):
        return None
    return _Cut(kept, separator, value[len(kept) + 1 :])


def _separators_of(texts: Sequence[Row], mark: str, *, each: bool) -> str | None:
    """The characters at which the labels were cut; None where one is no cut, or none was."""
    separators: dict[str, None] = {}
    for row in texts:
        for label in row[1:]:
            if label == row[0]:
                continue
            cut = _cut_behind_label(row[0], label, mark, each=each)
            if cut is None:
                return None
            separators[cut.separator] = None
            # Marks of their own show where the hidden parts are separated.
            if each:
                rest = label[len(cut.kept) + 1 :]
                separators |= dict.fromkeys(sign for sign in rest if sign != mark)
    return "".join(separators) or None


def _counts_of(texts: Sequence[Row], separators: str, mark: str, *, each: bool) -> list[int] | None:
    """How many parts every level keeps, falling from level to level; None where examples differ."""
    pattern = re.compile(f"[{re.escape(separators)}]")
    counts: list[int] = []
    for level in range(1, len(texts[0])):
        own: set[int] = set()
        for row in texts:
            if row[level] == row[0]:
                continue
            cut = _cut_behind_label(row[0], row[level], mark, each=each)
            if cut is not None:
                own.add(len(pattern.split(cut.kept)))
        if len(own) != 1:
            return None
        counts += own
    if any(fewer >= more for more, fewer in itertools.pairwise(counts)):
        return None
    return counts


def parts(
    separators: str,
    *keep: int,
    mark: str = "*",
    each: bool = False,
    hide: Literal["right", "left"] = "right",
) -> CodeParts:
    """Keep the first parts of codes: ``sf.parts(".", 3, 2, 1)`` for 192.168.1.127.
    See :class:`CodeParts`.
    """
    return CodeParts(separators=separators, keep=keep, mark=mark, each=each, hide=hide)
