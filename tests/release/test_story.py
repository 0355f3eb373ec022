"""What a report draws of a release: no value on the public side, and sense on every table, however
small or odd.
"""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import SchemaError, printable
from sfumato.methods.formulas.binning import BinnedColumn
from sfumato.release import story as telling
from sfumato.release.certificate_words import without_words
from sfumato.release.documents import ReleaseSummary
from sfumato.release.sealing import as_owner_sees
from sfumato.release.story import FEWEST, MOST_CARDS, public_story, story_of
from tests.release.report.samples import draw_page, owner_page
from tests.release.report.test_pages import Page

HOSTILE_COLUMNS = ["<script>alert(1)</script>", "\u202eمريض", "\U0001f9d1 " + "x" * 200]
HOSTILE_VALUE = "\"><img src=x onerror=alert('v')>"


def table(rows: int = 40, columns: int = 3) -> sf.Table:
    draw = np.random.default_rng(7)
    frame = pl.DataFrame({f"c{i}": draw.integers(0, 3 + i % 4, rows) for i in range(columns)})
    names = frame.columns
    described = sf.read(frame).with_roles(quasi=names[: max(1, min(2, columns))], keep=names[2:])
    return described.with_hierarchies(**dict.fromkeys(names[:2], sf.suppress()))


def released(dataset: sf.Table, k: int = 2, budget: float = 1.0):
    return sf.anonymize(dataset, [sf.KAnonymity(k)], [sf.GlobalRecoding(budget=budget)], seed=1)


def told_of(release):
    return story_of(release, release.pair)


def pages_of(release) -> tuple[Page, Page]:
    from sfumato.release.documents import certificate, owner_record

    summary, digest = ReleaseSummary.of(release), "ab" * 32
    data_file = {"file": "data.csv", "sha256": digest, "format": "csv"}
    public = certificate(
        release, summary=summary, data_file=data_file, salt="cd" * 32, input_digest=digest
    )
    record = {
        "certificate": {**public, "digest": digest},
        **owner_record(release, summary=summary, input_digest=digest),
    }
    return Page(draw_page(without_words(public))), Page(owner_page(as_owner_sees(record)))


def test_shares_add_up_and_unchanged_columns_stay():
    release = released(table(200))
    found = told_of(release)
    assert [card["column"] for card in found["cards"]] == ["c0", "c1", "c2"]
    for card in found["cards"]:
        assert sum(card["before"]) == pytest.approx(1) and sum(card["after"]) == pytest.approx(1)
    assert found["cards"][2]["loss"] == 0


def test_columns_that_were_not_changed_go_together_as_before():
    """Every cell is released as it was: distances are 0, and Cramér's V is what it was."""
    release = released(table(200, 5), k=1)
    maps = told_of(release)["maps"]
    assert maps["table_distance"] == pytest.approx([0.0] * 10)
    assert maps["association_after"] == pytest.approx(maps["association_before"])


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=40),
    st.integers(1, 5),
)
def test_generalising_never_makes_columns_go_together_more(pairs, groups):
    """A merged value spread evenly over its members is noise on a column, and noise adds no
    association (chi-square divergence obeys the data-processing inequality).
    """
    one, other = (np.array(codes, dtype=np.int64) for codes in zip(*pairs, strict=True))
    label = np.arange(5) % groups
    spread = np.array(
        [[(label[v] == g) / (label == g).sum() for v in range(5)] for g in range(groups)]
    )
    merged = BinnedColumn("a", tuple("vwxyz"), one, label[one], spread)
    kept = BinnedColumn("b", tuple("abcd"), other, other, np.eye(4))
    found = telling.maps_of(None, [merged, kept])
    assert found["association_after"][0] <= found["association_before"][0] + 1e-9
    assert found["association_before"][0] == pytest.approx(naive_v(one, other))


def naive_v(one, other) -> float:
    """Cramér's V by its definition, cell by cell (H. Cramér, Mathematical Methods of Statistics,
    1946, section 21.9).
    """
    rows, columns, n = sorted(set(one)), sorted(set(other)), len(one)
    if min(len(rows), len(columns)) < 2:
        return 0.0
    squared = 0.0
    for r in rows:
        for c in columns:
            expected = sum(one == r) * sum(other == c) / n
            squared += (sum((one == r) & (other == c)) - expected) ** 2 / expected
    return math.sqrt(squared / n / (min(len(rows), len(columns)) - 1))


def test_a_value_of_few_records_is_not_named():
    frame = pl.DataFrame(
        {"sex": ["m", "f"] * 20, "town": ["common"] * (40 - FEWEST + 1) + ["rare"] * (FEWEST - 1)}
    )
    dataset = (
        sf.read(frame).with_roles(quasi="sex", keep="town").with_hierarchies(sex=sf.suppress())
    )
    card = next(c for c in told_of(released(dataset))["cards"] if c["column"] == "town")
    assert "common" in card["bins"] and "rare" not in card["bins"]


def test_direct_unit_and_weight_columns_are_not_drawn():
    frame = pl.DataFrame(
        {
            "id": range(20),
            "name": [f"n{i}" for i in range(20)],
            "w": [1.5] * 20,
            "sex": ["m", "f"] * 10,
        }
    )
    dataset = sf.read(frame).with_roles(person="id", drop="name", weight="w", quasi="sex")
    found = told_of(released(dataset.with_hierarchies(sex=sf.suppress())))
    assert [card["column"] for card in found["cards"]] == ["sex"]
    assert set(found["suppressed_cells"]) == {"sex"}


