"""What public classifications consist of: facts about their codes, read from data files on use."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TypedDict

from sfumato.core.data_files import read_data_file


class Countries(TypedDict):
    """ISO 3166-1 (249 countries) and the United Nations' regions (M49).

    ``regions`` has the sub-regions of each region; Antarctica is in none and is its own.
    ``sub_regions`` has the sub-region of each intermediate region, and ``countries`` the alpha-2
    and alpha-3 codes in each finest region. M49 has no entry for TW; it is listed with its
    neighbours. The intermediate region of the Channel Islands, two islands, is left out.
    """

    regions: Mapping[str, Sequence[str]]
    sub_regions: Mapping[str, str]
    countries: Mapping[str, Sequence[tuple[str, str]]]


def countries() -> Countries:
    """Countries and their regions."""
    lists: Countries = read_data_file(__package__, "countries")
    return lists


class States(TypedDict):
    """US Census Bureau, Census Regions and Divisions: 50 states and the District of Columbia.

    ``regions`` has the divisions of each region, ``divisions`` the USPS code and name of the states
    in each division.
    """

    regions: Mapping[str, Sequence[str]]
    divisions: Mapping[str, Mapping[str, str]]


def us_states() -> States:
    """States of the USA, their divisions and regions."""
    lists: States = read_data_file(__package__, "us_states")
    return lists


def icd10_chapters() -> Mapping[str, tuple[str, str]]:
    """Chapter → first and last category: WHO, ICD-10, version 2019, 22 chapters."""
    chapters: Mapping[str, tuple[str, str]] = read_data_file(__package__, "icd10_chapters")
    return chapters


def nace_sections() -> Mapping[str, tuple[int, int]]:
    """Section → first and last division: Regulation (EC) No 1893/2006, NACE Rev. 2.

    21 sections and 88 divisions; every number from the first to the last division is one.
    """
    sections: Mapping[str, tuple[int, int]] = read_data_file(__package__, "nace_sections")
    return sections


def isco08_groups() -> Mapping[str, Sequence[str]]:
    """Major group → second digits of its sub-major groups: ILO, ISCO-08, 10 and 43 groups."""
    groups: Mapping[str, Sequence[str]] = read_data_file(__package__, "isco08_groups")
    return groups


def isced_groups() -> Mapping[str, Sequence[str]]:
    """Group → levels 0 to 8: UNESCO, ISCED 2011, as Eurostat groups it (ED0-2, ED3_4, ED5-8)."""
    groups: Mapping[str, Sequence[str]] = read_data_file(__package__, "isced_groups")
    return groups


@functools.cache
def nuts_countries() -> frozenset[str]:
    """Country codes that territorial units begin with: Regulation (EC) No 1059/2003 (NUTS).

    27 of the EU and 10 of EFTA and candidate countries as Eurostat codes them, and the United
    Kingdom of earlier versions.
    """
    return frozenset(read_data_file(__package__, "nuts_countries"))
