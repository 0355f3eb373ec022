"""What can be added to a recipe: every member of a family in one line, under headings, ours and
those of plug-ins."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.core import registry
from sfumato.interfaces.web.catalogue import catalogue, sentence_of, summary_of, title_of
from sfumato.interfaces.web.forms import form_of


def test_everything_can_be_added_and_has_a_line() -> None:
    for family in ("models", "steps", "utility"):
        entries = catalogue(family)
        assert {entry.name for entry in entries} == set(registry.family(family))
        assert all(entry.line and entry.group and entry.title for entry in entries)
        assert not any("``" in entry.line or ":class:" in entry.line for entry in entries)


@pytest.mark.parametrize(
    ("name", "said"),
    [("l_diversity", "l-diversity"), ("rank_swap", "Rank swap"), ("k_map", "k-map")],
)
def test_names_are_said_as_people_say_them(name: str, said: str) -> None:
    assert title_of(name) == said


def test_sentences_and_summaries_hold_no_data_value() -> None:
    hidden = sf.AlphaKAnonymity("ill", alpha=0.5, k=2, values=("Miller",))
    recoded = sf.Recode(["ill"], mapping={"Miller": "somebody"})
    for thing in (hidden, recoded):
        assert "Miller" not in summary_of(thing)
        for field in form_of(thing):
            assert "Miller" not in sentence_of(thing.name, field, thing)
    fields = {field.name: field for field in form_of(hidden)}
    assert (
        sentence_of("alpha_k_anonymity", fields["alpha"], hidden)
        == "Alpha k anonymity: alpha = 50 %"
    )
    assert (
        sentence_of("alpha_k_anonymity", fields["values"], hidden)
        == "Alpha k anonymity: values changed"
    )
