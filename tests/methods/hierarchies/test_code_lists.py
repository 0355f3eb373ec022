"""What public classifications consist of: facts about their codes, read from data files on use."""

from __future__ import annotations

from sfumato.methods.hierarchies import code_lists
from tests.methods.hierarchies.test_public_classification import COUNTRIES, STATES


def test_the_lists_are_as_long_as_their_documents_say():
    assert len(COUNTRIES) == 249 == len(set(COUNTRIES.values()))
    assert (
        sum(len(pairs) for pairs in code_lists.countries()["countries"].values()) == 249
    )  # none twice
    sub_regions = {
        code_lists.countries()["sub_regions"].get(finest, finest)
        for finest in code_lists.countries()["countries"]
    } - {"Antarctica"}
    assert len(sub_regions) == 17
    assert sub_regions | {"Antarctica"} == {
        sub for subs in code_lists.countries()["regions"].values() for sub in subs
    }
    assert len(STATES) == 51 == len(set(STATES.values()))
    assert len(code_lists.us_states()["divisions"]) == 9
    assert len(code_lists.us_states()["regions"]) == 4
    assert sorted(d for ds in code_lists.us_states()["regions"].values() for d in ds) == sorted(
        code_lists.us_states()["divisions"]
    )
    assert len(code_lists.icd10_chapters()) == 22
    assert len(code_lists.nace_sections()) == 21
    assert sum(map(len, code_lists.isco08_groups().values())) == 43
    assert len(code_lists.isco08_groups()) == 10
    assert "".join(map("".join, code_lists.isced_groups().values())) == "012345678"
    assert len(code_lists.nuts_countries()) == 37
