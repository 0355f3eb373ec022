"""Worked tables about what a class tells: diversity, similarity and closeness of a sensitive column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sfumato.core.hierarchy import TOP
from sfumato.core.schema import Attribute, Kind
from sfumato.examples.tables import Example, as_dataset, either, expand, from_rows, masked, quasi, rungs, sensitive

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.core.hierarchy import Hierarchy

ZIPS = ("47677", "47602", "47678", "47905", "47909", "47906", "47605", "47673", "47607")
AGES = (29, 22, 27, 43, 52, 47, 30, 36, 32)
SALARIES = (3, 4, 5, 6, 11, 8, 7, 9, 10)
DISEASES = (
    "gastric ulcer",
    "gastritis",
    "stomach cancer",
    "gastritis",
    "flu",
    "bronchitis",
    "bronchitis",
    "pneumonia",
    "stomach cancer",
)
HEART = ("Heart disease",) * 3 + ("Flu", "Heart disease", "Cancer", "Heart disease", "Cancer", "Cancer")
SIMILAR = (("476**", "2*"), ("4790*", ">=40"), ("476**", "3*"))
SPREAD = (("4767*", "<40"), ("4790*", ">=40"), ("4760*", "<40"))
SPREAD_ROWS = (0, 2, 7, 3, 4, 5, 1, 6, 8)
"""Rows of the original in the order in which the regrouped table prints them, three a class."""

DISEASE_TREE = {
    "respiratory system": {
        "respiratory infection": ["flu", "pneumonia", "bronchitis"],
        "vascular lung disease": ["pulmonary edema", "pulmonary embolism"],
    },
    "digestive system": {
        "stomach disease": ["gastric ulcer", "stomach cancer", "gastritis"],
        "colon disease": ["colitis", "colon cancer"],
    },
}


def salaries(*, grouping: str = "none") -> Dataset:
    """Nine salaries (in thousands), and two 3-anonymous, 3-diverse groupings of them.

    ``grouping="similar"`` puts 3, 4, 5 into one class: whoever is in it earns little. Ordered distance to the
    table per class: 0.375, 1/6 and 17/72, so 0.375-close. ``"spread"`` has 1/6, 1/6 and 1/12: 0.167-close.
    The equal distance is 2/3 for all six classes; the entropy of each is log 3 exactly. The source prints
    overlapping ages ≤40 and ≥40; nobody is 40, and the first is ``<40`` here.

    Reference: N. Li, T. Li and S. Venkatasubramanian, *t-closeness*, ICDE 2007, tables 3 to 5,
    https://doi.org/10.1109/ICDE.2007.367856.
    """
    return as_dataset("salaries", _grouped(grouping, "salary", SALARIES, sensitive(Kind.NUMERIC)))


def diseases(*, grouping: str = "none") -> Dataset:
    """The nine people of :func:`salaries` with their diseases, which form a tree of height 3.

    ``grouping="similar"`` has one class of stomach diseases only. The hierarchical distances of the classes of
    ``"spread"`` are 7/27, 8/27 and 5/27, so 0.2963-close. The paper's 0.278 = 5/18 counts each of the six
    diseases once instead of as often as it occurs.

    Reference: as for :func:`salaries`.
    """
    return as_dataset("diseases", _diseases(grouping))


def _diseases(grouping: str = "none") -> Example:
    return _grouped(grouping, "disease", DISEASES, sensitive(hierarchy=disease_tree()))


def disease_tree() -> Hierarchy:
    """Tree of ten diseases under four organs and two systems, as in the t-closeness paper."""
    from sfumato.hierarchies import Tree

    return Tree({TOP: DISEASE_TREE})


def heart(*, grouping: str = "none") -> Dataset:
    """Nine patients of whom three share a class and an illness: k-anonymity without diversity.

    ``grouping="similar"`` is 3-anonymous, but everyone of (476**, 2*) has a heart disease; Alice, 36 and of
    47673, has cancer with probability 2/3.

    Reference: as for :func:`salaries`, tables 1 and 2.
    """
    return as_dataset("heart", _grouped(grouping, "disease", HEART, sensitive()))


def _grouped(grouping: str, name: str, values: Sequence[object], attribute: Attribute) -> Example:
    """The nine people as they are, or in the two groupings of the paper."""
    either("grouping", grouping, ("none", "similar", "spread"))
    columns = {"zip": quasi(_zip_ladder()), "age": quasi(_age_ladder(), Kind.ORDINAL), name: attribute}
    if grouping == "none":
        columns["age"] = quasi(_age_ladder(), Kind.NUMERIC)
        return from_rows(columns, zip(ZIPS, AGES, values, strict=True))
    order = range(9) if grouping == "similar" else SPREAD_ROWS
    classes = SIMILAR if grouping == "similar" else SPREAD
    return from_rows(columns, [(*classes[place // 3], values[row]) for place, row in enumerate(order)])


def _zip_ladder() -> Hierarchy:
    from sfumato.hierarchies import Table

    return Table(rungs(ZIPS, masked(4), masked(3), lambda v: "*"))


def _age_ladder() -> Hierarchy:
    from sfumato.hierarchies import Table

    return Table(rungs(map(str, AGES), masked(1), lambda v: "<40" if int(v) < 40 else ">=40", lambda v: "*"))


ANCONA = (("601**", "2*", (3, 4, 5)), ("6012*", "4*", (6, 11, 8)), ("601**", "3*", (7, 9, 10)))


def ancona() -> Dataset:
    """The salary classes of :func:`salaries` under the ZIP codes of Ancona: distinct and entropy 3-diverse.

    Three classes of three salaries, all different: the entropy of each is log 3, so entropy 3-diversity holds
    with equality and fails under a strict comparison. Bob, 23 and of 60121, earns 3 to 5 thousand.

    Reference: G. Faggioli, *k-anonymity, ℓ-diversity, t-closeness*, slides, University of Padua, 2025/26.
    """
    return as_dataset("ancona", _ancona())


def _ancona() -> Example:
    columns = {"zip": quasi(), "age": quasi(), "salary": sensitive(Kind.NUMERIC)}
    return from_rows(columns, [(postcode, age, salary) for postcode, age, earned in ANCONA for salary in earned])


INCOMES = ("<10k", "10k", "20k", "30k", ">30k")
BLOCKS = {
    "q-block1": (50, 0, 30, 50, 10),
    "q-block2": (110, 5, 5, 5, 5),
    "q-block3": (20, 50, 40, 10, 20),
    "q-block4": (0, 0, 10, 70, 40),
    "q-block5": (40, 10, 80, 20, 60),
}


def faggioli_blocks() -> Dataset:
    """Five classes of 140, 130, 140, 120 and 210 people over five incomes: diversity computed by hand.

    Distinct values 4, 5, 5, 3, 5; entropies 1.2540, 0.6426, 1.4701, 0.8877 and 1.4104 nats, so effectively
    3.50, 1.90, 4.35, 2.43 and 4.10 values. The source heads the last income ``<30k`` where ``>30k`` is meant,
    shifts the row labels of one table and rounds the entropies on the way; all three are mended here.

    Reference: G. Faggioli, *k-anonymity, ℓ-diversity, t-closeness*, slides, University of Padua, 2025/26.
    """
    return as_dataset("faggioli_blocks", _faggioli_blocks())


def _faggioli_blocks() -> Example:
    from sfumato.hierarchies import suppress

    columns = {"block": quasi(suppress()), "income": sensitive(Kind.ORDINAL, order=INCOMES)}
    return from_rows(columns, expand(BLOCKS, INCOMES))


def diversity_counterexamples() -> Dataset:
    """Two classes of ten that show entropy and recursive diversity to be incomparable.

    Class ``steep`` holds 8, 1 and 1 of three values: recursive (5,2) holds as 8 < 5·2, entropy 2 does not, as
    H = 0.639 < log 2. Class ``twin`` holds 4, 4, 1, 1: exp(H) = 3.30, so entropy 3 holds, and recursive (1,3)
    does not, as 4 < 2 is false.

    Reference: the notions are of A. Machanavajjhala et al., *ℓ-diversity*, ACM TKDD 1(1), 2007,
    https://doi.org/10.1145/1217299.1217302; the counts are ours.
    """
    return as_dataset("diversity_counterexamples", _diversity_counterexamples())


def _diversity_counterexamples() -> Example:
    from sfumato.hierarchies import suppress

    columns = {"block": quasi(suppress()), "illness": sensitive()}
    return from_rows(
        columns, expand({"steep": (8, 1, 1, 0), "twin": (4, 4, 1, 1)}, ("flu", "asthma", "gout", "measles"))
    )


def disclosure_counterexample() -> Dataset:
    """150 people in three classes whose merging raises δ-disclosure when absent values are skipped.

    Counts (2, 8), (0, 30), (28, 82) of a value with shares 0.2 and 0.8. Skipping absent values the classes have
    0, 0.223 and 0.241; the first two merged, (2, 38), have 1.386. Counted strictly, the second fails at once
    and the model is monotone. The hierarchy of ``block`` merges the first two on level 1.

    Reference: δ-disclosure is of J. Brickell and V. Shmatikov, KDD 2008,
    https://doi.org/10.1145/1401890.1401904; the counts are ours.
    """
    return as_dataset("disclosure_counterexample", _disclosure_counterexample())


def _disclosure_counterexample() -> Example:
    from sfumato.hierarchies import Table

    merging = Table([("a", "a or b", "*"), ("b", "a or b", "*"), ("c", "c", "*")])
    columns = {"block": quasi(merging), "test": sensitive()}
    return from_rows(columns, expand({"a": (2, 8), "b": (0, 30), "c": (28, 82)}, ("positive", "negative")))
