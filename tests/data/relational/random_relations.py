"""Random trees of tables with keys, as hypothesis draws them: frames as files hold them, and what a
recipe says of them.
"""

from __future__ import annotations

import dataclasses

import polars as pl
from hypothesis import strategies as st


@dataclasses.dataclass(frozen=True)
class RandomRelations:
    """Frames by name, the section ``tables`` of a recipe, and all keys as text; every key is a word
    that occurs nowhere else.
    """

    frames: dict[str, pl.DataFrame]
    said: dict[str, dict]
    keys: frozenset[str]

    def owner_of(self, table, row):
        """The person of a row, looked up one key after the other."""
        said, at = self.said[table], self.frames[table].row(row, named=True)
        if "belongs_to" not in said:
            return row
        ((parent, column),) = said["belongs_to"].items()
        keys = self.frames[parent][self.said[parent]["key"]].to_list()
        return self.owner_of(parent, keys.index(at[column]))


@st.composite
def relations(draw, least_people=4, most_people=14):
    """Two to four tables; each below the people belongs to one before it, and all but the last may
    have children.
    """
    count = draw(st.integers(1, 3))
    parents = [draw(st.integers(0, place)) for place in range(count)]
    sizes = [
        draw(st.integers(least_people, most_people)),
        *(draw(st.integers(1, 20)) for _ in range(count)),
    ]
    names = ["people", *(f"table{place}" for place in range(1, count + 1))]
    frames, said, keys = {}, {}, []
    for place, name in enumerate(names):
        own = [
            f"raw-{name}-{number:03d}"
            for number in draw(st.permutations(range(100, 100 + sizes[place])))
        ]
        keys += own
        columns = {f"{name}_id": own}
        spec = {
            "key": f"{name}_id",
            "columns": {"colour": {"role": "quasi"}, "secret": {"role": "sensitive"}},
        }
        if place:
            parent = names[parents[place - 1]]
            above = frames[parent][f"{parent}_id"].to_list()
            columns["of"] = [above[draw(st.integers(0, len(above) - 1))] for _ in own]
            spec["belongs_to"] = {parent: "of"}
        columns["colour"] = [draw(st.sampled_from(["red", "green", None])) for _ in own]
        columns["secret"] = [draw(st.sampled_from(["x", "y"])) for _ in own]
        frames[name] = pl.DataFrame(columns, schema_overrides={"colour": pl.String})
        said[name] = spec
    return RandomRelations(frames, said, frozenset(keys))
