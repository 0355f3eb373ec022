"""The scene of experiments on re-identification: a table to protect, an intruder's file with partly
other columns, and who is who.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sfumato.core.attack import NOT_IN_FILE, as_theirs
from sfumato.core.schema import Attribute, Kind, Role, Schema
from sfumato.data.examples.draws import PhiloxDraws
from sfumato.data.examples.hospital_tables import NOTE
from sfumato.data.examples.literature import as_dataset, at_least
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

FACTORS = 3


@dataclasses.dataclass(frozen=True, eq=False)
class LinkageScene:
    """Table ``a`` is to be protected, ``b`` is what an intruder has, ``aux`` are other people of
    whom the intruder knows everything.

    Row *i* of ``b`` is row ``truth[i]`` of ``a``, or nobody there (−1). In ``aux``, a column that
    both have comes twice: as ``a`` has it, and, under the same name with ``(theirs)`` behind it, as
    ``b`` would have it.
    """

    a: Table
    b: Table
    aux: Table
    truth: NDArray[np.int64]


def linkage_scene(
    n: int = 200,
    *,
    overlap: int = 100,
    extra: int = 100,
    shared: int = 2,
    only_a: int = 3,
    only_b: int = 5,
    rho: float = 0.5,
    noise: float = 0.1,
    aux: int = 500,
    seed: int = 0,
) -> LinkageScene:
    r"""Two files about partly the same people, with partly the same columns, whose truth is known.

    .. math:: X = \sqrt{\rho}\, F L + \sqrt{1 - \rho}\, E

    *F* are three normal factors a person, the columns of *L* loadings of length 1, *E* independent
    normal numbers: every column has variance 1, and ρ is how much columns have in common. ``a``
    holds ``n`` people in ``shared`` + ``only_a`` columns; ``b`` holds ``overlap`` of them and
    ``extra`` others, in random order, in ``shared`` + ``only_b`` columns, each with ``noise`` times
    a normal number added; ``aux`` are complete people of neither file. The same arguments give the
    same tables everywhere.

    Reference: the scenario of Torra, Abowd & Domingo-Ferrer 2006, *Using Mahalanobis distance-based
    record linkage for disclosure risk assessment*, doi:10.1007/11930242_20.

    >>> scene = linkage_scene(50, overlap=10, extra=5)
    >>> len(scene.a), len(scene.b), int((scene.truth >= 0).sum())
    (50, 15, 10)
    """
    for name, number in (("n", n), ("overlap", overlap)):
        at_least(name, number, 1)
    for name, number in (
        ("extra", extra),
        ("shared", shared),
        ("only_a", only_a),
        ("only_b", only_b),
        ("aux", aux),
    ):
        at_least(name, number, 0)
    if overlap > n or not shared + only_a or not shared + only_b:
        raise ParameterError(
            "linkage_scene: both files need a column, and at most as many people can be in both "
            "as are in the first"
        )
    if not 0 <= rho <= 1 or not 0 <= noise < np.inf:
        raise ParameterError("linkage_scene: rho must be between 0 and 1, and noise 0 or more")
    draws = PhiloxDraws(seed)
    names = {
        kind: [f"{kind}{i + 1}" for i in range(size)]
        for kind, size in zip("sab", (shared, only_a, only_b), strict=True)
    }
    # All people at once: those of the table, the strangers, then those of the auxiliary file.
    people = _people(draws, n + extra + aux, [*names["s"], *names["a"], *names["b"]], rho)
    # What the intruder's file has of the same people is measured again, with an error.
    observed = {
        name: column + noise * _normal(draws, len(column)) for name, column in people.items()
    }
    # In random order, so that the place in the file reveals nothing.
    order = draws.order(overlap + extra)
    # The first people of the table are in both; strangers have the numbers from n on.
    rows = np.r_[:overlap, n : n + extra][order]
    numbers = np.array([f"p{i:05d}" for i in range(n + extra)])
    complete = slice(n + extra, None)
    # A shared column has two versions in the auxiliary file, exact and measured with error.
    intruder_columns = {as_theirs(name): observed[name][complete] for name in names["s"]}
    apart = {name: observed[name][complete] for name in names["b"]}
    return LinkageScene(
        _table(
            "a",
            {"id": numbers[:n]},
            {name: people[name][:n] for name in (*names["s"], *names["a"])},
            names["s"],
        ),
        _table(
            "b",
            {"id": numbers[rows]},
            {name: observed[name][rows] for name in (*names["s"], *names["b"])},
            names["s"],
        ),
        _table(
            "aux",
            {},
            {
                **{name: people[name][complete] for name in (*names["s"], *names["a"])},
                **apart,
                **intruder_columns,
            },
            (),
        ),
        np.where(rows < n, rows, NOT_IN_FILE).astype(np.int64),
    )


def _normal(draws: PhiloxDraws, size: int) -> NDArray[np.float64]:
    from scipy.special import ndtri

    # 0 has no finite normal quantile; the smallest step above it takes its place.
    deviates: NDArray[np.float64] = ndtri(np.clip(draws.uniform(size), 2.0**-53, None))
    return deviates


def _people(
    draws: PhiloxDraws, people: int, names: list[str], rho: float
) -> dict[str, NDArray[np.float64]]:
    loadings = _normal(draws, FACTORS * len(names)).reshape(FACTORS, len(names))
    # Loadings of length 1 give every column variance 1, whatever rho is.
    loadings /= np.linalg.norm(loadings, axis=0)
    factors = _normal(draws, people * FACTORS).reshape(people, FACTORS)
    own = _normal(draws, people * len(names)).reshape(people, len(names))
    values = np.sqrt(rho) * factors @ loadings + np.sqrt(1 - rho) * own
    return {name: values[:, at] for at, name in enumerate(names)}


def _table(
    name: str,
    direct: dict[str, NDArray[np.str_]],
    columns: dict[str, NDArray[np.float64]],
    known_columns: list[str] | tuple[str, ...],
) -> Table:
    attributes = {column: Attribute((Role.DROP,)) for column in direct}
    for column in columns:
        attributes[column] = Attribute(
            (Role.QUASI if column in known_columns else Role.KEEP,), Kind.NUMERIC
        )
    return as_dataset(
        f"linkage scene: {name}", (pl.DataFrame({**direct, **columns}), Schema(attributes)), NOTE
    )
