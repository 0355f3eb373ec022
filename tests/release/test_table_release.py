"""Releases of drawn records: refused where they copy, honest about what they promise, written,
verified and told.
"""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.step import Account, Effect
from sfumato.core.table import NOBODY
from sfumato.errors import ParameterError, ReleaseRefused, UnreadableInput
from sfumato.release.folder import read_release
from sfumato.release.signatures import digest_of
from tests.methods.attacks.drawn_rows import DrawColumns, people

SEED = "0123456789abcdef0123456789abcdef"
ANYWAY = {"recognised_members": 1}
"""Of 300 people too few are set aside to tell whether they are recognised; that is accepted here.
"""


@pytest.fixture(scope="module")
def table():
    return people(300)


@pytest.fixture(scope="module")
def written(table, tmp_path_factory):
    """A release of drawn records, written with what the named intruders found."""
    folder = tmp_path_factory.mktemp("drawn")
    table.to_polars().write_parquet(folder / "table.parquet")
    read = sf.read(folder / "table.parquet").with_schema(table.schema)
    release = sf.anonymize(read, sf.KAnonymity(1), sf.Synthesize(), limits=ANYWAY, seed=SEED)
    release.write(folder / "out")
    return folder


# Promises and limits.


def test_copies_are_refused_by_default(table):
    with pytest.raises(
        ReleaseRefused, match=r"copied records is 0\.\d+; the recipe allows at most 0\.1"
    ):
        sf.anonymize(table, sf.KAnonymity(1), DrawColumns(copied=1.0), seed=1)
    with pytest.raises(
        ReleaseRefused, match="copied records is"
    ):  # nor is more than that needed to refuse them
        sf.anonymize(table, (), DrawColumns(copied=1.0), seed=1)


def test_a_recipe_may_set_another_limit(table):
    free = sf.anonymize(
        table,
        (),
        DrawColumns(copied=1.0),
        limits={"copied_records": 1, "recognised_members": 1},
        seed=1,
    )
    assert free.limits[0].value > 0.1 and free.holds
    with pytest.raises(ReleaseRefused, match=r"allows at most 0\.001"):
        sf.anonymize(table, (), DrawColumns(copied=0.2), limits={"copied_records": 0.001}, seed=1)


def test_what_is_not_known_is_refused(table):
    with pytest.raises(ReleaseRefused, match="copied records is unknown: nobody was set aside"):
        sf.anonymize(table, sf.KAnonymity(1), DrawColumns(holdout=0), seed=1)


def test_a_limit_on_what_needs_originals_is_an_error(table):
    with pytest.raises(ParameterError, match="linkage does not apply to this release"):
        sf.anonymize(table, (), DrawColumns(), limits={"linkage": 0.1}, seed=1)


def test_a_recipe_that_draws_nothing_anew_still_needs_a_promise(table):
    with pytest.raises(ParameterError, match="meet is empty"):
        sf.anonymize(table, (), sf.AddNoise(["income"], alpha=0.1), seed=1)


def test_a_promise_about_drawn_records_is_of_the_file(table):
    release = sf.anonymize(table, sf.KAnonymity(1), DrawColumns(), limits=ANYWAY, seed=1)
    verdict = release.verdicts[0]
    assert verdict.holds and not verdict.of_persons
    assert "of the file, not of persons" in verdict.sentence
    assert release.headline.text.startswith("1-anonymity holds of the file, not of persons")
    assert (
        "synthetic record" in str(release)
        and "suppressed" not in str(release)
        and "marketer" not in str(release)
    )
    assert sf.judge(table, sf.KAnonymity(1))[0].of_persons


class AccountedDraw(DrawColumns):
    """The same, as a step that accounts for an ε would be."""

    name = "accounted_draw"

    def account(self, schema):
        """It accounts for the whole table."""
        return Account(Effect.ACCOUNTED, epsilon=1.0, neighbours="add_remove")


def test_where_an_epsilon_is_accounted_for_nothing_is_decided_by_the_original(table):
    release = sf.anonymize(table, (), AccountedDraw(holdout=0, copied=1.0), seed=1)
    assert release.limits == () and not release.needs_attack


