"""From the context to what must hold: intruders, promises and limits, each with its reasoning and
its source."""

from __future__ import annotations

from sfumato.guidance.recommendation.terms import bars_for


def test_bars_speak_of_the_numeric_part_only():
    for bar in bars_for(11):
        assert "the numeric part of" in bar.sentence and " as of " in bar.sentence
        assert "complian" not in bar.sentence.lower()
    by_name = {bar.name: bar for bar in bars_for(11)}
    assert by_name["EMA Policy 0070, Health Canada PRCI"].met
    assert (
        "do not claim a risk of at most 0.09"
        in by_name["EMA Policy 0070, Health Canada PRCI"].sentence
    )  # 1/11 > 0.09
    assert not by_name["Ontario IPC 2025, high"].met
