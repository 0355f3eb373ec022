"""No published table fails an audit by a stranger who reads the written folder; nor one after which
others were published.
"""

from __future__ import annotations

import json
import shutil

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ParameterError, SchemaError, Unsatisfiable
from sfumato.results.tables.audit import audit
from sfumato.results.tables.problem import problem_of
from tests.results.tables.random_tables import published, random_table
from tests.results.tables.stranger import broken, read_folder
from tests.results.tables.tables_of_cells import golden_a

THOROUGH = settings.get_current_profile_name() == "thorough"
SHAPES = [0, 3, 10, 15, 22, 38, 59, 88, 110, 124, 1058, 1150]
"""Numbers of small tables of every kind; some of them once fell: a cell that followed from a sum, a
proof over two components, one who said nothing and was alone.
"""


@pytest.mark.parametrize("number", SHAPES)
def test_no_published_table_fails_the_audit_of_a_stranger(number, tmp_path):
    assert published(number, tmp_path, most=40)[1] == []


@pytest.mark.skipif(
    not THOROUGH, reason="looks for new tables only with HYPOTHESIS_PROFILE=thorough"
)
@given(st.integers(0, 2**32))
@settings(max_examples=1000 if THOROUGH else 1, deadline=None)
def test_no_other_table_does(tmp_path_factory, number):
    assert published(number, tmp_path_factory.mktemp("out"), most=60)[1] == []


def test_random_tables_are_of_every_kind():
    made = [random_table(number) for number in range(400)]
    kinds = {(len(one.by), one.measure, one.method) for one in made}
    assert {kind[0] for kind in kinds} == {1, 2, 3}
    assert {kind[1] for kind in kinds} == {"count", "rows", "sum(x)"}
    assert {kind[2] for kind in kinds} == {"heuristic", "exact", "auto"}
    for name in ("unit", "weight", "negatives", "missing_counts", "hierarchies"):
        assert any(getattr(one, name) for one in made)
    assert any(isinstance(one.by[0], list) for one in made)
    assert any(one.zeros == "free" for one in made)


@pytest.fixture(scope="module")
def people():
    draw = np.random.default_rng(3)
    count = 400
    return pl.DataFrame(
        {
            "region": draw.choice(["n1", "n2", "s1", "s2"], count),
            "diagnosis": draw.choice(
                ["flu", "heart", "lung", "rare"], count, p=[0.5, 0.3, 0.17, 0.03]
            ),
            "cost": draw.lognormal(3, 1, count).round(0),
        }
    )


TREE = {"region": sf.mask_right(2)}
RULES = [sf.Threshold(5), sf.PPercent(10)]


@pytest.fixture(scope="module")
def written(people, tmp_path_factory):
    made = sf.tabulate(
        people, ["region", "diagnosis"], "sum(cost)", options=sf.CountOptions(hierarchies=TREE)
    ).protect(RULES)
    return made.write(tmp_path_factory.mktemp("a") / "out")


def test_a_stranger_sees_what_is_wrong(written, people, tmp_path):
    """The stranger's audit can fail: a suppressed cell is published."""
    copy = shutil.copytree(written, tmp_path / "out")
    rules = [("threshold", {"t": 5}), ("p_percent", {"p": 10.0, "colluders": 1})]
    assert broken(copy / "share", people.to_dicts(), rules, "sum(cost)", singles=True) == []
    lock = json.loads((copy / "owner" / "lock.json").read_text())
    lines = (copy / "share" / "table.csv").read_text().splitlines()
    at = next(cell for cell in lock["cells"] if str(cell) not in lock["needs"])
    truth = sf.tabulate(
        people, ["region", "diagnosis"], "sum(cost)", options=sf.CountOptions(hierarchies=TREE)
    ).to_polars()["sum(cost)"][at]
    lines[1 + at] = lines[1 + at].rpartition(",")[0] + f",{truth}"
    (copy / "share" / "table.csv").write_text("\n".join(lines) + "\n")
    assert broken(copy / "share", people.to_dicts(), rules, "sum(cost)", singles=True)


# A hundred edits, with and without a certificate that was made to fit.


def edits():
    draw = np.random.default_rng(11)
    for number in range(100):
        yield number, ("cell", "margin", "reveal", "certificate", "lock")[number % 5], draw