def test_public_story_has_no_bins_and_nothing_of_the_original_but_distances():
    found = public_story(told_of(released(table(100))))
    assert set(found) == {"cards", "maps", "suppressed_cells"}
    assert all(set(card) == {"column", "roles", "loss", "distance"} for card in found["cards"])
    assert set(found["maps"]) == {"columns", "table_distance"}


@pytest.mark.slow
def test_nothing_was_released():
    release = released(table(30))
    empty = dataclasses.replace(
        release, released=release.released.take(np.array([], dtype=np.int64))
    )
    found = told_of(empty)
    assert set(found["suppressed_cells"].values()) == {1.0}
    json.dumps(found, allow_nan=False)
    for page in pages_of(empty):
        assert "nan" not in page.text.lower().split()


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 2])
def test_hardly_anyone_is_in_it(rows):
    release = released(table(rows), k=1)
    json.dumps(told_of(release), allow_nan=False)
    for page in pages_of(release):
        assert "1-anonymity holds" in page.text


def test_no_column_to_draw():
    """Nothing is left but a weight: there is nothing to draw, and the owner's page says so."""
    frame = pl.DataFrame({"sex": ["m", "f"] * 10, "w": [1.5] * 20})
    dataset = sf.read(frame).with_roles(quasi="sex", weight="w").with_hierarchies(sex=sf.suppress())
    release = released(dataset)
    bare = dataclasses.replace(release, released=release.released.drop(["sex"]))
    found = told_of(bare)
    assert (
        found["cards"] == [] and found["maps"]["columns"] == [] and found["suppressed_cells"] == {}
    )


def test_no_column_in_common_is_refused():
    release = released(table(20))
    bare = dataclasses.replace(release, released=release.released.drop(["c0", "c1", "c2"]))
    with pytest.raises(SchemaError, match="cannot be aligned"):
        told_of(bare)


@pytest.mark.slow
def test_sixty_columns_are_not_sixty_cards():
    release = released(table(30, 60))
    found = told_of(release)
    assert len(found["cards"]) == MOST_CARDS
    assert len(found["maps"]["columns"]) == telling.MOST_IN_MAP
    assert len(found["suppressed_cells"]) == 60
    _, owner = pages_of(release)
    assert f"{60 - MOST_CARDS} more columns are not drawn." in owner.text
    assert owner.tags.count("svg") < MOST_CARDS + 12


@pytest.mark.slow
def test_a_large_table_is_drawn_from_a_sample_and_says_so(monkeypatch):
    release = released(table(120))
    monkeypatch.setattr(telling, "MOST_ROWS", 50)
    found = told_of(release)
    assert found["sampled"] and found == told_of(release)
    assert "from a sample of the records" in pages_of(release)[1].text
    monkeypatch.setattr(telling, "MOST_ROWS", 1_000)
    release = released(table(120))  # another one: a release keeps what was worked out once
    assert not told_of(release)["sampled"]
    assert "drawn from a sample" not in pages_of(release)[1].text


def test_records_that_were_not_drawn_are_not_told_as_gone(monkeypatch, tmp_path):
    whole = told_of(released(table(120)))["suppressed_cells"]
    monkeypatch.setattr(telling, "MOST_ROWS", 50)
    release = released(table(120))
    assert told_of(release)["suppressed_cells"] == pytest.approx(whole, abs=0.2)
    release.write(tmp_path / "out")
    claims = sf.verify(tmp_path / "out" / "share").claims
    assert not [claim.name for claim in claims if claim.status == "fails"]


@pytest.mark.slow
def test_hostile_names_and_values_stay_text():
    rows = 30
    names = HOSTILE_COLUMNS
    frame = pl.DataFrame(
        {
            names[0]: [1, 2] * 15,
            names[1]: ["a"] * rows,
            names[2]: [HOSTILE_VALUE] * 20 + ["ok"] * 10,
        }
    )
    dataset = sf.read(frame).with_roles(quasi=names[:2], sensitive=names[2])
    dataset = dataset.with_hierarchies(**dict.fromkeys(names[:2], sf.suppress()))
    release = released(dataset).attacked(seconds=2, sample=20, only=("linkage", "homogeneity"))
    public, owner = pages_of(release)
    for page in (public, owner):
        # The one script of a shared page is the checker, which holds nothing of the table.
        assert set(page.tags).isdisjoint({"img"}) and page.tags.count("script") <= 1
        assert not [name for name, _ in page.attributes if name.startswith("on") or name == "src"]
        for name in names:
            assert printable(name) in page.text
    assert any(HOSTILE_VALUE in label for label in owner.labels)
    assert not any(HOSTILE_VALUE in text for text in (public.text, *public.labels))
    # the same in a notebook
    for shown in (
        dataset,
        release,
        release.before,
        release.attacks,
        release.evaluate(),
        release.verdicts[0],
    ):
        page = Page(shown._repr_html_())
        assert not {"script", "img"} & set(page.tags)
        assert HOSTILE_VALUE not in page.text
