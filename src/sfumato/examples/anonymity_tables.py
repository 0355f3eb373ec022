"""Worked tables about k-anonymity: who hides among how many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.schema import Kind
from sfumato.examples.tables import (
    Example,
    as_dataset,
    at_least,
    direct,
    either,
    from_columns,
    from_rows,
    masked,
    plain,
    quasi,
    rungs,
    sensitive,
)

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset

TORRA_PUBLISHED = (
    ("ABD", "Barcelona", 30, "Cancer"),
    ("COL", "Barcelona", 30, "Cancer"),
    ("GHE", "Tarragona", 60, "AIDS"),
    ("CIO", "Tarragona", 60, "AIDS"),
    ("HYU", "Tarragona", 60, "Heart attack"),
)
TORRA_ORIGINAL = (
    ("DRR", "Barcelona", 30, "Heart attack"),
    ("ABD", "Barcelona", 32, "Cancer"),
    ("COL", "Barcelona", 33, "Cancer"),
    ("GHE", "Tarragona", 62, "AIDS"),
    ("CIO", "Tarragona", 65, "AIDS"),
    ("HYU", "Tarragona", 60, "Heart attack"),
)


def torra(*, original: bool = False) -> Dataset:
    """Five patients in two classes: 2-anonymous for city and age, and still telling.

    Classes of 2 and 3. Everyone of (Barcelona, 30) has cancer (homogeneity); HYU, who knows their own row,
    learns that the two others of (Tarragona, 60) have AIDS. ``original=True`` gives the six people before
    publication, all of them unique.

    The published table on one slide of the source lost a row and swapped an illness in print; this is the
    consistent five-row table of its later slides.

    Reference: V. Torra, *Privacy models and disclosure risk*, slides, Umeå University, 2020.
    """
    return as_dataset("torra", _torra(original))


def _torra(original: bool = False) -> Example:
    from sfumato.hierarchies import intervals, suppress

    columns = {
        "respondent": direct(),
        "city": quasi(suppress()),
        "age": quasi(intervals(10, 30), Kind.NUMERIC),
        "illness": sensitive(),
    }
    return from_rows(columns, TORRA_ORIGINAL if original else TORRA_PUBLISHED)


def sandhu(rows: int = 1000, *, positives: int = 5, seed: int = 7) -> Dataset:
    """Patients with a rare diagnosis: how many classes can hold two different values at all?

    Key attributes age, height and weight; ``positives`` of the rows have ``aids = yes``. Every class that is
    2-sensitive needs one of them, so at most ``positives`` classes can be formed: 5 of 1000 rows give 5; a
    share of 1 % of 10 000 rows gives 100. In a class with as many yes as no the lift is 100. The
    measurements are generated; only the counts are the literature's.

    Reference: J. Domingo-Ferrer and V. Torra, *A critique of k-anonymity and some of its enhancements*,
    ARES 2008, example 2, as taught by R. Sandhu, *Privacy in microdata release*, slides, 2013; the bound is of
    T. M. Truta and B. Vinay, ICDEW 2006, https://doi.org/10.1109/ICDEW.2006.116.
    """
    return as_dataset("sandhu", _sandhu(rows, positives, seed))


def _sandhu(rows: int = 1000, positives: int = 5, seed: int = 7) -> Example:
    import numpy as np

    from sfumato.examples.draws import Draws
    from sfumato.hierarchies import intervals

    at_least("rows", rows, at_least("positives", positives, 0))
    draws = Draws(seed)
    height = np.rint(170 + 9 * draws.bell(rows)).astype(np.int64)
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
        columns, {"age": draws.whole(rows, 18, 90), "height": height, "weight": weight, "aids": list(aids)}
    )


FAGGIOLI = (
    ("1230044954330", "Yu Zhong", "asian", "64/04/12", "F", "35138", "divorced", 33000),
    ("1230082394331", "Tao Jiang", "asian", "64/09/13", "F", "35142", "divorced", 54000),
    ("2934944954322", "Tang Hanying", "asian", "64/04/15", "F", "35148", "married", 22000),
    ("1230004449530", "Djimon Igwe", "black", "63/03/15", "M", "35138", "married", 11000),
    ("3823893498549", "Ashton Katy", "black", "63/02/18", "M", "35138", "married", 178000),
    ("7938458593247", "Alyssa Bryce", "black", "64/09/27", "F", "35137", "single", 23000),
    ("9584935832839", "Jean Harmon", "white", "64/09/27", "F", "35137", "single", 23000),
    ("7852438634549", "Caitlyn Em", "white", "64/09/27", "F", "35141", "single", 23000),
    ("3582347528778", "Louise Wayland", "white", "64/09/27", "F", "35141", "widow", 56000),
)


def faggioli() -> Dataset:
    """Nine people, five quasi-identifiers, a lattice of 144 nodes: the smallest table worth searching.

    Every row is unique. Hierarchies: race → person; day → month → year → any date of birth; sex → any; ZIP of
    5 → 4 → 3 digits, which is one single value here and therefore the top; marital status → been married or
    single → any. With levels in the order of the columns, the 2-minimal generalizations without suppression
    are (0,3,1,2,2), (1,2,0,1,2) and (1,2,0,2,1); the last has classes 4, 3, 2 and is the one drawn in the
    source. With at most two rows suppressed there are six, among them (1,1,0,2,1) with classes 3, 2, 2.

    Incomes are whole euros; the source prints ``33.000`` with a European thousands separator.

    Reference: G. Faggioli, *k-anonymity, ℓ-diversity, t-closeness*, slides, University of Padua, 2025/26, after
    P. Samarati, IEEE TKDE 13(6), 2001, https://doi.org/10.1109/69.971193.
    """
    return as_dataset("faggioli", _faggioli())


def _faggioli() -> Example:
    from sfumato.hierarchies import Table, suppress

    race, birth, postcode, marital = (sorted({str(row[i]) for row in FAGGIOLI}) for i in (2, 3, 5, 6))
    columns = {
        "ssn": direct(),
        "name": direct(),
        "race": quasi(Table(rungs(race, lambda v: "person"))),
        "birth": quasi(Table(rungs(birth, lambda v: v[:6] + "**", lambda v: v[:3] + "**/**", lambda v: "**/**/**"))),
        "sex": quasi(suppress()),
        "zip": quasi(Table(rungs(postcode, masked(4), masked(3)))),
        "marital": quasi(Table(rungs(marital, lambda v: v if v == "single" else "been_married", lambda v: "*"))),
        "income": sensitive(Kind.NUMERIC),
    }
    return from_rows(columns, FAGGIOLI)


PATIENTS = (
    (25, "M", "53711", "Flu"),
    (25, "F", "53712", "Hepatitis"),
    (26, "M", "53711", "Bronchitis"),
    (27, "M", "53710", "Broken arm"),
    (27, "F", "53712", "AIDS"),
    (28, "M", "53711", "Hang nail"),
)
PATIENT_AGES = {"single": ["[25-28]"] * 6, "multi": ["[25-26]", "[25-27]", "[25-26]", "[27-28]", "[25-27]", "[27-28]"]}
LOW_ZIP = "[53710-53711]"
PATIENT_ZIPS = {
    "single": [LOW_ZIP, "53712", LOW_ZIP, LOW_ZIP, "53712", LOW_ZIP],
    "multi": ["53711", "53712", "53711", LOW_ZIP, "53712", LOW_ZIP],
}


def patients(*, release: str = "none") -> Dataset:
    """Six patients, and two 2-anonymous releases of them: one recoding per column, or one per region.

    ``release="none"`` is the original, all six unique. ``"single"`` recodes whole columns: classes 4 and 2,
    discernibility 20. ``"multi"`` is what Mondrian finds with k = 2 and the columns tried in the order zip, age,
    sex: classes 2, 2, 2, discernibility 12. Its intervals overlap, so that release has no age hierarchy.

    Reference: K. LeFevre, D. J. DeWitt and R. Ramakrishnan, *Mondrian multidimensional k-anonymity*, ICDE 2006,
    https://doi.org/10.1109/ICDE.2006.101; as taught by A. Gerl, University of Passau, 2021/22.
    """
    return as_dataset("patients", _patients(release))


def _patients(release: str = "none") -> Example:
    from sfumato.hierarchies import Table, suppress

    either("release", release, ("none", "single", "multi"))
    ages = Table([(str(age), "[25-26]" if age < 27 else "[27-28]", "[25-28]") for age in range(25, 29)])
    zips = Table([(z, z if z == "53712" else LOW_ZIP, "[53710-53712]") for z in ("53710", "53711", "53712")])
    columns = {
        "age": quasi(None if release == "multi" else ages, Kind.NUMERIC if release == "none" else Kind.ORDINAL),
        "sex": quasi(suppress()),
        "zip": quasi(zips),
        "disease": sensitive(),
    }
    if release == "none":
        return from_rows(columns, PATIENTS)
    _, sexes, _, diseases = zip(*PATIENTS, strict=True)
    return from_columns(
        columns,
        {"age": PATIENT_AGES[release], "sex": list(sexes), "zip": PATIENT_ZIPS[release], "disease": list(diseases)},
    )


def regions(*, suppressed: str = "none") -> Dataset:
    """Seven people, one of them unique, and what one suppressed cell does under each missing-value rule.

    Record 1 is the only woman with higher education; class sizes per record are 1, 3, 3, 3, 3, 3, 3. With its
    education (``suppressed="education"``) or its gender (``"gender"``) missing, and missing matching
    everything, the counts become 4, 3, 3, 3, 4, 4, 4 or 4, 4, 4, 4, 3, 3, 3; with missing as a category of its
    own, record 1 stays unique. The columns are marked ``missing="wildcard"``.

    Reference: A. Gerl, lecture chapter *Privacy risks and anonymisation techniques*, University of Passau,
    2021/22, after the local suppression example of the sdcMicro practice guide.
    """
    return as_dataset("regions", _regions(suppressed))


def _regions(suppressed: str = "none") -> Example:
    from sfumato.core.schema import Missing
    from sfumato.hierarchies import suppress

    either("suppressed", suppressed, ("none", "gender", "education"))
    first = {"gender": "female", "region": "rural", "education": "higher"} | (
        {} if suppressed == "none" else {suppressed: None}
    )
    others = [("male", "rural", "higher")] * 3 + [("female", "rural", "lower")] * 3
    columns = {name: quasi(suppress(), missing=Missing.WILDCARD) for name in first}
    rows = [tuple(first.values()), *others]
    return from_rows(
        {"record": plain(Kind.NUMERIC)} | columns, [(number, *row) for number, row in enumerate(rows, start=1)]
    )
