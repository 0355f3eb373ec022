"""``sfumato explain`` on a release, and ``sfumato explain k_anonymity``."""

from __future__ import annotations

import json
import shutil

import pytest

import sfumato as sf
from sfumato.release.alternatives import alternatives_of


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    people = sf.examples.hospital(rows=600)
    accept = {"diagnosis": {"implies": "occupation", "because": "croup is a disease of children"}}
    made = sf.anonymize(
        people,
        [sf.KAnonymity(5)],
        [sf.GlobalRecoding(budget=0.05)],
        options=sf.AnonymizeOptions(accept=accept),
        seed=1,
    )
    return made, made.write(tmp_path_factory.mktemp("release") / "out")


def flat(text):
    return " ".join(text.split())


@pytest.mark.slow
def test_the_owner_reads_why_this_node_and_not_its_neighbour(sfumato, out):
    made, folder = out
    told = sfumato("explain", folder)
    assert told.code == 0 and "✓ 5-anonymity" in told.out
    for sentence in made.alternatives().reasons().all:
        assert sentence in flat(told.out)
    assert "is beyond the budget: it would suppress" in flat(told.out)
    assert "instead of 5 % (30 records)" in flat(told.out)


def test_whoever_has_only_the_shared_folder_reads_the_certificate(sfumato, out, tmp_path):
    _, folder = out
    share = tmp_path / "share"
    shutil.copytree(folder / "share", share)
    for place in (share, folder / "share"):
        told = sfumato("explain", place)
        assert told.code == 0 and "✓ 5-anonymity" in told.out
        assert "budget" not in told.out and "finer" not in told.out
    assert "alternatives" not in json.loads(sfumato("explain", share, "--json").out)


def test_json_has_the_alternatives_beside_the_certificate(sfumato, out):
    made, folder = out
    document = json.loads(sfumato("explain", folder, "--json").out)
    assert document["sfumato_certificate"] == 3
    assert document["alternatives"]["chosen"]["levels"] == made.plans[0][1].levels
    assert document["alternatives"]["whole"] is True


def test_a_lattice_too_large_to_walk_says_so(sfumato, out, tmp_path, monkeypatch):
    made, _ = out
    made.released.memo.clear()  # else the alternatives are those that were worked out before
    monkeypatch.setattr(
        "sfumato.release.documents.alternatives_in_passing",
        lambda release: alternatives_of(release, most_nodes=10, most_effort=1e12),
    )
    folder = made.write(tmp_path / "large")
    told = sfumato("explain", folder)
    assert told.code == 0 and "proved by the search" in flat(told.out)
    assert "too many to describe them all" in flat(told.out)
    assert "one level finer" in told.out and "Another budget" not in told.out
    page = (folder / "owner" / "report.html").read_text()
    assert "<h2>Alternatives</h2>" in page and "Less risk at a higher cost" not in page


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"certificate": {"digest": "another"}}', '{"certificate": 3}']
)
def test_an_owner_record_that_does_not_fit_is_refused(sfumato, out, tmp_path, text):
    _, folder = out
    copied = tmp_path / "out"
    shutil.copytree(folder, copied)
    (copied / "owner" / "release.json").write_text(text)
    told = sfumato("explain", copied)
    assert told.code == 5 and "release.json" in told.err and not told.out


def test_both_readings_of_a_risk(sfumato):
    told = sfumato("explain", "k_anonymity", "--risk", "0.09")
    assert told.code == 0
    assert "Strictly: k = 12, because 1/12 = 0.08333 is at most 0.09." in told.out
    assert "In practice: k = 11, but 1/11 = 0.09091 is more than 0.09" in told.out
    assert "low 3–5, medium 5–10, high 10–20" in told.out
    plain = json.loads(sfumato("explain", "k_anonymity", "--risk", "0.09", "--json").out)
    assert (plain["strict"], plain["practice"]) == (12, 11)


def test_a_sample_of_a_population(sfumato):
    told = sfumato(
        "explain", "k_anonymity", "--risk", "0.09", "--population", 100_000, "--records", 10_000
    )
    # E[1/F | f = 2] at a sampling fraction of 0.1 is 0.0827, for f = 1 it is 0.2558
    assert told.code == 0 and "If nobody knows who is in the file: k = 2," in told.out


def test_back_from_k_to_the_risk(sfumato):
    told = sfumato("explain", "k_anonymity", "--k", 11)
    assert told.code == 0 and "by 1/11 = 0.09091." in told.out
    assert json.loads(sfumato("explain", "k_anonymity", "--k", 20, "--json").out)["risk"] == 0.05


