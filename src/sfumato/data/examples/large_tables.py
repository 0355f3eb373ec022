"""Generated tables of any size for measuring: ten million rows in seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core.hierarchy import TOP, Hierarchy
from sfumato.core.schema import Attribute, Kind
from sfumato.data.examples.draws import PhiloxDraws
from sfumato.data.examples.literature import (
    Example,
    as_dataset,
    at_least,
    either,
    from_columns,
    quasi,
    sensitive,
)
from sfumato.data.examples.people import flat_names, hospital_words, nested
from sfumato.errors import ParameterError
from sfumato.methods.hierarchies import Dates, Order, Tree, intervals, mask_right, suppress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table


QUANTILES = 1 << 16
OLDEST = 100
AREAS, ENDINGS = 300, 50
SEXES = ("female", "male")
SCHOOLING = tuple(f"ISCED {level}" for level in range(9))
EMPLOYMENTS = ("employee", "self-employed", "unemployed", "in training", "retired", "at home")
# Upper end of an age band, and the weights of the employments in their order.
EMPLOYMENT_BY_AGE = (
    (16, (0, 0, 0, 1, 0, 99)),
    (25, (45, 2, 8, 40, 0, 5)),
    (65, (72, 9, 6, 1, 4, 8)),
    (200, (4, 2, 0, 0, 92, 2)),
)
ILLNESSES = tuple(f"illness {number:02d}" for number in range(60))


def large(
    rows: int = 1_000_000, *, columns: int = 6, distinct: str = "few", seed: int = 17
) -> Table:
    """A table for benchmarks: up to nine quasi-identifiers of realistic size, and one sensitive
    column.

    In the order in which ``columns`` takes them: age (100 years), sex (2), zip (300 areas of 3
    digits), nationality (26), marital_status (6, depends on age), education (9), employment (6,
    depends on age), household_size (8), occupation (36); all skewed, all with
    hierarchies. Sensitive: illness (60 values).

    ``distinct="few"`` has far fewer combinations than rows. With ``"many"`` birth_date (100 years
    of days) stands for age and zip has five digits (15,000 codes): from three columns on most rows
    are unique. Text is stored as polars Enum. The same arguments give the same table on every
    machine.
    """
    return as_dataset(
        "large", _large(rows, columns, distinct, seed), "generated; no real person is in it"
    )


def _large(
    rows: int = 1_000_000, columns: int = 6, distinct: str = "few", seed: int = 17
) -> Example:
    from sfumato.data.examples.draws import PhiloxDraws

    if not 1 <= columns <= len(_MAKERS):
        raise ParameterError(f"columns must lie between 1 and {len(_MAKERS)}, not {columns}")
    detailed = either("distinct", distinct, ("few", "many")) == "many"
    draws = PhiloxDraws(seed)
    # Drawn first, as other columns depend on it; equally likely up to 60, then ever fewer.
    age = _draw_codes(
        draws,
        at_least("rows", rows, 1),
        [4.0 if year < 60 else 4.0 * (1 - (year - 60) / 42) for year in range(OLDEST)],
    )
    built = {name: make(draws, age, detailed) for name, make in list(_MAKERS.items())[:columns]}
    if detailed:
        # A date of birth stands in the place of the age, and keeps its place as the first column.
        built = {"birth_date": built.pop("age")} | built
    attributes = {name: _attribute(name, detailed) for name in built} | {"illness": sensitive()}
    return from_columns(
        attributes,
        built
        | {"illness": _enum(ILLNESSES, _draw_codes(draws, rows, _falling(len(ILLNESSES), 0.8)))},
    )


def _quantiles(weights: Sequence[float]) -> NDArray[np.uint16]:
    """Table that turns a whole number below 65536 into a position drawn in proportion to the
    weights.
    """
    steps = np.cumsum(np.asarray(weights, dtype=np.float64))
    # The middle of each of the 65536 parts, so that shares are rounded evenly.
    middles = (np.arange(QUANTILES) + 0.5) / QUANTILES * steps[-1]
    quantiles: NDArray[np.uint16] = np.searchsorted(steps, middles, side="right").astype(np.uint16)
    return quantiles


def _draw_codes(draws: PhiloxDraws, rows: int, weights: Sequence[float]) -> NDArray[np.uint16]:
    return _quantiles(weights)[draws.short(rows)]


def _drawn_by_age(
    draws: PhiloxDraws, age: NDArray[np.uint16], bands: Sequence[tuple[int, Sequence[float]]]
) -> NDArray[np.uint16]:
    """Draw with the weights of the first band whose upper end lies above the age."""
    # One table of quantiles a band, behind one another: band and draw together are a place in it.
    tables = np.concatenate([_quantiles(weights) for _, weights in bands])
    # The band of every age, looked up once for each age instead of each row.
    band = np.searchsorted([top for top, _ in bands], np.arange(OLDEST), side="right")
    values: NDArray[np.uint16] = tables[
        (band * QUANTILES).astype(np.uint32)[age] + draws.short(len(age))
    ]
    return values


def _falling(count: int, power: float) -> list[float]:
    return [float((rank + 1) ** -power) for rank in range(count)]


def _enum(labels: Sequence[str], codes: NDArray[np.uint16]) -> pl.Series:
    return pl.Series(labels, dtype=pl.Enum(labels)).gather(pl.Series(codes.astype(np.uint32)))


def _age(draws: PhiloxDraws, age: NDArray[np.uint16], detailed: bool) -> Any:
    if not detailed:
        return age.astype(np.int16)
    # A random day within the year of life.
    days = age.astype(np.int32) * 365 + draws.short(len(age)) % 365
    return np.datetime64("2024-12-31") - days.astype("timedelta64[D]")


def _zip(draws: PhiloxDraws, age: NDArray[np.uint16], detailed: bool) -> Any:
    area = _draw_codes(draws, len(age), _falling(AREAS, 1.2))
    if not detailed:
        # Steps of 7 spread the codes over all first digits.
        return _enum([f"{7 * number % 1000:03d}" for number in range(AREAS)], area)
    codes = [
        f"{7 * number % 1000:03d}{2 * ending:02d}"
        for number in range(AREAS)
        for ending in range(ENDINGS)
    ]
    return _enum(
        codes,
        # Area and ending together are the place in the list of codes; 15,000 fit into 16 bits.
        (area * np.uint16(ENDINGS) + _draw_codes(draws, len(age), _falling(ENDINGS, 0.5))).astype(
            np.uint16
        ),
    )


def _nationality(draws: PhiloxDraws, age: NDArray[np.uint16], detailed: bool) -> Any:
    names = flat_names(hospital_words().nationalities)
    return _enum(names, _draw_codes(draws, len(age), [20.0, *_falling(len(names) - 1, 1.5)]))


def _marital(draws: PhiloxDraws, age: NDArray[np.uint16], detailed: bool) -> Any:
    return _enum(
        flat_names(hospital_words().marital_statuses),
        _drawn_by_age(draws, age, hospital_words().marital_status_by_age),
    )


def _occupation(draws: PhiloxDraws, age: NDArray[np.uint16], detailed: bool) -> Any:
    names = flat_names(hospital_words().occupations)
    return _enum(names, _draw_codes(draws, len(age), _falling(len(names), 0.7)))


def _size(draws: PhiloxDraws, age: NDArray[np.uint16], detailed: bool) -> Any:
    return (1 + _draw_codes(draws, len(age), (22, 33, 18, 16, 6, 3, 1.5, 0.5))).astype(np.int16)


_MAKERS: dict[str, Callable[[PhiloxDraws, NDArray[np.uint16], bool], Any]] = {
    "age": _age,
    "sex": lambda draws, age, detailed: _enum(SEXES, _draw_codes(draws, len(age), (51, 49))),
    "zip": _zip,
    "nationality": _nationality,
    "marital_status": _marital,
    "education": lambda draws, age, detailed: _enum(
        SCHOOLING, _draw_codes(draws, len(age), (1, 4, 18, 38, 4, 4, 17, 13, 1))
    ),
    "employment": lambda draws, age, detailed: _enum(
        EMPLOYMENTS, _drawn_by_age(draws, age, EMPLOYMENT_BY_AGE)
    ),
    "household_size": _size,
    "occupation": _occupation,
}
"""How each quasi-identifier is drawn, in the order in which ``columns`` takes them."""


def _attribute(name: str, detailed: bool) -> Attribute:
    kinds = {
        "age": Kind.NUMERIC,
        "household_size": Kind.NUMERIC,
        "birth_date": Kind.DATE,
        "education": Kind.ORDINAL,
    }
    options = {"order": SCHOOLING} if name == "education" else {}
    return quasi(_hierarchy(name, detailed), kinds.get(name, Kind.NOMINAL), **options)


def _hierarchy(name: str, detailed: bool) -> Hierarchy:
    built: dict[str, Callable[[], Hierarchy]] = {
        "age": lambda: intervals(5, 10, 20),
        "birth_date": lambda: Dates(levels=("month", "year", "decade")),
        "zip": lambda: mask_right(5 if detailed else 3),
        "nationality": lambda: Tree({TOP: nested(hospital_words().nationalities)}),
        "marital_status": lambda: Tree({TOP: nested(hospital_words().marital_statuses)}),
        "education": lambda: Order(SCHOOLING, sizes=(3,)),
        "household_size": lambda: intervals(2, 4),
        "occupation": lambda: Tree({TOP: nested(hospital_words().occupations)}),
    }
    return built.get(name, suppress)()
