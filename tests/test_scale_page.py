"""docs/how_to/scale.md lists what engines refuse, as the registry knows it."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import sfumato as sf

TOOL = runpy.run_path(str(Path(__file__).resolve().parents[1] / "tools" / "scale_page.py"))


def test_the_page_is_up_to_date():
    text = TOOL["PAGE"].read_text(encoding="utf-8")
    assert TOOL["page"](text) == text, "run python tools/scale_page.py"


def test_what_the_page_says_is_refused():
    """One of each: a step that always is, a promise, and a register."""
    assert TOOL["refused_steps"]()["rank_swap"] == "always"
    assert TOOL["refused_models"]()["k_concealment"] == "pairs"
    held = sf.read(sf.examples.ancona().to_polars().lazy()).with_schema(sf.examples.ancona().schema)
    with pytest.raises(
        sf.errors.ParameterError, match="step rank_swap works on all records at once"
    ):
        sf.anonymize(
            held, [sf.KAnonymity(2)], [sf.RankSwap(["salary"], p=0.1), sf.GlobalRecoding()]
        )
    with pytest.raises(sf.errors.ParameterError, match="promises about pairs need every record"):
        sf.anonymize(held, [sf.KConcealment(2)], [sf.GlobalRecoding()])
    with pytest.raises(sf.errors.ParameterError, match="not as csv"):
        sf.anonymize(
            held,
            [sf.KAnonymity(2)],
            [sf.GlobalRecoding()],
            options=sf.AnonymizeOptions(format="csv"),
        )