def edit(folder, kind, draw, people):
    """Change something that matters, and say whether the owner is asked."""
    table = folder / "share" / "table.csv"
    lines = table.read_text().splitlines()
    shown = [at for at, line in enumerate(lines) if at and not line.endswith(",x")]
    margins = [at for at in shown if "Total" in lines[at]]
    if kind in ("cell", "margin"):
        at = int(
            draw.choice(
                margins if kind == "margin" else [one for one in shown if one not in margins]
            )
        )
        head, _, value = lines[at].rpartition(",")
        lines[at] = f"{head},{float(value) + float(draw.choice([1, -1, 10, 1000]))}"
    elif kind == "reveal":
        at = int(draw.choice([at for at, line in enumerate(lines) if line.endswith(",x")]))
        truth = sf.tabulate(
            people, ["region", "diagnosis"], "sum(cost)", options=sf.CountOptions(hierarchies=TREE)
        ).to_polars()["sum(cost)"]
        lines[at] = f"{lines[at].rpartition(',')[0]},{truth[at - 1]}"
    elif kind == "certificate":
        file = folder / "share" / "certificate.json"
        said = json.loads(file.read_text())
        key = str(draw.choice(["measure", "method", "summary", "rules", "additive"]))
        section = said["aggregates"]
        others = {
            "summary": {**section["summary"], "suppressed": 0},
            "rules": [],
            "additive": False,
        }
        section[key] = others.get(key, "other")
        file.write_text(json.dumps(said))
    else:
        file = folder / "owner" / "lock.json"
        lock = json.loads(file.read_text())
        cell = str(draw.choice(list(lock["needs"])))
        lock["needs"][cell] = [lock["needs"][cell][0], 1e9]
        file.write_text(json.dumps(lock))
    table.write_text("\n".join(lines) + "\n")


def reseal(folder):
    from sfumato.release.manifest import manifest_of, sha256_of
    from sfumato.release.signatures import digest_of

    share = folder / "share"
    said = json.loads((share / "certificate.json").read_text())
    for section in said["aggregates"]["tables"]:
        section["sha256"] = sha256_of(share / section["file"])
    said["files"] = manifest_of(share)
    said["digest"] = digest_of(said)
    (share / "certificate.json").write_text(json.dumps(said))
    lock = json.loads((folder / "owner" / "lock.json").read_text())
    lock["certificate"] = said["digest"]
    (folder / "owner" / "lock.json").write_text(json.dumps(lock))


def test_a_page_of_something_else_is_not_said_to_hold(written, tmp_path):
    folder = shutil.copytree(written, tmp_path / "copy")
    page = folder / "share" / "report.html"
    statuses = [{one.name: one.status for one in sf.verify(folder / "share").claims}["report"]]
    page.write_text(page.read_text().replace("region", "nation"))
    reseal(folder)
    statuses.append({one.name: one.status for one in sf.verify(folder / "share").claims}["report"])
    assert statuses == ["holds", "needs original"]


def test_a_hundred_edits_are_found(written, people, tmp_path):
    missed = []
    for number, kind, draw in edits():
        folder = shutil.copytree(written, tmp_path / str(number))
        edit(folder, kind, draw, people)
        if sf.verify(folder / "share", owner=folder / "owner").holds:
            missed.append((number, kind))
    assert missed == []


@pytest.mark.parametrize("kind", ["cell", "margin", "reveal", "lock"])
def test_edits_under_a_certificate_that_was_made_to_fit_are_found_by_the_owner(
    written, people, tmp_path, kind
):
    draw = np.random.default_rng(5)
    for number in range(6):
        folder = shutil.copytree(written, tmp_path / f"{kind}{number}")
        edit(folder, kind, draw, people)
        reseal(folder)
        assert not sf.verify(folder / "share", owner=folder / "owner").holds


# How wide an interval must be, and what an intruder knew before.


def widths(made):
    seen = made.audit()
    return {
        int(cell): high - low
        for cell, low, high in zip(seen.hidden, seen.low, seen.high, strict=True)
    }


@pytest.mark.parametrize("method", ["exact", "heuristic"])
def test_intervals_are_as_wide_as_they_must_be(people, method, tmp_path):
    judged = sf.tabulate(people, ["region", "diagnosis"], "sum(cost)").sensitive(*RULES)
    made = judged.protect(method, options=sf.ProtectOptions(slide=20.0))
    need = judged.problem()
    found = widths(made)
    for cell in need.primaries.tolist():
        assert found[cell] >= 20 * (need.up[cell] + need.down[cell]) - 1e-6
    narrow = widths(judged.protect(method))
    assert any(
        narrow[cell] < 20 * (need.up[cell] + need.down[cell]) for cell in need.primaries.tolist()
    )
    folder = made.write(tmp_path / "out")
    assert sf.verify(folder / "share", owner=folder / "owner").holds


