"""Worked tables about releases: what two of them tell together, and what overlapping cells hide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.hierarchy import TOP
from sfumato.core.schema import Kind
from sfumato.examples.tables import Example, as_dataset, either, from_rows, plain, quasi, sensitive

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.core.hierarchy import Hierarchy

PRACTICE = (
    ("<30", ("HIV", "Heart disease", "Cancer")),
    ("3*", ("Cancer", "Lung oedema", "Pelvic fracture")),
    (">=40", ("HIV", "Hepatitis", "Common cold")),
)
CLINIC = (
    ("<40", ("HIV", "Common cold", "Lung oedema", "Common cold", "Lung oedema")),
    (">=40", ("Irritation", "Pelvic fracture", "HIV", "Common cold", "Common cold")),
)


def john(*, release: str = "practice") -> Dataset:
    """Diagnoses of two doctors, each release anonymous by itself; John saw both.

    ``"practice"`` is 3-anonymous and 3-diverse. ``"clinic"`` is 5-anonymous and 3-diverse: its class below 40
    holds only three different diagnoses, although the source calls it 4-diverse. Together: if John is below
    30 he has HIV; in his thirties, a lung oedema; from 40 on, HIV with probability 1/3 or a common cold with
    2/3 (product of the two class distributions, normalised). Ages printed as ``>39`` and ``4*`` are both
    ``>=40`` here, and ``Palvic`` is a pelvic fracture.

    Reference: A. Gerl, lecture chapter *Privacy risks and anonymisation techniques*, University of Passau,
    2021/22; the attack is of S. R. Ganta, S. P. Kasiviswanathan and A. Smith, KDD 2008,
    https://doi.org/10.1145/1401890.1401926.
    """
    return as_dataset(f"john ({release})", _john(release))


def john_releases() -> tuple[Dataset, Dataset]:
    """Both releases of :func:`john`: the practice's and the clinic's."""
    return john(release="practice"), john(release="clinic")


def _john(release: str = "practice") -> Example:
    from sfumato.hierarchies import Table, suppress

    either("release", release, ("practice", "clinic"))
    ages = Table([("<30", "<40", "*"), ("3*", "<40", "*"), (">=40", ">=40", "*")])
    columns = {"zip": quasi(suppress()), "age": quasi(ages, Kind.ORDINAL), "diagnosis": sensitive()}
    classes = PRACTICE if release == "practice" else CLINIC
    return from_rows(columns, [("940**", age, diagnosis) for age, found in classes for diagnosis in found])


CONDITIONS = (
    ("13053", 28, "Russian", "Heart disease"),
    ("13068", 29, "American", "Heart disease"),
    ("13068", 21, "Japanese", "Viral infection"),
    ("13053", 23, "American", "Viral infection"),
    ("14853", 50, "Indian", "Cancer"),
    ("14853", 55, "Russian", "Heart disease"),
    ("14850", 47, "American", "Viral infection"),
    ("14850", 49, "American", "Viral infection"),
    ("13053", 31, "American", "Cancer"),
    ("13053", 37, "Indian", "Cancer"),
    ("13068", 36, "Japanese", "Cancer"),
    ("13068", 35, "American", "Cancer"),
)
CONDITION_CLASSES = {
    "anonymous": (("130**", "<30"), ("1485*", ">=40"), ("130**", "3*")),
    "diverse": (("1305*", "<=40"), ("1485*", ">40"), ("1306*", "<=40")),
}
CONDITION_ROWS = {
    "anonymous": (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
    "diverse": (0, 3, 8, 9, 4, 5, 6, 7, 1, 2, 10, 11),
}


def conditions(*, release: str = "none") -> Dataset:
    """Twelve patients: all unique, then 4-anonymous, then 3-diverse as well.

    ``release="anonymous"`` has three classes of four, and everyone of (130**, 3*) has cancer. ``"diverse"``
    regroups them so that each class of four holds three conditions.

    Reference: A. Machanavajjhala, D. Kifer, J. Gehrke and M. Venkitasubramaniam, *ℓ-diversity*, ACM TKDD 1(1),
    2007, figures 1 to 3, https://doi.org/10.1145/1217299.1217302.
    """
    return as_dataset("conditions", _conditions(release))


def _conditions(release: str = "none") -> Example:
    from sfumato.hierarchies import intervals, mask_right, suppress

    either("release", release, ("none", *CONDITION_CLASSES))
    columns = {
        "zip": quasi(mask_right(5)),
        "age": quasi(intervals(10, 20), Kind.NUMERIC),
        "nationality": quasi(suppress()),
    }
    if release == "none":
        return from_rows(columns | {"condition": sensitive()}, CONDITIONS)
    columns["age"] = quasi(suppress(), Kind.ORDINAL)
    classes, rows = CONDITION_CLASSES[release], CONDITION_ROWS[release]
    released = [(*classes[place // 4], "*", CONDITIONS[row][3]) for place, row in enumerate(rows)]
    return from_rows(columns | {"condition": sensitive()}, released)


RING = (("1", "1,2"), ("2", "2,3"), ("3", "3,4"), ("4", "4,1"))


def ring(*, released: bool = False) -> Dataset:
    """Four people whose released cells overlap in a ring: 2-concealed although each cell is unique.

    The originals are 1, 2, 3, 4; released are the sets {1,2}, {2,3}, {3,4}, {4,1}, written with commas, in the
    same order of people. Every original fits two released cells, every cell two originals, and every such
    pair lies in a perfect matching: 2-concealment, (1,2)- and (2,1)-anonymity, with k-anonymity of level 1.

    Reference: T. Tassa, A. Mazza and A. Gionis, *k-concealment: an alternative model of k-type anonymity*,
    Transactions on Data Privacy 5(1), 2012; the ring is ours.
    """
    return as_dataset("ring", _ring(released))


def _ring(released: bool = False) -> Example:
    return from_rows({"place": quasi()}, [(pair[released],) for pair in RING])


ILLNESS_TREE = {
    "Fracture": ["Pelvic fracture", "Forearm fracture"],
    "Virus infection": ["HIV", "Hepatitis"],
    "Bacterial infection": ["Common cold"],
}


def illness_tree() -> Hierarchy:
    """Five illnesses under three groups: the tree of the height and loss examples.

    Three levels, so generalising to the groups has height 1/(3−1) = 0.5. Loss of HIV as a virus infection is
    (2−1)/(5−1) = 0.25; of a common cold as a bacterial infection, the only leaf there, 0 (the numbers matter;
    medically a cold is no bacterial infection). The source gives the tree as a picture: ``Forearm fracture``
    and ``Hepatitis`` are our names for the two leaves its text does not mention.

    Reference: A. Gerl, lecture chapter *Privacy risks and anonymisation techniques*, University of Passau, 2021/22.
    """
    from sfumato.hierarchies import Tree

    return Tree({TOP: ILLNESS_TREE})


def illnesses() -> Dataset:
    """Four patients with an illness of :func:`illness_tree`: losing the illness is worse than losing the sex."""
    return as_dataset("illnesses", _illnesses())


def _illnesses() -> Example:
    from sfumato.hierarchies import suppress

    columns = {"sex": quasi(suppress()), "illness": quasi(illness_tree())}
    rows = [("female", "HIV"), ("male", "HIV"), ("male", "Common cold"), ("male", "Pelvic fracture")]
    return from_rows(columns, rows)


STUDENTS = (
    ("f", 20, "secondary"),
    ("f", 20, "tertiary"),
    ("m", 18, "secondary"),
    ("f", 23, "postgraduate"),
    ("m", 18, "secondary"),
    ("f", 21, "tertiary"),
    ("m", 25, "postgraduate"),
    ("m", 19, "secondary"),
    ("f", 23, "tertiary"),
)
SCHOOLING = ("secondary", "tertiary", "postgraduate")


def students(*, coded: bool = False) -> Dataset:
    """Nine students, and the same with age and education coded at the top.

    ``coded=True`` turns ages above 20 into ``21+`` and the two upper educations into ``tertiary and above``:
    classes of 2 and seven of 1 become 3, 2 and four of 1. The source's caption says ages from 20 on; its table
    codes those above 20, as here.

    Reference: A. Gerl, lecture chapter *Privacy risks and anonymisation techniques*, University of Passau, 2021/22.
    """
    return as_dataset("students", _students(coded))


def _top_age(age: int) -> str:
    return "21+" if age > 20 else str(age)


def _top_school(level: str) -> str:
    return level if level == "secondary" else "tertiary and above"


def _students(coded: bool = False) -> Example:
    from sfumato.hierarchies import Table, suppress

    ages = Table([(str(age), _top_age(age), "*") for age in sorted({row[1] for row in STUDENTS})])
    schools = Table([(level, _top_school(level), "*") for level in SCHOOLING])
    order = ("secondary", "tertiary and above") if coded else SCHOOLING
    columns = {
        "sex": quasi(suppress()),
        "age": quasi(ages, Kind.ORDINAL if coded else Kind.NUMERIC),
        "education": quasi(schools, Kind.ORDINAL, order=order),
    }
    if coded:
        return from_rows(columns, [(sex, _top_age(age), _top_school(level)) for sex, age, level in STUDENTS])
    return from_rows(columns, STUDENTS)


def incomes(*, swapped: bool = False) -> Dataset:
    """Three people, and the illness of the one at risk swapped with the nearest income.

    The third record, above 80 and ill, is at risk. By income its neighbour is the first: after
    ``swapped=True`` the person with 100 a day is ill and the one with 120 is not. That is a swap guided by
    similarity; rank swapping would exchange the incomes themselves. ``10.000`` in the source is ten thousand.

    Reference: A. Gerl, lecture chapter *Privacy risks and anonymisation techniques*, University of Passau, 2021/22.
    """
    return as_dataset("incomes", _incomes(swapped))


def _incomes(swapped: bool = False) -> Example:
    columns = {"age": quasi(), "gender": quasi(), "income": plain(Kind.NUMERIC), "illness": sensitive()}
    ill = ("y", "n", "n") if swapped else ("n", "n", "y")
    people = (("15-24", "m", 100), ("15-24", "m", 10000), (">80", "f", 120))
    return from_rows(columns, [(*person, state) for person, state in zip(people, ill, strict=True)])
