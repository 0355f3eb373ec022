"""Worked tables about k-anonymity: who hides among how many."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from sfumato.core.data_files import read_data_file
from sfumato.core.fields import Fields
from sfumato.core.schema import Attribute, Kind, Missing, Role, Schema
from sfumato.core.source import Source
from sfumato.core.table import Table
from sfumato.data.examples.draws import PhiloxDraws
from sfumato.errors import ParameterError, did_you_mean
from sfumato.methods.hierarchies import TableHierarchy, intervals, suppress

if TYPE_CHECKING:
    from sfumato.core.hierarchy import Hierarchy


Example: TypeAlias = "tuple[pl.DataFrame, Schema]"
"""A bundled table before it is wrapped: its frame and its schema."""
PATIENT_AGES = {
    "single": ["[25-28]"] * 6,
    "multi": ["[25-26]", "[25-27]", "[25-26]", "[27-28]", "[25-27]", "[27-28]"],
}
LOW_ZIP = "[53710-53711]"
PATIENT_ZIPS = {
    "single": [LOW_ZIP, "53712", LOW_ZIP, LOW_ZIP, "53712", LOW_ZIP],
    "multi": ["53711", "53712", "53711", LOW_ZIP, "53712", LOW_ZIP],
}


# What all bundled tables are made of: columns with a role, rows, and explicit hierarchies.


def direct() -> Attribute:
    """Column that names a person."""
    return Attribute((Role.DROP,), kind=Kind.TEXT)


def quasi(
    hierarchy: Hierarchy | None = None, kind: Kind = Kind.NOMINAL, **options: Any
) -> Attribute:
    """Column an intruder may know."""
    return Attribute((Role.QUASI,), kind=kind, hierarchy=hierarchy, **options)


def sensitive(
    kind: Kind = Kind.NOMINAL, hierarchy: Hierarchy | None = None, **options: Any
) -> Attribute:
    """Column an intruder wants to learn."""
    return Attribute((Role.SENSITIVE,), kind=kind, hierarchy=hierarchy, **options)


def plain(kind: Kind = Kind.NOMINAL) -> Attribute:
    """Column that is neither."""
    return Attribute((Role.KEEP,), kind=kind)


def from_rows(attributes: Mapping[str, Attribute], rows: Iterable[Sequence[Any]]) -> Example:
    """Table with the given columns, row by row."""
    return pl.DataFrame(list(rows), schema=list(attributes), orient="row"), Schema(attributes)


def from_columns(attributes: Mapping[str, Attribute], columns: Fields) -> Example:
    """Table with the given columns, each an array, a list or a series."""
    return pl.DataFrame({name: columns[name] for name in attributes}), Schema(attributes)


def expand(blocks: Mapping[str, Sequence[int]], values: Sequence[str]) -> list[tuple[str, str]]:
    """Rows (block, value) from counts: ``blocks[b][i]`` rows of block *b* have ``values[i]``.

    >>> expand({"a": [1, 2]}, ["yes", "no"])
    [('a', 'yes'), ('a', 'no'), ('a', 'no')]
    """
    rows = []
    for block, counts in blocks.items():
        for value, count in zip(values, counts, strict=True):
            rows += [(block, value)] * count
    return rows


def rungs(values: Iterable[str], *climb: Callable[[str], str]) -> list[tuple[str, ...]]:
    """One path per value: itself, then what each function makes of it.

    >>> rungs(["35138"], lambda v: v[:4] + "*", lambda v: v[:3] + "**")
    [('35138', '3513*', '351**')]
    """
    return [(value, *(step(value) for step in climb)) for value in values]


def masked(length: int) -> Callable[[str], str]:
    """Function that keeps the first characters of a code and stars the others."""
    return lambda value: value[:length] + "*" * (len(value) - length)


def either(name: str, option: str, choices: Iterable[str]) -> str:
    """The given option when it is known; otherwise an error that says what there is."""
    options = tuple(choices)
    if option not in options:
        raise ParameterError(f"{name} {option!r} is not known.{did_you_mean(option, options)}")
    return option


def at_least(name: str, number: int, minimum: int) -> int:
    """The given number when it is large enough."""
    if number < minimum:
        raise ParameterError(f"{name} must be at least {minimum}, not {number}")
    return number


def as_dataset(name: str, example: Example, *notes: str) -> Table:
    """Wrap a frame and its schema into a dataset that says where it came from."""
    frame: Any = example[0]  # the dataset takes any eager frame and wraps it
    return Table(frame, example[1], source=Source(name=name, notes=notes))


def torra(*, original: bool = False) -> Table:
    """Five patients in two classes: 2-anonymous for city and age, and still telling.

    Classes of 2 and 3. Everyone of (Barcelona, 30) has cancer (homogeneity); HYU, who knows their
    own row, learns that the two others of (Tarragona, 60) have AIDS. ``original=True`` gives the
    six people before publication, all of them unique.

    The published table on one slide of the source lost a row and swapped an illness in print; this
    is the consistent five-row table of its later slides.

    Reference: V. Torra, *Privacy models and disclosure risk*, slides, Umeå University, 2020.
    """
    return as_dataset("torra", _torra(original))


def _torra(original: bool = False) -> Example:
    rows = read_data_file(__package__, "torra")
    columns = {
        "respondent": direct(),
        "city": quasi(suppress()),
        "age": quasi(intervals(10, 30), Kind.NUMERIC),
        "illness": sensitive(),
    }
    return from_rows(columns, rows["original" if original else "published"])


def sandhu(rows: int = 1000, *, positives: int = 5, seed: int = 7) -> Table:
    """Patients with a rare diagnosis: how many classes can hold two different values at all?

    Key attributes age, height and weight; ``positives`` of the rows have ``aids = yes``. Every
    class that is 2-sensitive needs one of them, so at most ``positives`` classes can be formed: 5
    of 1000 rows give 5; a share of 1 % of 10 000 rows gives 100. In a class with as many yes as no
    the lift is 100. The measurements are generated; only the counts are the literature's.

    Reference: J. Domingo-Ferrer and V. Torra, *A critique of k-anonymity and some of its
    enhancements*, ARES 2008, example 2, as taught by R. Sandhu, *Privacy in microdata release*,
    slides, 2013; the bound is of T. M. Truta and B. Vinay, ICDEW 2006,
    https://doi.org/10.1109/ICDEW.2006.116.
    """
    return as_dataset("sandhu", _sandhu(rows, positives, seed))


def _sandhu(rows: int = 1000, positives: int = 5, seed: int = 7) -> Example:
    # There cannot be more positive rows than rows.
    at_least("rows", rows, at_least("positives", positives, 0))
    draws = PhiloxDraws(seed)
    height = np.rint(170 + 9 * draws.bell(rows)).astype(np.int64)
    # Weight depends on height, as it does in life.
    weight = np.rint(0.9 * (height - 90) + 11 * draws.bell(rows)).astype(np.int64)
    aids = np.full(rows, "no", dtype=object)
    aids[draws.order(rows)[:positives]] = "yes"
    columns = {
        "age": quasi(intervals(5, 10, 20), Kind.NUMERIC),
        "height": quasi(intervals(5, 10, 20), Kind.NUMERIC),
        "weight": quasi(intervals(5, 10, 20), Kind.NUMERIC),
        "aids": sensitive(),
    }
    return from_columns(
        columns,
        {"age": draws.whole(rows, 18, 90), "height": height, "weight": weight, "aids": list(aids)},
    )


def faggioli() -> Table:
    """Nine people, five quasi-identifiers, a lattice of 144 nodes: the smallest table worth
    searching.

    Every row is unique. Hierarchies: race → person; day → month → year → any date of birth; sex →
    any; ZIP of 5 → 4 → 3 digits, which is one single value here and therefore the top; marital
    status → been married or single → any. With levels in the order of the columns, the 2-minimal
    generalizations without suppression are (0,3,1,2,2), (1,2,0,1,2) and (1,2,0,2,1); the last has
    classes 4, 3, 2 and is the one drawn in the source. With at most two rows suppressed there are
    six, among them (1,1,0,2,1) with classes 3, 2, 2.

    Incomes are whole euros; the source prints ``33.000`` with a European thousands separator.

    Reference: G. Faggioli, *k-anonymity, ℓ-diversity, t-closeness*, slides, University of Padua,
    2025/26, after P. Samarati, IEEE TKDE 13(6), 2001, https://doi.org/10.1109/69.971193.
    """
    return as_dataset("faggioli", _faggioli())


def _faggioli() -> Example:
    rows = read_data_file(__package__, "faggioli")
    # Values that occur, sorted: hierarchies list every value.
    race, birth, postcode, marital = (sorted({row[i] for row in rows}) for i in (2, 3, 5, 6))
    columns = {
        "ssn": direct(),
        "name": direct(),
        "race": quasi(TableHierarchy(rungs(race, lambda v: "person"))),
        "birth": quasi(
            TableHierarchy(
                rungs(
                    birth, lambda v: v[:6] + "**", lambda v: v[:3] + "**/**", lambda v: "**/**/**"
                )
            )
        ),
        "sex": quasi(suppress()),
        "zip": quasi(TableHierarchy(rungs(postcode, masked(4), masked(3)))),
        "marital": quasi(
            TableHierarchy(
                rungs(marital, lambda v: v if v == "single" else "been_married", lambda v: "*")
            )
        ),
        "income": sensitive(Kind.NUMERIC),
    }
    return from_rows(columns, rows)


def patients(*, release: str = "none") -> Table:
    """Six patients, and two 2-anonymous releases of them: one recoding per column, or one per
    region.

    ``release="none"`` is the original, all six unique. ``"single"`` recodes whole columns: classes
    4 and 2, discernibility 20. ``"multi"`` is what Mondrian finds with k = 2 and the columns tried
    in the order zip, age,
    sex: classes 2, 2, 2, discernibility 12. Its intervals overlap, so that release has no age
    hierarchy.

    Reference: K. LeFevre, D. J. DeWitt and R. Ramakrishnan, *Mondrian multidimensional
    k-anonymity*, ICDE 2006, https://doi.org/10.1109/ICDE.2006.101; as taught by A. Gerl, University
    of Passau, 2021/22.
    """
    people = as_dataset("patients", _patients(release))
    if release == "none":
        return people
    # Row i of a release is patient i, so that attacks on the example can be scored.
    return dataclasses.replace(people, origin=np.arange(len(people)))


def _patients(release: str = "none") -> Example:
    either("release", release, ("none", "single", "multi"))
    rows = read_data_file(__package__, "patients")
    ages = TableHierarchy(
        [(str(age), "[25-26]" if age < 27 else "[27-28]", "[25-28]") for age in range(25, 29)]
    )
    zips = TableHierarchy(
        # 53712 stays alone on the first level; the two lower codes become an interval.
        [(z, z if z == "53712" else LOW_ZIP, "[53710-53712]") for z in ("53710", "53711", "53712")]
    )
    columns = {
        "age": quasi(
            # The intervals of this release overlap, so that no hierarchy has them all.
            None if release == "multi" else ages,
            Kind.NUMERIC if release == "none" else Kind.ORDINAL,
        ),
        "sex": quasi(suppress()),
        "zip": quasi(zips),
        "disease": sensitive(),
    }
    if release == "none":
        return from_rows(columns, rows)
    _, sexes, _, diseases = zip(*rows, strict=True)
    return from_columns(
        columns,
        {
            "age": PATIENT_AGES[release],
            "sex": list(sexes),
            "zip": PATIENT_ZIPS[release],
            "disease": list(diseases),
        },
    )


def regions(*, suppressed: str = "none") -> Table:
    """Seven people, one of them unique, and what one suppressed cell does under each missing-value
    rule.

    Record 1 is the only woman with higher education; class sizes per record are 1, 3, 3, 3, 3,
    3, 3. With its education (``suppressed="education"``) or its gender (``"gender"``) missing, and
    missing matching everything, the counts become 4, 3, 3, 3, 4, 4, 4 or 4, 4, 4, 4, 3, 3, 3; with
    missing as a category of its own, record 1 stays unique. The columns are marked
    ``missing="wildcard"``.

    Reference: A. Gerl, lecture chapter *Privacy risks and anonymisation techniques*, University of
    Passau, 2021/22, after the local suppression example of the sdcMicro practice guide.
    """
    return as_dataset("regions", _regions(suppressed))


def _regions(suppressed: str = "none") -> Example:
    either("suppressed", suppressed, ("none", "gender", "education"))
    first = {"gender": "female", "region": "rural", "education": "higher"} | (
        {} if suppressed == "none" else {suppressed: None}
    )
    other_rows = [("male", "rural", "higher")] * 3 + [("female", "rural", "lower")] * 3
    # Missing matches everything here: that is what the example shows.
    columns = {name: quasi(suppress(), missing=Missing.WILDCARD) for name in first}
    rows = [tuple(first.values()), *other_rows]
    return from_rows(
        {"record": plain(Kind.NUMERIC)} | columns,
        [(number, *row) for number, row in enumerate(rows, start=1)],
    )


# Worked tables about record-level risk: special uniques and survey weights.


def special_uniques() -> Table:
    """Ten people of whom three are unique, each for another reason.

    Minimal sample uniques: record 5 by gender alone (score 3! = 6), record 8 by age alone (6),
    record 9 by age, gender and education together (1); all others score 0. Four records stand in
    pairs, so with a sampling share of 0.1 the share of uniques that are unique in the population is
    3·0.1/(3·0.1 + 4·0.9) = 1/13.

    Reference: the score is of M. J. Elliot, A. M. Manning and R. W. Ford, *A computational
    algorithm for handling the special uniques problem*, 2002; the table is ours, in the form of the
    example of the sdcMicro practice guide.
    """
    return as_dataset("special_uniques", _special_uniques())


def _special_uniques() -> Example:
    return from_rows(
        {name: quasi(suppress()) for name in ("age", "gender", "income", "education")},
        read_data_file(__package__, "special_uniques"),
    )


def weighted_keys() -> Table:
    """Eight respondents with survey weights: the same class size, very different risk.

    Class sizes per record f = 2, 2, 2, 1, 1, 1, 1, 2 and summed weights F = 110, 84.5, 84.5, 17,
    541, 8, 5, 110. The individual risk E[1/F | f] is 0.017144, 0.022042, 0.022042, 0.177076,
    0.011654, 0.297063, 0.402359 and 0.017144, in all 0.966526 expected re-identifications.

    Reference: R. Benedetti and L. Franconi, *Statistical and technological solutions for controlled
    data dissemination*, 1998. Weights and class structure are those of a small table much used in
    the literature on individual risk; the keys are ours.
    """
    return as_dataset("weighted_keys", _weighted_keys())


def _weighted_keys() -> Example:
    keys = {name: quasi(suppress()) for name in ("region", "work", "place")}
    columns = keys | {"weight": Attribute((Role.WEIGHT,), kind=Kind.NUMERIC)}
    return from_rows(columns, read_data_file(__package__, "weighted_keys"))
