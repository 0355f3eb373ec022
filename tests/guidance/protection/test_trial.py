"""Trials: what holds by too little is told apart from what holds safely."""

from __future__ import annotations

import pytest

from sfumato.guidance.protection.trial import _is_narrow
from sfumato.release.decision.decision import TermOutcome
from sfumato.release.decision.evidence import Figure


def line(figure: Figure | None, limit: float | None) -> TermOutcome:
    return TermOutcome("T2", "linkage", "holds", "", figure, limit)


@pytest.mark.parametrize(
    ("figure", "limit", "narrow"),
    [
        (Figure(0.17, 0.15, 0.19, 2000, 6000), 0.2, True),
        (Figure(0.15, 0.13, 0.17, 2000, 6000), 0.2, False),
        (Figure.of_everybody(0.2, 5000), 0.2, False),
        (None, 0.2, False),
        (Figure.of_everybody(0.2, 5000), None, False),
    ],
)
def test_what_another_sample_may_not_show_is_narrow(figure, limit, narrow):
    assert _is_narrow(line(figure, limit)) is narrow
