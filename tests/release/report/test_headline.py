"""One headline for everything: promises, limits, attacks and what is unknown, and never a good
colour over a bad fact.
"""

from __future__ import annotations

import random

import pytest

import sfumato as sf
from sfumato.release.report.headline import headline
from tests.release.report import samples
from tests.release.report.samples import owner_page, public_page
from tests.release.report.test_pages import Page

GOOD, BAD = {"holds": True}, {"holds": False, "refuses": True}
REPORTED = {"holds": False, "refuses": False}
BEYOND = {"value": 0.9, "exceeds": True, "limit": None, "threshold": 0.2}
OVER = {**BEYOND, "limit": 0.1}
FINE = {**BEYOND, "exceeds": False}


@pytest.mark.parametrize(
    ("holds", "text", "state"),
    [
        ([], "No promise was made", "open"),
        ([True], "Every promise holds", "holds"),
        ([True, True], "Every promise holds", "holds"),
        ([False], "The promise does not hold", "broken"),
        ([False, True, True], "1 of 3 promises does not hold", "broken"),
        ([False, False, True], "2 of 3 promises do not hold", "broken"),
    ],
)
def test_promises(holds, text, state):
    found = headline({"verdicts": [{"holds": one} for one in holds]})
    assert (found.text, found.state) == (f"{text}; not attacked yet", state)


@pytest.mark.parametrize(
    ("told", "text", "state"),
    [
        (
            {"attacks": {"tried": [FINE, FINE]}},
            "none of 2 attacks goes beyond the usual 20 %",
            "holds",
        ),
        (
            {"attacks": {"tried": [BEYOND, BEYOND], "skipped": [{}, {}, {}]}},
            "2 attacks go beyond the usual 20 %; 3 attacks are unknown",
            "mixed",
        ),
        (
            {"attacks": {"tried": [], "skipped": [{}]}},
            "no attack could be tried; 1 attack is unknown",
            "mixed",
        ),
        ({"attacks": {"tried": [OVER]}}, "1 attack goes further than the recipe allows", "broken"),
        (
            {"attacks": {"tried": [FINE], "skipped": [{"limit": 0.1}]}},
            "the only attack tried does not go beyond the usual 20 %; 1 attack is unknown",
            "broken",
        ),
        ({"limits": [GOOD, BAD]}, "1 of 2 limits does not hold; not attacked yet", "broken"),
        (
            {"limits": [GOOD], "contract": [GOOD]},
            "every limit holds; every agreement holds; not attacked yet",
            "holds",
        ),
        (
            {"contract": [REPORTED, REPORTED, GOOD]},
            "2 of 3 agreements do not hold; not attacked yet",
            "mixed",
        ),
        ({"differential_privacy": {"certified": True}}, "", "holds"),
    ],
)
def test_all_else_is_said_after_the_promises(told, text, state):
    found = headline({"verdicts": [GOOD], **told})
    assert found.text == "; ".join(part for part in ("Every promise holds", text) if part)
    assert found.state == state


def test_pages_and_release_say_the_same():
    bad = samples.attacks(samples.tried(value=0.95, exceeds=True), skipped=1)
    record = samples.owner_record()
    record["certificate"]["attacks"] = bad
    said = "3-anonymity holds; 1 attack goes beyond the usual 20 %; 1 attack is unknown"
    for page in (public_page(record["certificate"]), owner_page(record)):
        assert f'<h1 class="headline unknown">{said}</h1>' in page
        assert Page(page).text.count(said) <= 2  # the title of the page and its headline


def test_a_release_has_the_headline_of_its_page():
    made = sf.anonymize(sf.examples.patients(), [sf.KAnonymity(2)], [sf.GlobalRecoding(budget=0.2)])
    assert made.headline.text == "2-anonymity holds; not attacked yet"
    assert str(made).splitlines()[0].endswith(made.headline.text)
    assert made.headline.text in made._repr_html_()


def test_the_headline_of_random_records():
    """Good words only where every single verdict, limit and agreement is good."""
    draw = random.Random(5)
    states = set()
    for _ in range(1500):
        verdicts = [
            {"holds": draw.random() < 0.8, "of_persons": draw.random() < 0.8}
            for _ in range(draw.randint(0, 3))
        ]
        limits = [{"holds": draw.random() < 0.8} for _ in range(draw.randint(0, 2))]
        contract = [
            {"holds": draw.random() < 0.7, "refuses": draw.random() < 0.5}
            for _ in range(draw.randint(0, 2))
        ]
        tried = [draw.choice([FINE, FINE, BEYOND, OVER]) for _ in range(draw.randint(0, 2))]
        skipped = [draw.choice([{}, {"limit": 0.1}]) for _ in range(draw.choice([0, 0, 1]))]
        record = {"verdicts": verdicts, "limits": limits, "contract": contract}
        found = headline({**record, "attacks": {"tried": tried, "skipped": skipped}})
        kept = {
            name: bool(record[name]) and all(one["holds"] for one in record[name])
            for name in record
        }
        assert found.text.startswith("Every promise holds") == kept["verdicts"]
        of_file = any(not one["of_persons"] for one in verdicts)
        assert ("of the file, not of persons" in found.text) == (kept["verdicts"] and of_file)
        assert ("every limit holds" in found.text) == kept["limits"]
        assert ("every agreement holds" in found.text) == kept["contract"]
        everything = all(one["holds"] for part in record.values() for one in part)
        assert (found.state == "holds") == (
            bool(verdicts) and everything and not skipped and set(map(id, tried)) <= {id(FINE)}
        )
        states.add(found.state)
    assert states == {"holds", "mixed", "broken", "open"}