def test_partly_drawn_records_are_still_somebodys(table):
    release = sf.anonymize(table, sf.KAnonymity(1), sf.Synthesize(columns=["illness"]), seed=1)
    assert release.pair.aligned and release.limits == () and not release.needs_attack
    assert release.verdicts[0].of_persons
    assert (
        release.attack(only=["linkage"]).value("linkage") > 0.5
    )  # all that an intruder knows was kept


# Who was set aside, and who was learnt from.


def test_rows_set_aside_are_rows_of_the_original(table):
    release = sf.anonymize(
        table, (), DrawColumns(), limits={"copied_records": 1, "recognised_members": 1}, seed=2
    )
    both = np.concatenate([release.learnt_from, release.held_out])
    assert sorted(both.tolist()) == list(range(300)) and len(release.held_out) == 60
    assert release.released.origin.tolist() == [NOBODY] * 300


def test_rows_dropped_before_were_neither_learnt_from_nor_set_aside(table):
    steps = [sf.Sample(0.5), DrawColumns()]
    release = sf.anonymize(
        table, (), steps, limits={"copied_records": 1, "recognised_members": 1}, seed=2
    )
    known = np.concatenate([release.learnt_from, release.held_out])
    assert len(known) == len(set(known.tolist())) < 200
    assert any("before some were set aside" in warning for warning in release.warnings)
    assert not any(
        "set aside" in w
        for w in sf.anonymize(table, (), DrawColumns(), limits=ANYWAY, seed=2).warnings
    )


# Written, read back, verified.


def test_a_written_release_says_that_its_records_are_nobodys(written):
    certificate = json.loads((written / "out/share/certificate.json").read_text())
    assert (
        certificate["synthetic"]["learnt_from"] == 240
        and certificate["synthetic"]["held_out"] == 60
    )
    assert certificate["suppressed_records"] is None
    assert certificate["verdicts"][0]["of_persons"] is False
    assert [limit["name"] for limit in certificate["limits"]] == [
        "copied_records",
        "recognised_members",
    ]
    tried = {one["attack"] for one in certificate["attacks"]["tried"]}
    assert {
        "copied_records",
        "near_copies",
        "closest_record",
        "singling_out",
        "linkability",
        "inference",
        "membership",
    } == tried
    # rows that are synthetic record cannot be followed; of 300 people too few are set aside to tell whether
    # they are recognised
    unknown = {
        one["attack"]
        for one in certificate["attacks"]["skipped"]
        if one["status"] != "does not apply"
    }
    assert unknown == {"recognised_members"}
    for page in ("share/report.html", "owner/report.html"):
        text = (written / "out" / page).read_text()
        assert "These are synthetic records" in text and "records left out" not in text
        first, of_the_file = (
            text.index("<h2>Attacks"),
            text.index("so nobody is found by picking one"),
        )
        assert (
            first < of_the_file < text.index("Prosecutor risk", of_the_file)
            and "Prosecutor risk" not in text[:first]
        )
        assert "the safer its members" not in text


def test_the_owner_knows_who_was_set_aside(written, table):
    pair = read_release(written / "out").beside(sf.read(written / "table.parquet"))
    assert not pair.aligned and len(pair.held_out) == 60 and len(pair.learnt_from) == 240
    assert set(pl.read_parquet(written / "out/owner/alignment.parquet")["original_row"]) == {NOBODY}


def test_a_list_of_people_that_does_not_fit_is_refused(written, tmp_path):
    import shutil

    shutil.copytree(written / "out", tmp_path / "out")
    file = tmp_path / "out/owner/people.parquet"
    for rows in ([0, 5000], [0, None]):
        pl.DataFrame({"original_row": rows, "held_out": [True, False]}).write_parquet(file)
        with pytest.raises(UnreadableInput, match="does not match the original"):
            read_release(tmp_path / "out").beside(sf.read(written / "table.parquet"))
    file.write_text("no parquet")
    with pytest.raises(UnreadableInput, match="cannot be read"):
        read_release(tmp_path / "out").beside(sf.read(written / "table.parquet"))


def claims(folder, **options):
    return {claim.name: claim.status for claim in sf.verify(folder, **options).claims}


