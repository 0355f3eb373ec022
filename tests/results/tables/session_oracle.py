"""An independent look at a session of outputs: random records and outputs, and linear algebra over
who is in which cell.

Nothing of the checker is used. An output is a list of cells; a cell is a set of records (of
persons, where persons are counted) and the name of what is added up. ``told_of_few`` goes by the
null space: a sum over atoms follows from the published sums exactly if it is at right angles to
every change of the atoms that leaves all of them as they are. So atoms *U* are told of exactly if
their rows of a basis of the null space are linearly dependent, which is tried for all small sets of
atoms.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
from scipy import optimize

REGIONS = ("n", "s", "e")


def random_people(draw, *, several, missing):
    """A small table; ``several`` records a person, ``missing`` values of a column."""
    count = int(draw.integers(30, 90))
    who = draw.integers(0, max(12, count // 2), count) if several else np.arange(count)
    y = draw.lognormal(2, 0.3, count).round(2).tolist()
    if missing:
        y = [None if draw.random() < 0.15 else one for one in y]
    return pl.DataFrame(
        {
            "who": who,
            "region": draw.choice(REGIONS, count),
            "sex": draw.choice(["f", "m"], count),
            "age": draw.integers(20, 45, count),
            "x": draw.lognormal(3, 0.3, count).round(2),
            "y": y,
        }
    )


def cuts_of(draw):
    return sorted({int(one) for one in draw.integers(22, 44, int(draw.integers(1, 3)))})


def bands(values, cuts):
    return [sum(one >= cut for cut in cuts) for one in values]


def random_output(draw, people, name):
    """An output as a researcher would add it, what is said of it, and its cells:
    ``(what, records)`` each.
    """
    where = None
    chosen = np.ones(people.height, dtype=bool)
    if draw.random() < 0.4:
        cut = int(draw.integers(21, 45))
        where = (pl.col("age") < cut) if draw.random() < 0.5 else (pl.col("age") != cut)
        chosen = people.select(where.alias("c"))["c"].to_numpy()
    if draw.random() < 0.25:
        edges = [0.0, *map(float, cuts_of(draw)), 100.0]
        ages = people["age"].to_numpy()
        counts = np.histogram(ages[chosen], edges)[0]
        place = np.array(bands(ages, edges[1:-1]))
        cells = [("rows", np.flatnonzero(chosen & (place == at))) for at in range(len(counts))]
        return (
            (counts, np.array(edges)),
            {"kind": "histogram", "column": "age", "where": where},
            cells,
        )
    if draw.random() < 0.15:
        place = np.array(bands(people["age"], cuts_of(draw)))[chosen]
        levels = np.unique(place)
        design = np.column_stack(
            [np.ones(len(place)), *((place == one) * 1.0 for one in levels[1:])]
        )
        answer = people["x"].to_numpy()[chosen]
        kept = SimpleNamespace(
            exog=design, endog=answer, exog_names=[f"x{at}" for at in range(len(levels))]
        )
        beta = np.linalg.lstsq(design, answer, rcond=None)[0]
        left = float(len(answer) - len(levels))
        model = SimpleNamespace(params=beta, nobs=float(len(answer)), df_resid=left, model=kept)
        rows = np.flatnonzero(chosen)
        return model, {"where": where}, [("x", rows[column == 1]) for column in design.T]
    some, said = people, {"where": where}
    by = [
        str(one) for one in draw.permutation(["region", "sex", "band"])[: int(draw.integers(1, 3))]
    ]
    if "band" in by:
        called = f"group{name}"
        some = people.with_columns(
            pl.Series(called, [f"b{one}" for one in bands(people["age"], cuts_of(draw))])
        )
        by = [called if one == "band" else one for one in by]
        said["data"] = some
    keys = list(zip(*(some[one].to_list() for one in by), strict=True))
    groups = {
        key: np.array([at for at, one in enumerate(keys) if one == key and chosen[at]])
        for key in set(keys)
    }
    groups = {key: rows for key, rows in sorted(groups.items()) if len(rows)}
    kind = str(draw.choice(["rows", "persons", "mean", "sum"]))
    column = str(draw.choice(["x", "y"]))
    told, cells = [], []
    hide = draw.random() < 0.3
    for rows in groups.values():
        if kind in ("rows", "persons"):
            value = len(rows) if kind == "rows" else len(set(people["who"].to_numpy()[rows]))
            part = rows
        else:
            part = np.array([at for at in rows if people[column][int(at)] is not None], dtype=int)
            values = [people[column][int(at)] for at in part]
            value = None if not values else sum(values) / (len(values) if kind == "mean" else 1)
        if hide and draw.random() < 0.4:
            value = None
        told.append(value)
        if value is not None:
            cells.append((kind if kind in ("rows", "persons") else column, part))
    frame = pl.DataFrame(
        {
            **{one: [key[at] for key in groups] for at, one in enumerate(by)},
            "told": pl.Series(told, dtype=pl.Float64),
        }
    )
    words = {
        "rows": "rows",
        "persons": "count",
        "mean": f"mean({column})",
        "sum": f"sum({column})",
    }[kind]
    return frame, {**said, "by": by, "tells": {"told": words}}, cells


def told_of_few(outputs, people, threshold):
    """Whether some sum or difference of the cells of outputs is about fewer than ``threshold``
    persons, or their counts tell that a group is of fewer; the word it is of, or an empty one.
    """
    who = people["who"].to_numpy()
    once = len(set(who.tolist())) == len(who)
    pools: dict[str, list[frozenset]] = {}
    for cells in outputs:
        alike = all(
            len(rows) == len(set(who[rows].tolist())) for _, rows in cells
        )  # counts of rows are those of persons
        for word, rows in cells:
            counted = word in ("rows", "persons")
            if counted and not once and (word == "persons" or alike):
                pools.setdefault("persons", []).append(frozenset(int(one) for one in who[rows]))
            if word != "persons" or once or alike:
                pools.setdefault("rows" if counted else word, []).append(
                    frozenset(int(one) for one in rows)
                )
    for word, found in pools.items():
        cells = [one for one in dict.fromkeys(found) if one]
        if cells and _few_in(
            cells, (lambda one: one) if word == "persons" else (lambda one: who[one]), threshold
        ):
            return word
        if cells and word in ("rows", "persons") and _small_by_counts(cells, word, who, threshold):
            return f"{word} by bounds"
    return ""


def _atoms(cells):
    found: dict[tuple, list[int]] = {}
    for element in sorted(set().union(*cells)):
        found.setdefault(tuple(element in one for one in cells), []).append(element)
    matrix = np.array(list(found), dtype=float).T
    return matrix, list(found.values())


def _few_in(cells, person, threshold):
    matrix, atoms = _atoms(cells)
    people = [frozenset(int(person(one)) for one in atom) for atom in atoms]
    _, size, basis = np.linalg.svd(matrix, full_matrices=True)
    null = basis[int((size > 1e-9).sum()) :].T
    small = [at for at, one in enumerate(people) if len(one) < threshold]
    for count in range(1, 2 * threshold):
        some = False
        for chosen in _together(small, people, count, threshold):
            some = True
            part = null[chosen]
            if part.shape[1] < len(chosen) or np.linalg.svd(part, compute_uv=False)[-1] < 1e-9:
                return True
        if not some:
            break
    return False


def _together(small, people, count, threshold):
    """All sets of so many atoms that are of few persons together."""

    def grow(chosen, seen, start):
        if len(chosen) == count:
            yield list(chosen)
            return
        for place in range(start, len(small)):
            more = seen | people[small[place]]
            if len(more) < threshold:
                yield from grow([*chosen, small[place]], more, place + 1)

    yield from grow([], frozenset(), 0)


def _small_by_counts(cells, word, who, threshold):
    matrix, atoms = _atoms(cells)
    sizes = np.array([len(one) for one in atoms], dtype=float)
    for at, atom in enumerate(atoms):
        persons = len(atom) if word == "persons" else len({int(who[one]) for one in atom})
        if persons >= threshold:
            continue
        aim = np.zeros(len(atoms))
        aim[at] = -1
        found = optimize.linprog(aim, A_eq=matrix, b_eq=matrix @ sizes, bounds=(0, None))
        if found.status == 0 and -found.fun < threshold - 1e-6:
            return True
    return False
