"""Names and meanings of metrics on a page agree with the metrics."""

from __future__ import annotations

from sfumato import registry
from sfumato.report import measures


def test_every_metric_has_a_name_and_a_meaning():
    assert set(measures.MEASURES) == set(registry.family("utility"))


def test_which_way_is_better_is_what_the_metric_says():
    for name, metric in registry.family("utility").items():
        assert (name in measures.HIGHER) == (metric.better == "higher"), name


def test_the_first_are_metrics():
    assert set(measures.FIRST) <= set(measures.MEASURES)


def test_what_is_not_ours_is_shown_last_under_its_own_name():
    first, more = measures.first_and_more([("their_metric", 1), ("loss", 2), ("means", 3)])
    assert (first, more) == ([2], [1, 3])
    assert measures.title_of("their_metric") == "Their metric"
    assert measures.meaning_of("their_metric") == ""
