"""Write docs/reproduced.md, published numbers beside ours: ``python tools/papers.py``.

Tables of the first part need nothing but the package. Those of the second part need tables that are
not ours: ``SFUMATO_REFERENCE_DATA`` names their folder. Where it is absent, the page keeps what was
last computed with it, and says so.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import polars as pl

import sfumato as sf
from sfumato.core.evidence import gather
from sfumato.core.model import Model
from sfumato.core.randomness import Seed
from sfumato.core.schema import Attribute, Role, Schema
from sfumato.core.source import Source
from sfumato.core.step import Goal
from sfumato.core.table import Table
from sfumato.data.baskets.baskets import Baskets
from sfumato.data.baskets.models import KmAnonymity
from sfumato.methods.attacks.suda import special_uniques
from sfumato.methods.formulas.optimal_channels import distortions, optimal_channel
from sfumato.methods.formulas.uniqueness import individual_risk
from sfumato.methods.hierarchies import TableHierarchy

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reproduced.md"
BEGIN = "<!-- reference data: begin -->\n"
END = "<!-- reference data: end -->\n"


@dataclasses.dataclass(frozen=True)
class Figure:
    """One published number, ours, and why they differ."""

    what: str
    published: str
    ours: str
    why: str = ""

    def __post_init__(self) -> None:
        if self.published != self.ours and not self.why:
            raise ValueError(f"{self.what}: {self.published} became {self.ours}: say why")


@dataclasses.dataclass(frozen=True)
class PaperTable:
    """A published table or figure."""

    title: str
    source: str
    figures: tuple[Figure, ...]

    def lines(self) -> Iterator[str]:
        """The table as a section of the page."""
        yield f"### {self.title}\n"
        yield f"{self.source}\n"
        yield "| | published | ours | why they differ |"
        yield "|---|---|---|---|"
        for figure in self.figures:
            yield f"| {figure.what} | {figure.published} | {figure.ours} | {figure.why} |"
        yield ""


def attained(table: Table, model: Model) -> str:
    """What a table attains of a promise, with three digits."""
    value = model.judge(gather(table, [model])).attained
    return f"{value:.3g}"


# Tables that are printed in full in their papers.


def sweeney_example() -> PaperTable:
    """The table of which k-anonymity was first shown."""
    rows = [
        *[("Black", "1965", "m", "0214*")] * 2,
        *[("Black", "1965", "f", "0213*")] * 2,
        *[("Black", "1964", "f", "0213*")] * 2,
        *[("White", "1964", "m", "0213*")] * 3,
        *[("White", "1967", "m", "0213*")] * 2,
    ]
    frame = pl.DataFrame(rows, schema=["race", "birth", "gender", "zip"], orient="row")
    table = Table(frame).with_roles(quasi=frame.columns)
    k = attained(table, sf.KAnonymity(2))
    figures = (Figure("k of race, birth, gender and ZIP", "2", k),)
    return PaperTable("Eleven patients, 2-anonymous", SWEENEY_MODEL, figures)


def sweeney_precision() -> PaperTable:
    """Twelve people of three races and four ZIP codes, on four nodes of the lattice."""
    codes = ["02138", "02139", "02141", "02142"]
    frame = pl.DataFrame(
        {
            "race": [race for race in ("asian", "black", "white") for _ in codes],
            "zip": codes * 3,
        }
    )
    table = Table(frame).with_roles(quasi=["race", "zip"])
    races = [[race, "person", "*"] for race in ("asian", "black", "white")]
    places = [[code, f"{code[:4]}*", f"{code[:3]}**", "*****"] for code in codes]
    table = table.with_hierarchies(race=TableHierarchy(races), zip=TableHierarchy(places))
    published = {(1, 0): "0.75", (1, 1): "0.58", (0, 2): "0.67", (0, 1): "0.83"}
    figures = []
    for (race, code), value in published.items():
        levels = {name: level for name, level in (("race", race), ("zip", code)) if level}
        release = sf.anonymize(table, [sf.KAnonymity(1)], sf.PersonalLevels(levels))
        measures = {measure.name: measure.raw for measure in release.evaluate().measures}
        figures.append(
            Figure(f"precision of GT[{race},{code}]", value, f"{measures['precision']:.2f}")
        )
    return PaperTable("Precision of four generalisations", SWEENEY_ACHIEVING, tuple(figures))


def diversity_example() -> PaperTable:
    """The twelve patients of the l-diversity paper."""
    figures = []
    for release, k, diversity in (("anonymous", "4", "1"), ("diverse", "4", "3")):
        table = sf.examples.conditions(release=release)
        figures += [
            Figure(f"{release}: k", k, attained(table, sf.KAnonymity(2))),
            Figure(f"{release}: l", diversity, attained(table, sf.LDiversity("condition", 2))),
        ]
    return PaperTable("Twelve patients, 4-anonymous and 3-diverse", DIVERSITY, tuple(figures))


def closeness_of_salaries() -> PaperTable:
    """The distances of two groupings of nine salaries."""
    figures = []
    for grouping, published in (("similar", "0.375"), ("spread", "0.167")):
        table = sf.examples.salaries(grouping=grouping)
        ours = attained(table, sf.TCloseness("salary", 0.5, distance="ordered"))
        figures.append(Figure(f"t of the grouping {grouping}", published, ours))
    return PaperTable("t-closeness of nine salaries", CLOSENESS, tuple(figures))


def closeness_of_diseases() -> PaperTable:
    """The distance along a tree of diseases."""
    table = sf.examples.diseases(grouping="spread")
    ours = attained(table, sf.TCloseness("disease", 0.5, distance="hierarchical"))
    why = (
        "the paper counts each of the six diseases once, 5/18; three of them occur twice, which "
        "makes 8/27"
    )
    figures = (Figure("t of the second grouping", "0.278", ours, why),)
    return PaperTable("t-closeness along a tree of diseases", CLOSENESS, figures)


def mondrian_patients() -> PaperTable:
    """Six patients, cut in one dimension and in several."""
    figures = []
    for mode, published in (("single", "2"), ("strict", "3")):
        people = sf.examples.patients()
        step = sf.Mondrian(mode=mode, order=("zip", "age", "sex"), grid={"age": 1})
        release = sf.anonymize(people, [sf.KAnonymity(2)], step)
        classes = release.data.select(people.schema.quasi).unique()
        figures.append(Figure(f"classes, {MONDRIAN_MODES[mode]}", published, str(len(classes))))
    return PaperTable("Six patients, 2-anonymous by cuts", MONDRIAN, tuple(figures))


def baskets_example() -> PaperTable:
    """Four baskets that one cut of the hierarchy makes 2²-anonymous."""
    baskets = [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]]
    schema = Schema({"item": Attribute((Role.ITEM,))})
    figures = []
    for what, published, joined in (
        ("as they are", "1", {}),
        ("with a1 and a2 as A", "2", {"a1": "A", "a2": "A"}),
    ):
        shown = [sorted({joined.get(item, item) for item in items}) for items in baskets]
        frame = pl.DataFrame({"item": pl.Series(shown, dtype=pl.List(pl.String))})
        people = Baskets.from_tables({"data": frame}, {"data": schema}, Source(name="baskets"))
        verdict = sf.judge(people, [KmAnonymity(2, 2)])[0]
        figures.append(
            Figure(f"people with two known items, {what}", published, f"{verdict.attained:g}")
        )
    return PaperTable("Four baskets, 2²-anonymous", BASKETS, tuple(figures))


def randomised_response() -> PaperTable:
    """The coin of two answers that is ln 3-private."""
    channel = optimal_channel([0.5, 0.5], math.log(3), distortions(2, "equal"))
    figures = (
        Figure("chance of a true answer at ε = ln 3", "3/4", fraction(channel.matrix[0, 0])),
    )
    return PaperTable("Randomised response", RESPONSE, figures)


def fraction(value: float) -> str:
    """A number as a fraction of small numbers, as papers print it."""
    from fractions import Fraction

    near = Fraction(value).limit_denominator(100)
    return str(near) if abs(float(near) - value) < 1e-6 else f"{value:.6g}"


def diversity_of_blocks() -> PaperTable:
    """Entropies of five classes, as a lecture computes them."""
    table = sf.examples.faggioli_blocks().to_polars()
    printed = ["1.25", "0.66", "1.46", "0.88", "1.41"]
    figures = []
    blocks = table["block"].unique(maintain_order=True).to_list()
    for block, published in zip(blocks, printed, strict=True):
        counts = table.filter(pl.col("block") == block)["income"].value_counts()["count"]
        shares = [count / counts.sum() for count in counts]
        entropy = -sum(share * math.log(share) for share in shares)
        ours = f"{entropy:.2f}"
        why = "" if ours == published else "the lecture adds terms that were rounded before"
        figures.append(Figure(f"entropy of {block}, nats", published, ours, why))
    return PaperTable("Entropy of five classes", LECTURE, tuple(figures))


def individual_risks() -> PaperTable:
    """The risk of eight respondents with survey weights."""
    sizes = [2, 2, 2, 1, 1, 1, 1, 2]
    weights = [110, 84.5, 84.5, 17, 541, 8, 5, 110]
    published = ["0.0171", "0.0220", "0.0220", "0.1771", "0.0117", "0.2971", "0.4024", "0.0171"]
    risks = individual_risk(sizes, weights)
    figures = []
    for i, value in enumerate(published):
        what = f"respondent {i + 1}: f = {sizes[i]}, F = {weights[i]:g}"
        figures.append(Figure(what, value, f"{risks[i]:.4f}"))
    return PaperTable("Individual risk of eight respondents", SDCMICRO, tuple(figures))


def suda_of_eight() -> PaperTable:
    """Special uniques among the eight respondents."""
    rows = ["1251", "1211", "1211", "3315", "4314", "4311", "6215", "1251"]
    frame = pl.DataFrame([tuple(row) for row in rows], schema=["a", "b", "c", "d"], orient="row")
    found = special_uniques(Table(frame).with_roles(quasi=frame.columns))
    published = ["0.0142", "0.0101", "0.0062", "0.0142"]
    ours = [f"{value:.4f}" for value in found.disclosure.tolist() if value]
    figures = (
        Figure("scores", words([0, 0, 0, 8, 6, 4, 8, 0]), words(found.scores.tolist())),
        Figure("DIS-SUDA scores above 0", " ".join(published), " ".join(ours)),
    )
    return PaperTable("SUDA: eight respondents", SDCMICRO, figures)


def words(numbers: Sequence[float]) -> str:
    """Numbers in one cell."""
    return " ".join(f"{number:g}" for number in numbers)


# Tables that are not ours.

MDAV = {
    "Tarragona": {3: "16.93", 4: "19.55", 5: "22.46", 10: "33.19"},
    "Census": {3: "5.69", 4: "7.49", 5: "9.09", 10: "14.16"},
    "EIA": {3: "0.48", 4: "0.67", 5: "1.67", 10: "3.84"},
}
LEFT_OUT = ("UTILNAME", "STATE", "YEAR", "MONTH")
KEYS = ["Key1", "Key2", "Key3", "Key4"]
SURVEY_KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]


def mdav(name: str, folder: Path) -> PaperTable:
    """What MDAV loses of one of the three tables of the literature."""
    frame = pl.read_csv(folder / "microaggregation" / f"{name}.csv")
    table = Table(frame.drop([column for column in LEFT_OUT if column in frame.columns]))
    figures = []
    for k, published in MDAV[name].items():
        plan = sf.Microaggregate(table.columns, k).plan(table, Goal(seed=Seed(1)))
        figures.append(Figure(f"k = {k}", published, f"{100 * plan.owner['sse_over_sst']:.2f}"))
    return PaperTable(f"MDAV on {name}: 100 · SSE/SST", MICROAGGREGATION, tuple(figures))


def arx_nodes(folder: Path) -> PaperTable:
    """The best node of Adult, as ARX finds it."""
    results = json.loads((folder / "reference" / "arx_adult_kanonymity.json").read_text())[
        "results"
    ]
    objectives = {"loss": "loss_geometric", "lossAM": "loss"}
    figures = []
    for result in results:
        _, k, budget, metric = result["label"].split()
        if metric not in objectives or result["dataset"] != "adult":
            continue
        table = adult(folder, tuple(result["qis"]))
        step = sf.GlobalRecoding(
            budget=float(budget.removeprefix("s=")), objective=objectives[metric]
        )
        plan = step.plan(table, Goal(models=(sf.KAnonymity(int(k.removeprefix("k="))),)))
        figures.append(
            Figure(
                f"{k}, {budget}, {metric}: loss, suppressed",
                f"{float(result['score']):.6f}, {result['suppressed']}",
                f"{plan.score:.6f}, {plan.suppressed}",
            )
        )
    return PaperTable("The best node of Adult", ARX, tuple(figures))


@functools.cache
def adult(folder: Path, columns: tuple[str, ...]) -> Table:
    """Adult with the hierarchies of ARX."""
    frame = pl.read_csv(folder / "adult" / "adult.csv", separator=";", infer_schema=False)
    files = {
        name: sf.hierarchy_file(folder / "adult" / f"adult_hierarchy_{name}.csv")
        for name in columns
    }
    return Table(frame.select(columns)).with_roles(quasi=list(columns)).with_hierarchies(**files)


def local_suppression(folder: Path) -> PaperTable:
    """Fewest cells of eight respondents."""
    frame = pl.read_csv(folder / "survey" / "francdat.csv", infer_schema=False).select(KEYS)
    table = Table(frame).with_roles(quasi=KEYS)
    why = "the fewest there are, proved; localSuppression is a heuristic"
    figures = []
    for k, published in ((2, "4"), (3, "9")):
        plan = sf.Suppress("cell", method="exact").plan(table, Goal(models=(sf.KAnonymity(k),)))
        ours = str(sum(plan.suppressed_cells.values()))
        figures.append(Figure(f"suppressed cells, k = {k}", published, ours, why))
    return PaperTable("Local suppression of eight respondents", SDCMICRO, tuple(figures))


def survey_risk(folder: Path) -> PaperTable:
    """Uniques and expected re-identifications of a survey."""
    frame = pl.read_csv(folder / "survey" / "testdata.csv", null_values="NA")
    table = Table(frame.select(*SURVEY_KEYS, "sampling_weight"))
    table = table.with_roles(quasi=SURVEY_KEYS, weight="sampling_weight")
    model = sf.ExpectedReidentifications(1, weights=True)
    evidence = gather(table, [model])
    uniques = int((evidence.classes.records == 1).sum())
    pairs = 2 * int((evidence.classes.records == 2).sum())
    figures = (
        Figure("records alone in their class", "157", str(uniques)),
        Figure("records in classes of two", "124", str(pairs)),
        Figure(
            "expected re-identifications",
            "10.778",
            f"{model.judge(evidence).attained:.3f}",
            "`measure_risk` takes p/(f − (1 − p)) for classes of three and more; that sums to 10.778",
        ),
    )
    return PaperTable("Risk of 4,580 respondents, seven keys", SDCMICRO_MANUAL, figures)


# Sources.

SWEENEY_MODEL = "Sweeney 2002, doi:10.1142/s0218488502001648, figure 2."
SWEENEY_ACHIEVING = "Sweeney 2002, doi:10.1142/s021848850200165x, its table of races and ZIP codes."
DIVERSITY = "Machanavajjhala et al. 2007, doi:10.1145/1217299.1217302, figures 2 and 3."
CLOSENESS = "Li, Li & Venkatasubramanian 2007, doi:10.1109/icde.2007.367856, tables 3 to 5."
MONDRIAN = "LeFevre, DeWitt & Ramakrishnan 2006, doi:10.1109/icde.2006.101, its patients; classes counted in the printed tables."
MONDRIAN_MODES = {"single": "one dimension at a time", "strict": "several dimensions"}
BASKETS = "Terrovitis, Mamoulis & Kalnis 2008, doi:10.14778/1453856.1453874, its first example."
RESPONSE = "Dwork & Roth 2014, *The Algorithmic Foundations of Differential Privacy*, section 3.2."
LECTURE = "Faggioli, *k-anonymity, ℓ-diversity, t-closeness*, slides, Padua 2025/26, step 3.2."
SDCMICRO = "sdcMicro 5.8.1 on its table `francdat`; Templ, Kowarik & Meindl 2015, doi:10.18637/jss.v067.i04."
SDCMICRO_MANUAL = (
    "sdcMicro 5.8.1 on its table `testdata` (`freqCalc`, `measure_risk`); Templ, Kowarik & Meindl "
    "2015, doi:10.18637/jss.v067.i04."
)
MICROAGGREGATION = (
    "Domingo-Ferrer & Torra 2005, doi:10.1007/s10618-005-0007-5, and the papers that compare with "
    "it; z-scores."
)
ARX = "ARX 3.9.2 with its example files; Prasser et al. 2020, doi:10.1002/spe.2812."

OWN: tuple[Callable[[], PaperTable], ...] = (
    sweeney_example,
    sweeney_precision,
    diversity_example,
    closeness_of_salaries,
    closeness_of_diseases,
    mondrian_patients,
    baskets_example,
    randomised_response,
    diversity_of_blocks,
    individual_risks,
    suda_of_eight,
)
REFERENCE: tuple[Callable[[Path], PaperTable], ...] = (
    functools.partial(mdav, "Tarragona"),
    functools.partial(mdav, "Census"),
    functools.partial(mdav, "EIA"),
    local_suppression,
    survey_risk,
    arx_nodes,
)

HEAD = """# Published numbers, reproduced

