"""Worked tables about what a class tells: diversity, similarity and closeness of a sensitive
column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.data_files import read_data_file
from sfumato.core.hierarchy import TOP, Hierarchy
from sfumato.core.schema import Attribute, Kind
from sfumato.data.examples.literature import (
    Example,
    as_dataset,
    either,
    expand,
    from_rows,
    masked,
    plain,
    quasi,
    rungs,
    sensitive,
)
from sfumato.methods.hierarchies import TableHierarchy, Tree, intervals, mask_right, suppress

if TYPE_CHECKING:
    from sfumato.core.table import Table


# Per class what its three people show: ZIP code and age.
SIMILAR = (("476**", "2*"), ("4790*", ">=40"), ("476**", "3*"))
SPREAD = (("4767*", "<40"), ("4790*", ">=40"), ("4760*", "<40"))
SPREAD_ROWS = (0, 2, 7, 3, 4, 5, 1, 6, 8)
"""Rows of the original in the order in which the regrouped table prints them, three a class."""
# Per class ZIP code and age, and the salaries of its people in thousands.
ANCONA = (("601**", "2*", (3, 4, 5)), ("6012*", "4*", (6, 11, 8)), ("601**", "3*", (7, 9, 10)))
CONDITION_CLASSES = {
    "anonymous": (("130**", "<30"), ("1485*", ">=40"), ("130**", "3*")),
    "diverse": (("1305*", "<=40"), ("1485*", ">40"), ("1306*", "<=40")),
}
CONDITION_ROWS = {
    "anonymous": (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11),
    "diverse": (0, 3, 8, 9, 4, 5, 6, 7, 1, 2, 10, 11),
}
# Per person the original value and the released set.
RING = (("1", "1,2"), ("2", "2,3"), ("3", "3,4"), ("4", "4,1"))
# Top label left out here; the function puts it above.
ILLNESS_TREE = {
    "Fracture": ["Pelvic fracture", "Forearm fracture"],
    "Virus infection": ["HIV", "Hepatitis"],
    "Bacterial infection": ["Common cold"],
}
SCHOOLING = ("secondary", "tertiary", "postgraduate")


def salaries(*, grouping: str = "none") -> Table:
    """Nine salaries (in thousands), and two 3-anonymous, 3-diverse groupings of them.

    ``grouping="similar"`` puts 3, 4, 5 into one class: whoever is in it earns little. Ordered
    distance to the table per class: 0.375, 1/6 and 17/72, so 0.375-close. ``"spread"`` has 1/6, 1/6
    and 1/12: 0.167-close. The equal distance is 2/3 for all six classes; the entropy of each is log
    3 exactly. The source prints overlapping ages ≤40 and ≥40; nobody is 40, and the first is
    ``<40`` here.

    Reference: N. Li, T. Li and S. Venkatasubramanian, *t-closeness*, ICDE 2007, tables 3 to 5,
    https://doi.org/10.1109/ICDE.2007.367856.
    """
    return as_dataset("salaries", _grouped(grouping, "salary", "salary", sensitive(Kind.NUMERIC)))


def diseases(*, grouping: str = "none") -> Table:
    """The nine people of :func:`salaries` with their diseases, which form a tree of height 3.

    ``grouping="similar"`` has one class of stomach diseases only. The hierarchical distances of the
    classes of ``"spread"`` are 7/27, 8/27 and 5/27, so 0.2963-close. The paper's 0.278 = 5/18
    counts each of the six diseases once instead of as often as it occurs.

    Reference: as for :func:`salaries`.
    """
    return as_dataset("diseases", _diseases(grouping))


def _diseases(grouping: str = "none") -> Example:
    return _grouped(grouping, "disease", "disease", sensitive(hierarchy=disease_tree()))


def disease_tree() -> Hierarchy:
    """Tree of ten diseases under four organs and two systems, as in the t-closeness paper."""
    return Tree({TOP: read_data_file(__package__, "disease_tree")})


def heart(*, grouping: str = "none") -> Table:
    """Nine patients of whom three share a class and an illness: k-anonymity without diversity.

    ``grouping="similar"`` is 3-anonymous, but everyone of (476**, 2*) has a heart disease; Alice,
    36 and of 47673, has cancer with probability 2/3.

    Reference: as for :func:`salaries`, tables 1 and 2.
    """
    return as_dataset("heart", _grouped(grouping, "heart_disease", "disease", sensitive()))


def _grouped(grouping: str, field: str, name: str, attribute: Attribute) -> Example:
    """The nine people as they are, or in the two groupings of the paper."""
    either("grouping", grouping, ("none", "similar", "spread"))
    people = read_data_file(__package__, "salaries_and_diseases")
    zips = TableHierarchy(
        # The last rung is the top: every value ends there.
        rungs([person["zip"] for person in people], masked(4), masked(3), lambda v: "*")
    )
    ages = TableHierarchy(
        rungs(
            [str(person["age"]) for person in people],
            masked(1),
            lambda v: "<40" if int(v) < 40 else ">=40",
            lambda v: "*",
        )
    )
    columns = {
        "zip": quasi(zips),
        # Released ages such as <40 are labels and no numbers any more.
        "age": quasi(ages, Kind.NUMERIC if grouping == "none" else Kind.ORDINAL),
        name: attribute,
    }
    if grouping == "none":
        rows = [(person["zip"], person["age"], person[field]) for person in people]
        return from_rows(columns, rows)
    # The first grouping keeps the order of people; the second prints them otherwise.
    order = range(9) if grouping == "similar" else SPREAD_ROWS
    classes = SIMILAR if grouping == "similar" else SPREAD
    return from_rows(
        # Three people a class, one class behind the other.
        columns,
        [(*classes[at // 3], people[row][field]) for at, row in enumerate(order)],
    )


def ancona() -> Table:
    """The salary classes of :func:`salaries` under the ZIP codes of Ancona: distinct and entropy
    3-diverse.

    Three classes of three salaries, all different: the entropy of each is log 3, so entropy
    3-diversity holds with equality and fails under a strict comparison. Bob, 23 and of 60121, earns
    3 to 5 thousand.

    Reference: G. Faggioli, *k-anonymity, ℓ-diversity, t-closeness*, slides, University of Padua,
    2025/26.
    """
    return as_dataset("ancona", _ancona())


def _ancona() -> Example:
    columns = {"zip": quasi(), "age": quasi(), "salary": sensitive(Kind.NUMERIC)}
    return from_rows(
        columns, [(postcode, age, salary) for postcode, age, earned in ANCONA for salary in earned]
    )


def faggioli_blocks() -> Table:
    """Five classes of 140, 130, 140, 120 and 210 people over five incomes: diversity computed by
    hand.

    Distinct values 4, 5, 5, 3, 5; entropies 1.2540, 0.6426, 1.4701, 0.8877 and 1.4104 nats, so
    effectively 3.50, 1.90, 4.35, 2.43 and 4.10 values. The source heads the last income ``<30k``
    where ``>30k`` is meant, shifts the row labels of one table and rounds the entropies on the way;
    all three are mended here.

    Reference: G. Faggioli, *k-anonymity, ℓ-diversity, t-closeness*, slides, University of Padua,
    2025/26.
    """
    return as_dataset("faggioli_blocks", _faggioli_blocks())


def _faggioli_blocks() -> Example:
    counts = read_data_file(__package__, "faggioli_blocks")
    incomes = tuple(counts["incomes"])
    # The order of incomes matters for ordered distances.
    columns = {"block": quasi(suppress()), "income": sensitive(Kind.ORDINAL, order=incomes)}
    return from_rows(columns, expand(counts["blocks"], incomes))


def diversity_counterexamples() -> Table:
    """Two classes of ten that show entropy and recursive diversity to be incomparable.

    Class ``steep`` holds 8, 1 and 1 of three values: recursive (5,2) holds as 8 < 5·2, entropy 2
    does not, as H = 0.639 < log 2. Class ``twin`` holds 4, 4, 1, 1: exp(H) = 3.30, so entropy 3
    holds, and recursive (1,3) does not, as 4 < 2 is false.

    Reference: the notions are of A. Machanavajjhala et al., *ℓ-diversity*, ACM TKDD 1(1), 2007,
    https://doi.org/10.1145/1217299.1217302; the counts are ours.
    """
    return as_dataset("diversity_counterexamples", _diversity_counterexamples())


def _diversity_counterexamples() -> Example:
    columns = {"block": quasi(suppress()), "illness": sensitive()}
    return from_rows(
        columns,
        # Counts per class and value; the zero shows a value that only the other class has.
        expand({"steep": (8, 1, 1, 0), "twin": (4, 4, 1, 1)}, ("flu", "asthma", "gout", "measles")),
    )


def disclosure_counterexample() -> Table:
    """150 people in three classes whose merging raises δ-disclosure when absent values are skipped.

    Counts (2, 8), (0, 30), (28, 82) of a value with shares 0.2 and 0.8. Skipping absent values the
    classes have 0, 0.223 and 0.241; the first two merged, (2, 38), have 1.386. Counted strictly,
    the second fails at once and the model is monotone. The hierarchy of ``block`` merges the first
    two on level 1.

    Reference: δ-disclosure is of J. Brickell and V. Shmatikov, KDD 2008,
    https://doi.org/10.1145/1401890.1401904; the counts are ours.
    """
    return as_dataset("disclosure_counterexample", _disclosure_counterexample())


def _disclosure_counterexample() -> Example:
    # Only a and b merge on level 1: the case that the example is about.
    merging = TableHierarchy([("a", "a or b", "*"), ("b", "a or b", "*"), ("c", "c", "*")])
    columns = {"block": quasi(merging), "test": sensitive()}
    return from_rows(
        columns, expand({"a": (2, 8), "b": (0, 30), "c": (28, 82)}, ("positive", "negative"))
    )


# Worked tables about releases: what two of them tell together, and what overlapping cells hide.


def john(*, release: str = "practice") -> Table:
    """Diagnoses of two doctors, each release anonymous by itself; John saw both.

    ``"practice"`` is 3-anonymous and 3-diverse. ``"clinic"`` is 5-anonymous and 3-diverse: its
    class below 40 holds only three different diagnoses, although the source calls it
    4-diverse. Together: if John is below 30 he has HIV; in his thirties, a lung oedema; from 40 on,
    HIV with probability 1/3 or a common cold with 2/3 (product of the two class distributions,
    normalised). Ages printed as ``>39`` and ``4*`` are both ``>=40`` here, and ``Palvic`` is a
    pelvic fracture.

    Reference: A. Gerl, lecture chapter *Privacy risks and anonymisation techniques*, University of
    Passau, 2021/22; the attack is of S. R. Ganta, S. P. Kasiviswanathan and A. Smith, KDD 2008,
    https://doi.org/10.1145/1401890.1401926.
    """
    return as_dataset(f"john ({release})", _john(release))


def john_releases() -> tuple[Table, Table]:
    """Both releases of :func:`john`: the practice's and the clinic's."""
    return john(release="practice"), john(release="clinic")


def _john(release: str = "practice") -> Example:
    either("release", release, ("practice", "clinic"))
    ages = TableHierarchy([("<30", "<40", "*"), ("3*", "<40", "*"), (">=40", ">=40", "*")])
    columns = {"zip": quasi(suppress()), "age": quasi(ages, Kind.ORDINAL), "diagnosis": sensitive()}
    rows = []
    for group in read_data_file(__package__, "john")[release]:
        rows += [("940**", group["age"], diagnosis) for diagnosis in group["diagnoses"]]
    return from_rows(columns, rows)


def conditions(*, release: str = "none") -> Table:
    """Twelve patients: all unique, then 4-anonymous, then 3-diverse as well.

    ``release="anonymous"`` has three classes of four, and everyone of (130**, 3*) has cancer.
    ``"diverse"`` regroups them so that each class of four holds three conditions.

    Reference: A. Machanavajjhala, D. Kifer, J. Gehrke and M. Venkitasubramaniam, *ℓ-diversity*, ACM
    TKDD 1(1), 2007, figures 1 to 3, https://doi.org/10.1145/1217299.1217302.
    """
    return as_dataset("conditions", _conditions(release))


def _conditions(release: str = "none") -> Example:
    either("release", release, ("none", *CONDITION_CLASSES))
    patients = read_data_file(__package__, "conditions")
    columns = {
        "zip": quasi(mask_right(5)),
        "age": quasi(intervals(10, 20), Kind.NUMERIC),
        "nationality": quasi(suppress()),
    }
    if release == "none":
        return from_rows(columns | {"condition": sensitive()}, patients)
    # Ages of a release are labels such as 3*, so the intervals of the original do not fit.
    columns["age"] = quasi(suppress(), Kind.ORDINAL)
    classes = CONDITION_CLASSES[release]
    rows = CONDITION_ROWS[release]
    # Four patients a class; nationality is suppressed in both releases.
    released = [(*classes[at // 4], "*", patients[row][3]) for at, row in enumerate(rows)]
    return from_rows(columns | {"condition": sensitive()}, released)


def ring(*, released: bool = False) -> Table:
    """Four people whose released cells overlap in a ring: 2-concealed although each cell is unique.

    The originals are 1, 2, 3, 4; released are the sets {1,2}, {2,3}, {3,4}, {4,1}, written with
    commas, in the same order of people. Every original fits two released cells, every cell two
    originals, and every such pair lies in a perfect matching: 2-concealment, (1,2)- and
    (2,1)-anonymity, with k-anonymity of level 1.

    Reference: T. Tassa, A. Mazza and A. Gionis, *k-concealment: an alternative model of k-type
    anonymity*, Transactions on Data Privacy 5(1), 2012; the ring is ours.
    """
    return as_dataset("ring", _ring(released))


def _ring(released: bool = False) -> Example:
    # False picks the original, True the released set.
    return from_rows({"place": quasi()}, [(pair[released],) for pair in RING])


def illness_tree() -> Hierarchy:
    """Five illnesses under three groups: the tree of the height and loss examples.

    Three levels, so generalising to the groups has height 1/(3−1) = 0.5. Loss of HIV as a virus
    infection is (2−1)/(5−1) = 0.25; of a common cold as a bacterial infection, the only leaf there,
    0 (the numbers matter; medically a cold is no bacterial infection). The source gives the tree as
    a picture: ``Forearm fracture`` and ``Hepatitis`` are our names for the two leaves its text does
    not mention.

    Reference: A. Gerl, lecture chapter *Privacy risks and anonymisation techniques*, University of
    Passau, 2021/22.
    """
    return Tree({TOP: ILLNESS_TREE})


def illnesses() -> Table:
    """Four patients with an illness of :func:`illness_tree`: losing the illness is worse than
    losing the sex.
    """
    return as_dataset("illnesses", _illnesses())


def _illnesses() -> Example:
    columns = {"sex": quasi(suppress()), "illness": quasi(illness_tree())}
    rows = [
        ("female", "HIV"),
        ("male", "HIV"),
        ("male", "Common cold"),
        ("male", "Pelvic fracture"),
    ]
    return from_rows(columns, rows)


def students(*, coded: bool = False) -> Table:
    """Nine students, and the same with age and education coded at the top.

    ``coded=True`` turns ages above 20 into ``21+`` and the two upper educations into
    ``tertiary and above``: classes of 2 and seven of 1 become 3, 2 and four of 1. The source's
    caption says ages from 20 on; its table codes those above 20, as here.

    Reference: A. Gerl, lecture chapter *Privacy risks and anonymisation techniques*, University of
    Passau, 2021/22.
    """
    return as_dataset("students", _students(coded))


def _top_age(age: int) -> str:
    return "21+" if age > 20 else str(age)


def _top_school(level: str) -> str:
    if level == "secondary":
        return level
    return "tertiary and above"


def _students(coded: bool = False) -> Example:
    rows = read_data_file(__package__, "students")
    ages = TableHierarchy(
        # Only ages that occur.
        [(str(age), _top_age(age), "*") for age in sorted({age for _, age, _ in rows})]
    )
    schools = TableHierarchy([(level, _top_school(level), "*") for level in SCHOOLING])
    order = ("secondary", "tertiary and above") if coded else SCHOOLING
    columns = {
        "sex": quasi(suppress()),
        "age": quasi(ages, Kind.ORDINAL if coded else Kind.NUMERIC),
        "education": quasi(schools, Kind.ORDINAL, order=order),
    }
    if coded:
        return from_rows(
            columns, [(sex, _top_age(age), _top_school(level)) for sex, age, level in rows]
        )
    return from_rows(columns, rows)


def incomes(*, swapped: bool = False) -> Table:
    """Three people, and the illness of the one at risk swapped with the nearest income.

    The third record, above 80 and ill, is at risk. By income its neighbour is the first: after
    ``swapped=True`` the person with 100 a day is ill and the one with 120 is not. That is a swap
    guided by similarity; rank swapping would exchange the incomes themselves. ``10.000`` in the
    source is ten thousand.

    Reference: A. Gerl, lecture chapter *Privacy risks and anonymisation techniques*, University of
    Passau, 2021/22.
    """
    return as_dataset("incomes", _incomes(swapped))


def _incomes(swapped: bool = False) -> Example:
    columns = {
        "age": quasi(),
        "gender": quasi(),
        "income": plain(Kind.NUMERIC),
        "illness": sensitive(),
    }
    # The illness moves from the third person to the first; everything else stays.
    ill = ("y", "n", "n") if swapped else ("n", "n", "y")
    people = (("15-24", "m", 100), ("15-24", "m", 10000), (">80", "f", 120))
    return from_rows(columns, [(*person, state) for person, state in zip(people, ill, strict=True)])