def test_a_drawn_release_is_verified_and_made_again(written):
    alone = claims(written / "out/share")
    assert alone["1-anonymity"] == "holds" and alone["copied_records"] == "needs original"
    original = sf.read(written / "table.parquet")
    both = claims(written / "out/share", original=original, owner=written / "out/owner")
    assert set(both.values()) == {"holds"}
    assert {
        "rows are those drawn from the original",
        "copied_records, against the original",
    } <= set(both)


def test_a_drawn_release_that_was_edited_is_not_verified(written, tmp_path):
    import shutil

    shutil.copytree(written / "out", tmp_path / "out")
    data = tmp_path / "out/share/data.parquet"
    rows = pl.read_parquet(data)
    flipped = rows.with_columns(
        pl.when(pl.int_range(len(rows)) == 0).then(pl.lit(-1)).otherwise(pl.col("age")).alias("age")
    )
    flipped.write_parquet(data)
    original = sf.read(written / "table.parquet")
    found = claims(tmp_path / "out/share", original=original, owner=tmp_path / "out/owner")
    assert (
        found["data file unedited"] == "fails"
        and found["rows are those drawn from the original"] == "fails"
    )
    certificate = tmp_path / "out/share/certificate.json"
    text = certificate.read_text().replace('"held_out": 60', '"held_out": 6000')
    certificate.write_text(text)
    assert claims(tmp_path / "out/share")["certificate unedited"] == "fails"


def test_attacks_are_run_once_and_can_be_left_out(table, tmp_path):
    release = sf.anonymize(table, (), sf.Synthesize(), limits=ANYWAY, seed=SEED)
    assert (
        release.needs_attack
        and not dataclasses.replace(
            release, attacks=release.attack(only=["copied_records"])
        ).needs_attack
    )
    release.write(tmp_path / "none", attack=0)
    assert "attacks" not in json.loads((tmp_path / "none/share/certificate.json").read_text())


# On one map.


def test_recoded_masked_and_drawn_candidates_have_common_axes(table):
    described = table.with_hierarchies(
        age=sf.intervals(10, 20), sex=sf.suppress(), zip=sf.mask_right(4)
    )
    recipes = {
        "recoded": sf.Recipe(
            described.schema, (sf.KAnonymity(3),), (sf.GlobalRecoding(budget=0.1),)
        ),
        "masked": sf.Recipe(
            described.schema, (), (sf.AddNoise(["age", "income"], alpha=0.2),), {"linkage": 1}
        ),
        "drawn": sf.Recipe(described.schema, (), (sf.Synthesize(),)),
    }
    found = sf.compare(table, recipes, seed=1, options=sf.CompareOptions(workers=1, seconds=200))
    assert (found.risk, found.utility) == ("linkability", "marginal_error")
    assert all(found.risk in one.risks and found.utility in one.utilities for one in found.outcomes)
    drawn = next(one for one in found.outcomes if one.name == "drawn")
    assert (
        "marketer_risk" not in drawn.risks
        and "copied_records" in drawn.risks
        and drawn.suppressed == 0
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.pop("synthetic"),
        lambda c: c["synthetic"].update(rows=c["synthetic"]["rows"] + 1),
        lambda c: c["synthetic"].update(learnt_from=3),
        lambda c: c["synthetic"].update(held_out=3),
        lambda c: c["verdicts"][0].pop("of_persons"),
        lambda c: c["limits"][0].update(limit=0.9),
        lambda c: c["limits"][0].update(holds=False),
        lambda c: c["limits"][0].update(value=0.0123),
        lambda c: c["recipe"]["limits"].update(copied_records=0.9),
    ],
)
def test_an_edited_certificate_of_drawn_rows_does_not_verify(written, table, change):
    """Its writer could seal it again; original and lock tell."""
    original = sf.read(written / "table.parquet").with_schema(table.schema)
    share, owner = written / "out" / "share", written / "out" / "owner"
    assert sf.verify(share, original=original, owner=owner).holds
    told = {claim.name: claim.detail for claim in sf.verify(share).claims}
    assert "of the file, not of persons" in told["1-anonymity"]
    whole = (share / "certificate.json").read_text()
    body = json.loads(whole)
    change(body)
    (share / "certificate.json").write_text(json.dumps({**body, "digest": digest_of(body)}))
    try:
        assert not sf.verify(share, original=original, owner=owner).holds
    finally:
        (share / "certificate.json").write_text(whole)
