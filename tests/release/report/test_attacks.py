"""Attacks on a page: their order, what is allowed, and what a reader without eyes is told."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET

import pytest

from sfumato.core import registry
from sfumato.core.attack import Finding
from sfumato.core.blocks import ChartBlock
from sfumato.core.chart_drawing import draw_chart
from sfumato.release.attack_report import AttackReport, Tried
from sfumato.release.report.attacks import (
    MOST_AT_ONCE,
    conclusion,
    rank_attacks,
    strongest_attack,
    success_limit,
)
from sfumato.release.report.charts import chart_attacks
from sfumato.release.report.measures import plain_words
from tests.release.report import samples
from tests.release.report.samples import public_page
from tests.release.report.test_pages import Page


def svg_of(chart: ChartBlock) -> str:
    return draw_chart(chart).svg()


def test_strongest_first():
    weak, strong = (
        samples.tried("a", value=0.9, baseline=0.89),
        samples.tried("b", value=0.3, baseline=0.0),
    )
    bad = samples.tried("c", value=0.25, limit=0.2, exceeds=True)
    assert [t["intruder"] for t in rank_attacks(samples.attacks(weak, strong, bad))] == [
        "c",
        "b",
        "a",
    ]
    assert strongest_attack(samples.attacks(weak, strong, bad))["intruder"] == "c"
    assert strongest_attack(samples.attacks(weak, strong)) is None
    assert strongest_attack(None) is None


def test_the_order_is_by_what_is_surely_over_guessing_and_people_before_their_values():
    """100 % beside a guess of 99.99999999 % takes all that guessing leaves open, and is hardly
    anything.
    """
    skewness = {
        **samples.tried("a", value=1.0, baseline=1 - 1e-10, exceeds=True),
        "attack": "skewness",
    }
    linkage = {**samples.tried("b", value=0.4, baseline=0.01), "attack": "linkage"}
    unsure = {
        **samples.tried("c", value=0.6, baseline=0.01),
        "attack": "linkability",
        "interval": [0.3, 0.9],
    }
    homogeneity = {**samples.tried("d", value=0.4, baseline=0.01), "attack": "homogeneity"}
    tried = [skewness, homogeneity, unsure, linkage]
    assert [one["attack"] for one in rank_attacks(samples.attacks(*tried))] == [
        "linkage",
        "homogeneity",
        "linkability",
        "skewness",
    ]
    assert (
        strongest_attack(samples.attacks(*tried))["attack"] == "skewness"
    )  # the only one beyond what is usual


@pytest.mark.parametrize("seed", range(20))
def test_the_report_and_the_page_agree_on_the_strongest_attack(seed):
    rng = random.Random(seed)
    names = ["linkage", "homogeneity", "skewness", "suda", "inference"]
    tried = []
    for place in range(rng.randint(1, 6)):
        value, baseline = rng.random(), rng.choice([None, rng.random(), 1 - 1e-9])
        interval = rng.choice([None, (max(0.0, value - 0.1), min(1.0, value + 0.1))])
        finding = Finding(rng.choice(names), value, "it is so", interval, baseline)
        tried.append(
            Tried(f"who {place}", (), finding, 0.2, rng.choice([None, None, rng.random()]))
        )
    report = AttackReport("t", 10, 10, tuple(tried), (), 1.0)

    def naive(one):
        over = one.limit is not None and one.finding.value > one.limit + 1e-12
        low = one.finding.value if one.finding.interval is None else one.finding.interval[0]
        identity = one.finding.attack in ("linkage", "suda")
        return over, round(low - (one.finding.baseline or 0), 9), identity, one.finding.value

    assert report.worst is max(tried, key=naive)
    assert rank_attacks(report.to_dict())[0]["intruder"] == report.worst.intruder
    assert [one["intruder"] for one in rank_attacks(report.to_dict())] == [
        one.intruder for one in sorted(tried, key=naive, reverse=True)
    ]


@pytest.mark.parametrize("value", [0.0, 0.19, 0.21, 0.35, 0.37, 1.0])
@pytest.mark.parametrize("baseline", [None, 0.0, 0.2, 0.99])
@pytest.mark.parametrize("limit", [None, 0.1])
def test_the_line_is_where_an_attack_begins_to_exceed(value, baseline, limit):
    """The report's own rule, from the class that decides it."""
    one = Tried(
        "x", ("age",), Finding("linkage", value, "", baseline=baseline), threshold=0.2, limit=limit
    )
    assert one.exceeds == (value > success_limit(one.to_dict()) + 1e-12)


def test_numbers_are_told():
    drawn = chart_attacks(
        samples.attacks(
            samples.tried(value=0.5, interval=[0.4, 0.6], baseline=0.1, exceeds=True),
            samples.tried("b"),
        )
    )
    told = (
        "prosecutor, linkage: 50 % (40 % to 60 %), guessing 10 %, usual 28 %, beyond the usual 20 %"
    )
    assert told in drawn.alternative_text
    assert "b, linkage: 12.5 %, usual 20 %" in drawn.alternative_text
    assert "✗ and brown: beyond that line. 1 attack goes beyond the usual 20 %." in drawn.caption


