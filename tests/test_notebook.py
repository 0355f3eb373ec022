"""What objects show in a notebook: names, counts and rates, every text escaped; charts and frames
on request.
"""

from __future__ import annotations

import altair as alt
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato import examples
from sfumato.core.attack import Finding
from sfumato.core.metric import Measure
from sfumato.release.attack_report import AttackReport, Skipped, Tried
from sfumato.release.evaluation import Evaluation
from tests.release.report.test_pages import Page


@pytest.fixture(scope="module")
def release():
    made = sf.anonymize(
        examples.hospital(300), [sf.KAnonymity(4)], [sf.GlobalRecoding(budget=0.1)], seed=1
    )
    return made.attacked(seconds=5, sample=40, only=("linkage", "homogeneity"))


def test_dataset_shows_counts_and_no_values():
    frame = pl.DataFrame(
        {
            "age": [61, 61, None, 87],
            "town": ["Ulm", "Ulm", "Bonn", None],
            "x": [0.5, float("nan"), None, 0.5],
        }
    )
    shown = Page(sf.read(frame).with_roles(quasi=["age", "town"])._repr_html_())
    assert "4 rows, 3 columns" in shown.text
    assert "age quasi numeric 1 2" in shown.text
    assert "town quasi nominal 1 2" in shown.text
    assert "x – – 2 1" in shown.text
    for value in ("61", "87", "Ulm", "Bonn", "0.5"):
        assert value not in shown.text


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame(),
        pl.DataFrame({"a": []}),
        pl.DataFrame({"a": [[1], [2]]}),
        pd.DataFrame({"a": [1, "x", None]}),
        pd.DataFrame({"a": [object(), object()]}),
        pl.DataFrame({f"c{i}": [1] for i in range(300)}),
    ],
    ids=["nothing", "no rows", "lists", "mixed", "objects", "wide"],
)
def test_odd_tables_are_shown_too(frame):
    shown = Page(sf.read(frame)._repr_html_())
    assert f"{len(frame.columns)} columns" in shown.text
    if len(frame.columns) > 200:
        assert "… and 100 more" in shown.text


def test_dataset_counts_once():
    dataset = examples.hospital(50)
    first = dataset._repr_html_()
    assert dataset._repr_html_() == first
    assert ("notebook", "age") in dataset.memo


def test_hostile_names_are_escaped():
    name = "<script>alert(1)</script>"
    dataset = sf.read(pl.DataFrame({name: ["a", "b", *"cccc"]})).with_roles(quasi=[name])
    measure = Measure(name, 0.5, "lower", name, per_column={name: 0.5})
    attack = AttackReport(
        name,
        1,
        1,
        (Tried(name, (name,), Finding(name, 0.5, name), 0.2),),
        (Skipped(name, name, name),),
        1,
    )
    evaluation = Evaluation(name, 1, 1, (measure,), {name: name})
    for shown in (dataset, sf.assess(dataset), measure, attack, evaluation):
        page = Page(shown._repr_html_())
        assert "script" not in page.tags and name in page.text


def test_verdict_and_measure(release):
    verdict = Page(release.verdicts[0]._repr_html_())
    assert "✓ 4-anonymity" in verdict.text and "attained required" in verdict.text
    interval = Page(
        Measure("linkage", 0.25, "lower", "links people", (0.2, 0.3), raw=7.0)._repr_html_()
    )
    assert (
        "linkage: links people (lower is better)" in interval.text
        and "all 0.25 0.2 to 0.3 7" in interval.text
    )


def test_every_object_shows_its_verdict_first_and_brings_its_style(release):
    assessed = sf.assess(examples.hospital(100), [sf.KAnonymity(50)])
    worth = release.evaluate()
    for shown, verdict in (
        (release._repr_html_(), release.headline.text),
        (release.attacks._repr_html_(), "attack"),
        (assessed._repr_html_(), "50-anonymity does not hold; "),
        (sf.assess(examples.hospital(100))._repr_html_(), "No promise was asked for; "),
        (worth._repr_html_(), f"Loss (LM) {worth.measure('loss').value:.4f} (0 is best)"),
    ):
        assert shown.startswith("<style>")
        assert verdict in shown[: shown.index("</p>")]


def test_release_shows_verdicts_columns_and_risks(release):
    page = Page(release._repr_html_())
    assert "✓ 4-anonymity: everyone" in page.text
    assert "records released" in page.text
    for change in release.columns:
        assert change.name in page.text
    assert "marketer risk" in page.text
    for value in examples.hospital(300).column("diagnosis").unique().drop_nulls().to_list():
        assert value not in page.text


def test_frames(release):
    frame = release.to_frame()
    assert frame["column"].to_list() == release.original.columns
    assert frame.filter(pl.col("column") == "patient_name")["distinct_after"].to_list() == [None]
    risks = release.before.to_frame()
    assert dict(risks.select("risk", "value").iter_rows())[
        "marketer_risk"
    ] == release.before.measure("marketer_risk")
    attacks = release.attacks.to_frame()
    assert attacks["value"].to_list() == [t.finding.value for t in release.attacks.tried]
    assert {"low", "high", "baseline", "limit", "exceeds"} < set(attacks.columns)


def test_frames_of_nothing_have_their_columns():
    nothing = AttackReport("x", 0, 0, (), (), 0.0)
    assert (
        nothing.to_frame().columns[:3] == ["intruder", "attack", "value"]
        and len(nothing.to_frame()) == 0
    )
    assert nothing.plot() is None
    assert Evaluation("x", 0, 0, (), {}).plot() is None
    assert "no attacks" in Page(nothing._repr_html_()).text


def test_plots_are_charts_that_draw(release):
    """Every chart renders, on a ground of its own, and shows the numbers it is about."""
    import vl_convert

    evaluation = release.evaluate([sf.Loss(), sf.Accuracy()] if hasattr(sf, "Loss") else None)
    charts = {
        "assessment": (release.after.plot(), f"{max(release.after.class_sizes):,}"[:1]),
        "release": (release.plot(), "1/k = 25 %"),
        "attacks": (release.attacks.plot(), "prosecutor: linkage"),
        "evaluation": (evaluation.plot(), "Loss (LM)"),
    }
    for name, (chart, text) in charts.items():
        assert isinstance(chart, alt.LayerChart), name
        plain = chart.to_dict(validate=False)
        assert plain["config"]["background"] == "white", name
        assert text in vl_convert.vegalite_to_svg(plain), name


def test_class_sizes_have_the_line_of_a_promised_k():
    import vl_convert

    found = sf.assess(examples.hospital(200), [sf.KAnonymity(3)])
    assert "k = 3" in vl_convert.vegalite_to_svg(found.plot().to_dict(validate=False))
