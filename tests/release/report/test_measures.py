"""Names and meanings of metrics on a page are those the metrics carry."""

from __future__ import annotations

import pytest

from sfumato.core import registry
from sfumato.release.report import measures


@pytest.mark.parametrize("name", registry.family("utility"))
def test_every_metric_has_a_name_and_a_meaning(name):
    metric = registry.utility_metrics()[name]
    assert measures.title_of(name) == metric.title and measures.meaning_of(name) == metric.line
    assert metric.line and not metric.line.endswith(".")
    assert measures.best_of(name) == f"{1 if metric.better == 'higher' else 0} is best"


def test_no_two_metrics_are_called_alike_or_say_the_same():
    every = registry.utility_metrics().values()
    assert (
        len({metric.title for metric in every})
        == len({metric.line for metric in every})
        == len(every)
    )


def test_every_member_of_a_measured_family_is_a_risk_an_attack_or_a_utility():
    assert set(registry.utility_metrics()) == set(registry.family("utility"))
    assert {**registry.risks(), **registry.attacks()}.keys() == registry.family("risk").keys()
    assert not set(registry.risks()) & set(registry.attacks())


def test_the_first_are_metrics():
    assert set(measures.FIRST) <= set(registry.family("utility"))


def test_what_is_not_ours_is_shown_last_under_its_own_name():
    first, more = measures.first_and_more([("their_metric", 1), ("loss", 2), ("means", 3)])
    assert (first, more) == ([2], [1, 3])
    assert measures.title_of("their_metric") == "Their metric"
    assert measures.meaning_of("their_metric") == ""
    assert measures.best_of("their_metric") == "0 is best"