<!-- Written by tools/papers.py: make papers -->

For those who ask whether sfumato computes what the literature says: published tables and figures,
our value beside each, and why they differ where they do.

`make papers` writes this page. A number that neither agrees nor has a reason stops it.

## Tables printed in full in their papers
"""
REFERENCE_HEAD = """## Tables that are not ours

Their files are not in the repository. `SFUMATO_REFERENCE_DATA` names a folder that has them; without
it these tables keep the values of the last run that had it.
"""


def own_part() -> str:
    """The head of the page, and the tables that need nothing but the package."""
    lines = [line for make in OWN for line in make().lines()]
    return HEAD + "\n" + "\n".join(lines) + "\n"


def reference_part(folder: Path) -> str:
    """The tables that need reference data."""
    return "\n".join(line for make in REFERENCE for line in make(folder).lines()) + "\n"


def page(text: str, folder: Path | None) -> str:
    """The page as it should be; without reference data their part stays as it is in ``text``."""
    if folder is None:
        reference = text.partition(BEGIN)[2].partition(END)[0]
    else:
        reference = "\n" + reference_part(folder)
    return own_part() + REFERENCE_HEAD + "\n" + BEGIN + reference + END


if __name__ == "__main__":
    named = os.environ.get("SFUMATO_REFERENCE_DATA")
    if named is None:
        print("SFUMATO_REFERENCE_DATA is not set: tables that need it stay", file=sys.stderr)
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    PAGE.write_text(page(old, Path(named) if named else None), encoding="utf-8")