def test_allowed_is_said_only_where_a_limit_was_set():
    free = samples.tried("a", value=0.9, exceeds=True)
    bound = samples.tried("b", value=0.3, limit=0.1, exceeds=True)
    assert conclusion(samples.attacks(free)) == "1 attack goes beyond the usual 20 %."
    assert (
        conclusion(samples.attacks(free | {"threshold": 0.1}))
        == "1 attack goes beyond the 10 % asked for."
    )
    assert conclusion(samples.attacks(bound)) == "1 attack goes further than the recipe allows."
    both = conclusion(samples.attacks(free, free, bound, samples.tried("c")))
    assert (
        both == "1 attack goes further than the recipe allows; 2 attacks go beyond the usual 20 %."
    )
    kept = samples.tried("b", value=0.05, limit=0.1)
    assert (
        conclusion(samples.attacks(kept, kept))
        == "None of 2 attacks goes further than the recipe allows."
    )
    page = Page(
        public_page(samples.certificate() | {"attacks": samples.attacks(free, samples.tried("c"))})
    )
    assert "allowed" not in page.text and "allows" not in page.text


def test_an_attack_without_interval_and_guess_has_neither_mark():
    bare = svg_of(chart_attacks(samples.attacks(samples.tried())))
    full = svg_of(chart_attacks(samples.attacks(samples.tried(interval=[0.1, 0.2], baseline=0.05))))
    assert len(full) > len(bare)
    assert "#8c95a1" in full and "#8c95a1" not in bare


def test_nothing_was_tried():
    assert chart_attacks(samples.attacks()) is None
    certificate = samples.certificate() | {"attacks": samples.attacks(skipped=1)}
    page = Page(public_page(certificate))
    assert (
        "No attack could be tried; 1 attack is unknown." in page.text and "not a pass" in page.text
    )


def test_what_is_unknown_is_said_wherever_it_is_said_that_nothing_goes_too_far():
    found = samples.attacks(samples.tried(), skipped=2)
    found["skipped"][0] |= {"status": "unknown", "reason": "the grid has too many cells"}
    found["skipped"][1] |= {"status": "does not apply", "reason": "no other release"}
    drawn = chart_attacks(found)
    told = "The only attack tried does not go beyond the usual 20 %; 1 attack is unknown."
    assert told in drawn.caption
    assert "unknown" in drawn.alternative_text and "? unknown" in svg_of(drawn)
    for page in (Page(public_page(samples.certificate() | {"attacks": found})),):
        assert told in page.text
        assert (
            "3-anonymity holds; the only attack tried does not go beyond the usual 20 %; 1 attack"
            " is unknown" in page.text
        )
        assert "the grid has too many cells" in page.text and "1 attack does not apply" in page.text


def test_certificates_from_before_attacks_were_unknown_are_read_as_if_all_that_was_skipped_were():
    page = Page(
        public_page(
            samples.certificate() | {"attacks": samples.attacks(samples.tried(), skipped=1)}
        )
    )
    assert "1 attack is unknown" in page.text


def test_equal_names_have_rows_of_their_own():
    drawn = chart_attacks(samples.attacks(samples.tried(value=0.1), samples.tried(value=0.2)))
    said = [node.text for node in ET.fromstring(svg_of(drawn)).iter() if node.tag.endswith("text")]
    assert said.count("prosecutor: linkage") == 2


def test_weaker_attacks_are_behind_a_click_and_the_alarm_is_at_the_top():
    many = [samples.tried(f"intruder {i}", value=i / 100) for i in range(20)]
    bad = samples.tried("colleague", value=0.95, exceeds=True, sentence="links <b>all</b> of them")
    certificate = samples.certificate() | {"attacks": samples.attacks(*many, bad)}
    text = public_page(certificate)
    page = Page(text)
    assert f"{21 - MOST_AT_ONCE} weaker attacks" in page.text
    alarm = page.text.index(
        "A person's own record is found (linkage) by the colleague, who knows age, sex: 95 %"
    )
    assert page.text.index("3-anonymity holds; 1 attack goes beyond the usual 20 %") < alarm
    assert alarm < page.text.index("Class sizes")
    assert "Links <b>all</b> of them." in page.text
    assert "b" not in page.tags
    assert "1 attack goes beyond the usual 20 %. 21 attacks tried on a sample" in page.text
    assert 'class="headline unknown"' in text and 'class="warning"' not in text, (
        "one headline, and no box that contradicts it"
    )


def test_certificates_from_before_attacks_said_what_they_take_beyond_guessing():
    old = samples.tried(value=0.4)
    del old["beyond_guessing"]
    page = Page(public_page(samples.certificate() | {"attacks": samples.attacks(old)}))
    assert "A person's own record is found (linkage) prosecutor 40 %" in page.text


def test_every_attack_has_a_line_in_plain_words():
    lines = {name: attack.line for name, attack in registry.attacks().items()}
    assert len(set(lines.values())) == len(lines)
    for name, line in lines.items():
        assert line and not line.endswith(".")
        assert name.replace("_", " ") not in line.lower(), "the technical name comes after"
        assert plain_words(name).endswith(f"({name.replace('_', ' ')})")