@pytest.mark.parametrize(
    "arguments",
    [
        ("--records", "10"),
        ("--plan", "--risk", "0.1"),
        ("--encoding", "utf-8"),
        ("--risk", "0.1", "--k", "5"),
        ("--risk", "0"),
        ("--risk", "2"),
        ("--risk", "nan"),
        ("--risk", "much"),
        ("--k", "0"),
        ("--k", "5", "--population", "10"),
        ("--risk", "0.1", "--population", "10"),
        ("--risk", "0.1", "--population", "10", "--records", "11"),
    ],
)
def test_choose_k_refuses_what_makes_no_sense(sfumato, arguments):
    told = sfumato("explain", "k_anonymity", *arguments)
    assert told.code == 2 and told.err and not told.out


def test_all_minimal_nodes_are_told(sfumato, tmp_path):
    step = sf.GlobalRecoding(
        budget=0.02, algorithm="samarati", objective="minimum_absolute_distance"
    )
    made = sf.anonymize(sf.examples.hospital(rows=300), [sf.KAnonymity(4)], [step], seed=1)
    listed = made.plans[0][1].effort()["k_minimal"]
    assert len(listed) > 1 and listed[0]["score"] == min(one["score"] for one in listed)
    told = flat(sfumato("explain", made.write(tmp_path / "out")).out)
    assert f"All {len(listed)} k-minimal nodes" in told
    for one in listed:
        assert ", ".join(f"{column} {level}" for column, level in one["levels"].items()) in told
    assert "k_minimal" not in (tmp_path / "out" / "share" / "certificate.json").read_text()


@pytest.mark.parametrize("path", ["nowhere/", "nowhere/else", "./nowhere"])
def test_a_folder_that_does_not_exist_is_called_a_folder(sfumato, path):
    told = sfumato("explain", path)
    assert told.code == 5 and f"there is no folder {path}" in flat(told.err)


def test_a_name_that_is_neither_known_nor_a_folder_says_both(sfumato):
    told = sfumato("explain", "nowhere")
    assert told.code == 2 and "is neither a known name nor a folder" in flat(told.err)
    assert sfumato("explain", "models/k_anonymity").code == 0


@pytest.fixture(scope="module", params=["mondrian", "local_recoding"])
def locally(request, tmp_path_factory):
    people = sf.examples.hospital(rows=300)
    step = sf.Mondrian() if request.param == "mondrian" else sf.LocalRecoding()
    made = sf.anonymize(people, [sf.KAnonymity(5)], [step], seed=1)
    return made, made.write(tmp_path_factory.mktemp("local") / "out")


def test_the_owner_reads_what_a_local_method_made_of_every_column(sfumato, locally):
    made, folder = locally
    told = flat(sfumato("explain", folder).out)
    plan = made.plans[0][1]
    facts = plan.effort()["cells"]
    assert set(facts) == set(made.original.schema.quasi)
    assert sum(one["loss"] for one in facts.values()) / len(facts) == pytest.approx(plan.score)
    changes = {change.name: change for change in made.columns}
    for column, one in facts.items():
        released = made.released.column(column).n_unique()
        assert changes[column].distinct_after == released
        assert (
            f"{column}: {released:,} different cells from {changes[column].distinct_before:,}"
            " values" in told
        )
        assert one["loss"] == pytest.approx(float(made.pair.losses(column).mean()))
        assert 0 <= one["exact"] + one["nothing"] <= 1
    assert (
        "5-anonymity: attained is exactly what is required, 5" in told and told.count("age: ") == 1
    )


def test_the_worst_groups_are_told_by_size_and_loss_only(locally):
    made, _ = locally
    worst = made.plans[0][1].effort()["worst"]
    assert len(worst) == 5 and all(
        set(one) == {"records", "loss"} and one["records"] >= 1 for one in worst
    )
    assert [one["loss"] for one in worst] == sorted((one["loss"] for one in worst), reverse=True)
    assert worst[0]["loss"] > made.plans[0][1].score


def test_the_public_reads_of_a_local_method_no_more_than_the_certificate_says(sfumato, locally):
    _, folder = locally
    told = flat(sfumato("explain", folder / "share").out)
    assert "age: recoded cell by cell; a cell leaves" in told
    assert "different cells" not in told and "groups that lose" not in told
    assert "cells" not in json.loads((folder / "share" / "certificate.json").read_text())["plan"][0]


def test_bounds_before_data(sfumato, visits, recipe):
    told = sfumato("explain", "l_diversity", "--data", visits, "--sensitive", "diagnosis")
    assert told.code == 0, told.err
    assert "2-diversity of diagnosis" in told.out
    both = sfumato("explain", "p_sensitive", "--data", visits, "-r", recipe, "--k", 7, "--json")
    assert '"promise": "2-sensitive 7-anonymity of diagnosis"' in both.out
    assert sfumato("explain", "l_diversity", "--sensitive", "diagnosis").code == 2
    assert sfumato("explain", "l_diversity", visits, "--data", visits).code == 2
