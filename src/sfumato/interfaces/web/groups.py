"""Groups of categories as somebody changes them by hand: values are moved, groups are made and
renamed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.core import registry
from sfumato.core.hierarchy import TOP, Hierarchy
from sfumato.errors import ParameterError
from sfumato.interfaces.web.fields import Fields

Row = tuple[str, ...]
# Values that can be grouped by hand; more of them need a file.
MOST_VALUES = 5000


@dataclasses.dataclass(frozen=True)
class Grouping:
    """One row a value, from the value to the top; ``catch_all`` adopts values that have no row.

    Level *L* has the groups in which the labels of level *L − 1* stand. The level of the top itself
    stands for groups that are yet to be made of what stands below the top.
    """

    rows: tuple[Row, ...]
    catch_all: str | None = None

    @classmethod
    def of(cls, hierarchy: Hierarchy | None, counts: Mapping[str, int]) -> Grouping:
        """The groups that a hierarchy makes of values that occur so often; without one, all stand
        below the top.
        """
        if len(counts) > MOST_VALUES:
            raise ParameterError(
                f"{len(counts):,} distinct values are too many to group by hand; import a file, or"
                " choose a rule"
            )
        if hierarchy is None:
            return cls(tuple((value, TOP) for value in counts))
        listed = hierarchy.listed()
        values = [*counts] if listed is None else [*listed]
        if len(values) > MOST_VALUES:
            raise ParameterError(
                f"{len(values):,} values are too many to group by hand; change the file instead"
            )
        rows = hierarchy.paths(values, [counts.get(value, 1) for value in values]).rows
        return cls(tuple(dict.fromkeys(rows)), hierarchy.catch_all)

    @property
    def depth(self) -> int:
        """Number of levels, the values and the top included."""
        return len(self.rows[0]) if self.rows else 2

    @property
    def top(self) -> str:
        """The label of the top."""
        if not self.rows:
            return TOP
        return self.rows[0][-1]

    def to_dict(self, level: int, counts: Mapping[str, int]) -> Fields:
        """The groups of a level and what stands in each, with records; what does not occur has
        none.
        """
        level = min(max(level, 1), self.depth - 1)
        records: dict[tuple[str, str], int] = {}
        placed: set[str] = set()
        for row in self.rows:
            key = (row[level], row[level - 1])
            records[key] = records.get(key, 0) + counts.get(row[0], 0)
            placed.update(row)
        boxes: dict[str, list[tuple[str, int]]] = {}
        for (group, member), count in records.items():
            boxes.setdefault(group, []).append((member, count))
        # a group of one label that has its own name is no group yet
        groups, single = [], []
        for group, members in boxes.items():
            if [member for member, _ in members] == [group]:
                single += members
            else:
                total = sum(count for _, count in members)
                groups.append({"label": group, "records": total, "members": _ranked(members)})
        lost = [(value, n) for value, n in counts.items() if value not in placed and value != TOP]
        return {
            "level": level,
            "levels": self.depth - 1,
            "top": self.top,
            "groups": groups,
            "single": _ranked(single),
            "lost": _ranked(lost),
        }

    # changes

    def changed(self, act: str, level: int, **arguments: Any) -> Grouping:
        """The grouping after an act of this name."""
        acts = {"move": self.move, "part": self.part, "rename": self.rename}
        if act not in acts:
            raise ParameterError(f"groups cannot be changed by {act!r}")
        return acts[act](level, **arguments)  # type: ignore[operator,no-any-return]

    def move(self, level: int, members: Sequence[str], to: str) -> Grouping:
        """Put some labels of the level below into a group of a level, which is made where there is
        none.
        """
        name = self._name(to)
        rows = self._with_level(level)
        depth = len(rows[0]) if rows else 2
        above = next((row[level + 1 :] for row in rows if row[level] == name), None)
        if above is None:
            above = (name,) * (depth - 2 - level) + (self.top,)
        moving = set(members)
        moved_rows = [
            (*row[:level], name, *above) if row[level - 1] in moving else row for row in rows
        ]
        listed = {row[0] for row in rows}
        if level == 1:
            new = [member for member in members if member not in listed]
        else:
            new = []
        return dataclasses.replace(
            self, rows=(*moved_rows, *((member, name, *above) for member in new))
        )

    def part(self, level: int, members: Sequence[str]) -> Grouping:
        """Let some labels of the level below stand for themselves, each alone."""
        apart = self
        for member in members:
            apart = apart.move(level, [member], member)
        return apart

    def rename(self, level: int, old: str, new: str) -> Grouping:
        """Give a group another name; where its label is repeated above, it is renamed there too."""
        name = self._name(new)
        if any(row[level] == name for row in self.rows):
            raise ParameterError(
                "there already is a group of that name; move the values there instead"
            )
        return dataclasses.replace(
            self, rows=tuple(_relabelled(row, level, old, name) for row in self.rows)
        )

    def hierarchy(self, kind: str = "") -> Hierarchy:
        """The hierarchy that this makes: of this kind, else of the first one that can list these
        paths.
        """
        family = registry.family("hierarchies")
        for name in [kind, *family]:
            if name in family and family[name].by_hand == "yes":
                hierarchy: Hierarchy | None = family[name].from_paths(self.rows, self.catch_all)
                if hierarchy is not None:
                    return hierarchy
        raise ParameterError("these groups cannot be stored as a hierarchy")

    def _with_level(self, level: int) -> tuple[Row, ...]:
        """The rows; with one more level below the top, where groups are made of what stands below
        it.
        """
        if level < self.depth - 1:
            return self.rows
        return tuple((*row[:-1], row[-2], row[-1]) for row in self.rows)

    def _name(self, entered: str) -> str:
        name = entered.strip()
        if not name:
            raise ParameterError("a group needs a name")
        if name == self.top:
            raise ParameterError(
                "a group cannot have the name of the top, which contains everything"
            )
        return name


def _relabelled(row: Row, level: int, old: str, new: str) -> Row:
    if row[level] != old:
        return row
    labels = list(row)
    for level_above in range(level, len(row) - 1):
        if labels[level_above] != old:
            break
        labels[level_above] = new
    return tuple(labels)


def _ranked(members: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted(members, key=lambda member: (-member[1], member[0]))
