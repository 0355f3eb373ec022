from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from sfumato.errors import printable
from tests.release.report import samples
from tests.release.report.samples import owner_page, public_page

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """The elements, the visible text and the labels of a page; fails on tags that do not close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag
        if tag in {"td", "th", "dt", "dd", "text"}:
            self.words.append(" ")

    def handle_data(self, data):
        if "style" not in self._open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))

    @property
    def labels(self) -> list[str]:
        return [
            value
            for name, value in self.attributes
            if name == "aria-label" and value != "On this page"
        ]


@pytest.fixture(scope="module")
def public() -> str:
    return public_page(samples.certificate())


@pytest.fixture(scope="module")
def owner() -> str:
    return owner_page(samples.owner_record())


@pytest.fixture(scope="module", params=["public", "owner", "empty public", "empty owner"])
def any_page(request, public, owner) -> str:
    makers = {
        "public": lambda: public,
        "owner": lambda: owner,
        "empty public": lambda: public_page(samples.empty_certificate()),
        "empty owner": lambda: owner_page(samples.empty_record()),
    }
    return makers[request.param]()


def test_verdict_comes_first(public):
    page = Page(public)
    assert page.text.index("3-anonymity holds; not attacked yet") < page.text.index("Class sizes")
    assert (
        "3-anonymity holds: everyone shares the quasi-identifiers with at least 2 other records."
        in page.text
    )
    assert "Attained 3, required 3." in page.text


def test_a_broken_promise_is_said_as_loudly():
    certificate = samples.certificate()
    certificate["verdicts"][0] |= {
        "holds": False,
        "attained": 2,
        "failing_records": 4,
        "failing_classes": 2,
    }
    page = Page(public_page(certificate))
    assert "3-anonymity does not hold" in page.text and "3-anonymity holds" not in page.text
    assert "Attained 2, required 3; 4 records in 2 classes break it." in page.text


def test_public_page_tells_what_the_certificate_says(public):
    text = Page(public).text
    for said in (
        "ab" * 32,
        "cd" * 32,
        "sfumato==0.1.0",
        "sfumato verify .",
        "data.csv",
        "2026-03-01 08:30 UTC",
        "numpy",
        "2.4.6",
    ):
        assert said in text
    assert "ef" * 32 not in text  # the digest covers this page too
    for column, story in {
        "patient_name": "dropped",
        "age": "level 2 of 4",
        "sex": "exact",
        "illness": "released unchanged",
    }.items():
        assert re.search(rf"{column} .*{story}", text)
    assert "Prosecutor risk 33.3 %" in text
    assert "A missing value equals only another missing value." in text
    assert "budget: 0.05" in text
    assert "The order of the records was shuffled." in text


def test_numbers_are_in_the_labels(public, owner):
    labels = Page(public).labels
    assert len(labels) == 2
    assert "3: 6 (27.3 %); 4: 4 (18.2 %); 5–9: 0; 10–19: 12 (54.5 %)" in labels[1]
    assert "age: level 2 of 4; sex: exact" in labels[0]
    labels = Page(owner).labels
    assert len(labels) == 3
    assert (
        "Prosecutor risk: 100 % before, 33.3 % after; Marketer risk: 73.9 % before, 18.2 % after"
        in labels[1]
    )
    assert "1: 13 before, 0 after; 2: 4 before, 0 after; 3: 6 before, 6 after" in labels[2]


def test_owner_page_tells_before_and_after(owner):
    text = Page(owner).text
    for said in (
        "This page stays with the owner.",
        "clinic-register.csv",
        "98" * 32,
        "9,871",
        "654",
        "0.4321",
        "semicolon",
    ):
        assert said in text
    for said in (
        "56.2 %",
        "generalised to level 2 of 4",
        "19",
        "Smallest sets of columns that single people out, before",
        "None was found.",
    ):
        assert said in text


@pytest.mark.parametrize(
    "fact",
    [
        "clinic-register",
        "98" * 32,
        "9,871",
        "9871",
        "654",
        "0.4321",
        "56.2 %",
        "semicolon",
        "73.9 %",
        "stays with the owner",
        "before, ",
    ],
)
def test_owner_facts_are_not_on_the_public_page(fact, public, owner):
    assert fact in owner or fact == "9871"
    assert fact not in public


def test_nothing_is_loaded_and_nothing_runs(any_page):
    page = Page(any_page)
    assert not {"script", "link", "iframe", "object", "embed", "img", "image", "use", "form"} & set(
        page.tags
    )
    assert not re.search(r"https?://|url\(|@import|@font-face", any_page)
    names = {name for name, _ in page.attributes}
    assert all(
        re.fullmatch(r"#part-\d+", value) for name, value in page.attributes if name == "href"
    )
    assert not {"src", "xlink:href", "srcset", "action", "data", "poster", "background"} & names
    assert not [name for name in names if name.startswith("on")]
    assert "default-src 'none'" in any_page


def test_is_a_whole_page(any_page):
    page = Page(any_page)
    assert any_page.startswith("<!DOCTYPE html>")
    assert ("lang", "en") in page.attributes
    assert [page.tags.count(tag) for tag in ("html", "head", "body", "main", "title", "h1")] == [
        1
    ] * 6
    assert "None" not in page.text.replace("None was found", "")
    assert "{{" not in any_page
    assert "{%" not in any_page


def test_colours_are_only_those_with_contrast(any_page):
    """Text colours on their grounds reach 4.5 : 1, bars on white 3 : 1 (WCAG 2 AA)."""

    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (
            p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    def contrast(one, other):
        low, high = sorted((luminance(one), luminance(other)))
        return (high + 0.05) / (low + 0.05)

    light = any_page[: any_page.index("prefers-color-scheme: dark")]
    named = dict(re.findall(r"--([\w-]+): (#\w{6});", light))
    for text in ("ink", "soft", "accent", "alarm"):
        assert contrast(named[text], "#ffffff") >= 4.5
    assert contrast(named["alarm"], named["alarm-wash"]) >= 4.5
    assert contrast(named["ink"], named["wash"]) >= 4.5
    for bar in set(re.findall(r'fill="(#\w{6})"', any_page.split("</style>")[1])):
        assert contrast(bar, "#ffffff") >= 3


def test_same_document_same_page(public, owner):
    assert public_page(samples.certificate()) == public
    assert owner_page(samples.owner_record()) == owner


def test_the_file_gives_the_same_page(public, owner):
    """Pages come from the JSON alone: tuples, int keys or other riches of the objects change
    nothing.
    """
    assert public_page(json.loads(json.dumps(samples.certificate()))) == public
    assert owner_page(json.loads(json.dumps(samples.owner_record()))) == owner


def test_documents_are_left_alone():
    certificate, record = samples.certificate(), samples.owner_record()
    public_page(certificate)
    owner_page(record)
    assert certificate == samples.certificate()
    assert record == samples.owner_record()


def test_many_plain_columns_stand_in_one_line():
    record = samples.owner_record()
    certificate = record["certificate"]
    names = [f"plain_{i}" for i in range(30)]
    for name in names:
        certificate["recipe"]["columns"][name] = {"role": "keep"}
        certificate["roles"][name] = ["keep"]
        told = {
            "name": name,
            "roles": ["keep"],
            "action": "released unchanged",
            "level": None,
            "top": None,
        }
        record["columns"].append({**told, "distinct_before": 3, "distinct_after": 3})
    for text, sentence in (
        (
            public_page(certificate),
            "plain columns are released unchanged: outsiders are not expected to know them",
        ),
        (owner_page(record), "plain columns are released unchanged"),
    ):
        page = Page(text)
        assert f"31 {sentence}" in page.text  # with the ward, which is plain too
        assert all(name in page.text for name in names)
        folded = text[text.index("<details><summary>31 plain") :]
        assert names[0] in folded[: folded.index("</details>")]
        table = text[: text.index("<details><summary>31 plain")]
        assert f'<th scope="row"><bdi>{names[0]}</bdi>' not in table


HOSTILE = {
    "age": "<script>alert('1')</script>",
    "sex": "\"><img src=x onerror='alert(1)'>",
    "illness": "{{ 7 * 7 }} {% include 'x' %}",
    "ward": "</pre></table>&amp;<!--",
    "patient_name": "\u202e\u0645\u0631\u0636 漢字 \U0001f600",
    "data.csv": "<b>data</b>.csv",
    "clinic-register.csv": "<i>clinic</i>.csv",
}


@pytest.mark.parametrize("kind", ["public", "owner"])
def test_hostile_names_are_shown_and_do_nothing(kind):
    record = samples.renamed(samples.owner_record(), HOSTILE)
    page = Page(public_page(record["certificate"]) if kind == "public" else owner_page(record))
    assert not {"script", "img", "b", "i"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name == "src"]
    for name in ("age", "sex", "illness", "ward", "patient_name"):
        assert re.sub(r"\s+", " ", printable(HOSTILE[name])) in page.text
    assert "\u202e" not in page.text
    assert any(HOSTILE["age"] in label for label in page.labels)


def test_rehearsal_is_announced(public):
    certificate = samples.certificate()
    certificate["rehearsal"] = True
    assert "Rehearsal." in Page(public_page(certificate)).text
    assert "Rehearsal." not in Page(public).text


def test_signature_present_or_not(public):
    certificate = samples.certificate()
    certificate["signature"] = {"algorithm": "Ed25519", "public_key": "S2V5", "value": "VmFsdWU="}
    assert "Ed25519, public key S2V5" in Page(public_page(certificate)).text
    assert "Signature none" in Page(public).text


def test_wildcards_are_counted_and_explained():
    record = samples.owner_record()
    certificate = record["certificate"]
    certificate["missing_rule"]["age"] = "wildcard"
    certificate["classes"]["sizes"] = record["after"]["class_sizes"] = {"3": 2, "4": 1, "14": 2}
    page = Page(public_page(certificate))
    assert page.labels[1].startswith("Number of classes by class size. 1: 0; 2: 0; 3: 2 (40 %)")
    assert "A missing value may stand for any value" in page.text
    assert "This rule holds for age." in page.text
    assert Page(owner_page(record)).labels[2].startswith("Number of classes")


def test_nothing_promised_and_nothing_released():
    page = Page(public_page(samples.empty_certificate()))
    assert "No promise was made" in page.text
    assert "no records" in page.text
    assert page.labels == []
    assert Page(owner_page(samples.empty_record())).labels == []


def test_two_hundred_columns():
    record = samples.owner_record()
    certificate, names = record["certificate"], [f"question_{i:03d}" for i in range(200)]
    certificate["recipe"]["columns"] = {
        n: {"role": "quasi", "hierarchy": {"mask_right": {"length": 5}}} for n in names
    }
    certificate["roles"] = {n: ["quasi"] for n in names}
    certificate["missing_rule"] = dict.fromkeys(names, "category")
    certificate["plan"][0]["levels"] = {n: {"level": i % 6, "top": 5} for i, n in enumerate(names)}
    record["before"]["contributions"] = {n: (200 - i) / 1000 for i, n in enumerate(names)}
    page = public_page(certificate)
    assert page.count('<th scope="row"><bdi>question_') == 200
    assert "24 most changed of 200" in page
    assert len(page) < 300_000
    assert "188 more columns" in owner_page(record)


@pytest.mark.parametrize("number_of_lines", [10, 500])
def test_a_long_recipe_is_folded(number_of_lines):
    certificate = samples.certificate()
    certificate["recipe"]["columns"] = {f"c{i}": {"role": "keep"} for i in range(number_of_lines)}
    assert ("<details open>" in public_page(certificate)) == (number_of_lines < 60)


@pytest.mark.slow
def test_a_real_release(tmp_path):
    """The pages that ``Release.write`` leaves are those of the JSON files beside them."""
    from sfumato import examples
    from sfumato.interfaces import api
    from sfumato.methods.models.k_anonymity import KAnonymity
    from sfumato.methods.steps.recoding.global_recoding import GlobalRecoding
    from sfumato.release.sealing import as_owner_sees
    from tests.release.report.samples import draw_page

    release = api.anonymize(examples.hospital(400), [KAnonymity(4)], [GlobalRecoding(budget=0.1)])
    release.write(tmp_path / "out")
    share, owner = tmp_path / "out" / "share", tmp_path / "out" / "owner"
    certificate = json.loads((share / "certificate.json").read_text(encoding="utf-8"))
    record = json.loads((owner / "release.json").read_text(encoding="utf-8"))
    page = (share / "report.html").read_text(encoding="utf-8")
    assert page == draw_page(certificate)
    assert (owner / "report.html").read_text(encoding="utf-8") == owner_page(as_owner_sees(record))
    assert "4-anonymity holds" in page
    classes = next(label for label in Page(page).labels if label.startswith("Number of records"))
    counted = re.findall(r"[\d–,]+: ([\d,]+)", classes.split(". ")[1])
    assert sum(int(n.replace(",", "")) for n in counted) == certificate["data"]["rows"]
    assert record["input"]["sha256"] not in page
