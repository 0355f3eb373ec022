"""What a release did and why: of a release in memory and of its folder."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.data.examples import set_valued
from sfumato.errors import ParameterError
from sfumato.release.explanation import Explanation

ACCEPT = {"diagnosis": {"implies": "occupation", "because": "croup is a disease of children"}}
OPTIONS = sf.AnonymizeOptions(accept=ACCEPT)


@pytest.fixture(scope="module")
def people():
    return sf.examples.hospital(rows=300)


@pytest.fixture(scope="module")
def release(people):
    return sf.anonymize(people, "k_anonymity:3", [sf.Mondrian()], seed=1, options=OPTIONS)


def test_a_release_explains_itself_as_its_folder_does(release, tmp_path):
    folder = release.write(tmp_path / "out")
    in_memory = release.explain()
    assert str(in_memory) == str(Explanation.of_folder(folder))
    assert "✓ 3-anonymity" in str(in_memory) and "Cell by cell" in str(in_memory)


def test_the_shared_folder_alone_does_not_tell_what_the_owner_knows(release, tmp_path):
    folder = release.write(tmp_path / "out")
    assert "Cell by cell" not in str(Explanation.of_folder(folder / "share"))


def test_non_tabular_data_explain_themselves():
    release = sf.anonymize(
        set_valued.baskets(),
        {"km_anonymity": {"k": 2, "m": 1}},
        {"suppress_items": {}},
        options=sf.AnonymizeOptions(seconds=0),
        seed=1,
    )
    assert "are shared" in str(release.explain())


def test_steps_are_added_and_taken_back_one_by_one(people, release):
    longer = release.then({"sample": {"fraction": 0.5}})
    assert [step.name for step in longer.recipe.steps] == ["mondrian", "sample"]
    assert longer.released.size < release.released.size
    assert longer.undo().data.equals(release.data)
    with pytest.raises(ParameterError, match="has one step"):
        release.undo()
    with pytest.raises(ParameterError, match="takes a step"):
        release.then()


def test_what_no_longer_holds_after_undoing_is_not_written(people, tmp_path):
    release = sf.anonymize(
        people, "k_anonymity:3", [sf.Round(["cost"], 10), sf.Mondrian()], seed=1, options=OPTIONS
    )
    shorter = release.undo()
    assert not shorter.holds
    with pytest.raises(sf.errors.ReleaseRefused):
        shorter.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()