def test_golden_a_slides():
    """Golden A: the optimum of ±7 for 22 has the interval [5, 30], 25 wide; 26 need another."""
    from sfumato.results.tables.exact import suppress_exactly

    problem, number = golden_a({(2, 3): (7, 7)})
    at = int(number[1, 2])
    seen = audit(problem, suppress_exactly(problem).hidden)
    assert seen.interval(at) == (5, 30)
    slide = np.zeros(problem.size)
    slide[at] = 26
    wide = problem_of(problem.matrix, problem.value, {at: (7, 7)})
    wide = type(wide)(
        **{**{k: getattr(wide, k) for k in wide.__dataclass_fields__}, "slide": slide}
    )
    assert not audit(wide, suppress_exactly(problem).hidden).holds
    low, high = audit(wide, suppress_exactly(wide).hidden).interval(at)
    assert high - low >= 26


def test_an_intruder_who_knows_cells_before_narrows_them_more(people, tmp_path):
    judged = sf.tabulate(people, ["region", "diagnosis"], "sum(cost)").sensitive(*RULES)
    made = judged.protect("exact", options=sf.ProtectOptions(prior=60))
    seen = made.audit()
    assert seen.holds
    truth = made.problem.value[seen.hidden]
    assert (seen.low >= 0.4 * truth - 1e-6).all()
    assert (seen.high <= 1.6 * truth + 1e-6).all()
    folder = made.write(tmp_path / "out")
    assert sf.verify(folder / "share", owner=folder / "owner").holds


def test_one_who_knows_too_much_is_named(people):
    with pytest.raises(Unsatisfiable, match="knows every cell within 2 %") as refused:
        sf.tabulate(people, ["region", "diagnosis"], "sum(cost)").protect(
            RULES, options=sf.ProtectOptions(prior=2)
        )
    assert refused.value.closest["nearest"]["by"] == ["region"]


@pytest.mark.parametrize("values", [{"slide": 2.0}, {"prior": 50.0}])
def test_widths_and_priors_go_with_suppression(people, values):
    options = sf.ProtectOptions(**values)
    with pytest.raises(ParameterError, match="belong to suppression"):
        sf.tabulate(people, ["region"]).protect(
            [sf.Threshold(5)], method="rounding", options=options
        )


def test_who_says_nothing_and_is_alone_knows_that_the_cell_is_empty():
    frame = pl.DataFrame({"a": ["u", "v", "v", "w"], "x": [None, 1.0, 2.0, 4.0]})
    cells = sf.tabulate(
        frame, ["a"], "sum(x)", options=sf.CountOptions(missing_counts=True)
    ).cells()[0]
    assert cells.n.tolist() == [4, 1, 2, 1]
    assert cells.owner.tolist() == [-1, 0, -1, 3]


# Which records.


def test_a_table_of_some_records(people, tmp_path):
    made = sf.tabulate(people, ["region"], where="diagnosis = flu and cost >= 20")
    naive = people.filter((pl.col("diagnosis") == "flu") & (pl.col("cost") >= 20))
    assert made.to_polars().filter(pl.col("region") == "Total")["count"].to_list() == [len(naive)]
    told = sf.tabulate(people, ["region"], where="region in n1, s2").to_polars()
    assert set(told["region"]) == {"Total", "n1", "s2"}


@pytest.mark.parametrize(
    ("where", "error"),
    [
        ("cost", ParameterError),
        ("cost = many", ParameterError),
        ("cots = 1", SchemaError),
        ("cost < 0", SchemaError),
    ],
)
def test_conditions_that_are_none(people, where, error):
    with pytest.raises(error):
        sf.tabulate(people, ["region"], where=where)


def test_the_folder_is_what_was_protected(written):
    assert len(read_folder(written / "share").hidden) == 12


def test_the_owner_has_a_page_with_intervals_and_reasons(written):
    page = (written / "owner" / "report.html").read_text()
    lock = json.loads((written / "owner" / "lock.json").read_text())
    cells = page[page.index("What an intruder can compute</h2>") :]
    assert cells.count('<tr><th scope="row"><bdi>') == len(lock["cells"]) == 12
    assert "protects others" in page
    assert "p percent" in page
    assert "http" not in page.replace("http-equiv", "")
    assert not any("owner" in file.name for file in (written / "share").iterdir())
