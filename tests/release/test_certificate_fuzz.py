"""Whatever is done to a shared folder, digests made anew: ``verify`` ends in a verdict, and in none
that is not true.
"""

from __future__ import annotations

import contextlib
import copy
import csv
import hashlib
import io
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.interfaces.cli import main

FALSE_OR_UNREADABLE = (1, 5)
UNKNOWN = 7
"""Nothing is false, and the rest needs the original."""


def verified(share: Path) -> tuple[int, str]:
    """Exit code and talk of ``sfumato verify``, run in this process."""
    said = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
    ):
        patch.setattr("sys.argv", ["sfumato", "verify", str(share)])
        try:
            main()
        except SystemExit as stop:
            return (
                stop.code if isinstance(stop.code, int) else int(stop.code is not None)
            ), said.getvalue()
    return 0, said.getvalue()


def digest(certificate: dict[str, Any]) -> str:
    """The digest as the documentation describes it: of the canonical bytes of all but digest and
    signature.
    """
    said = {k: v for k, v in certificate.items() if k not in ("digest", "signature")}
    return hashlib.sha256(
        json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    ).hexdigest()


def sealed(share: Path, certificate: dict[str, Any]) -> None:
    """Put a certificate into a folder as an attacker would, with the digest that fits."""
    whole = {**certificate, "digest": digest(certificate)}
    (share / "certificate.json").write_text(json.dumps(whole), encoding="utf-8")


def recounted(share: Path, certificate: dict[str, Any]) -> dict[str, Any]:
    """The certificate with digests, sizes and rows of the files that are there now."""
    made = copy.deepcopy(certificate)
    for name in made["files"]:
        content = (share / name).read_bytes()
        made["files"][name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    made["data"]["sha256"] = made["files"][made["data"]["file"]]["sha256"]
    made["data"]["rows"] = len(rows_of(share)) - 1
    return made


def rows_of(share: Path) -> list[list[str]]:
    return list(
        csv.reader(io.StringIO((share / "data.csv").read_text(encoding="utf-8"), newline=""))
    )


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> Path:
    table = pl.DataFrame(
        {
            "age": ["old", "old", "old", "new", "new", "new", "new", "mid"],
            "home": ["a", "a", "a", "a", "b", "b", "b", "c"],
            "ill": ["x", "y", "z", "x", "y", "z", "x", "y"],
        }
    )
    people = (
        sf.read(table)
        .with_roles(quasi=["age", "home"], sensitive=["ill"])
        .with_hierarchies(home=sf.suppress())
    )
    promises = [
        sf.KAnonymity(3),
        sf.LDiversity("ill", l=2),
        sf.TCloseness("ill", t=0.5, reference="released"),
    ]
    release = sf.anonymize(people, promises, [sf.GlobalRecoding(budget=0.2)], seed=1)
    return release.write(tmp_path_factory.mktemp("released") / "out") / "share"


@pytest.fixture(scope="module")
def certificate(released) -> dict[str, Any]:
    return json.loads((released / "certificate.json").read_text(encoding="utf-8"))


@contextlib.contextmanager
def folder(released: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("fuzz")
    yield shutil.copytree(released, place / "share")
    shutil.rmtree(place)


def test_the_digest_is_the_documented_one(released, certificate, tmp_path_factory):
    """Without this, refusals below could be refusals of the digest."""
    assert certificate["digest"] == digest(certificate)
    with folder(released, tmp_path_factory) as share:
        sealed(share, certificate)
        assert verified(share)[0] == UNKNOWN


CHECKED = ("data", "files", "verdicts", "classes", "roles", "missing_rule")
"""What the documentation says is checked from the released file or the shared folder."""


UNSEEN = ("defused",)
"""Nothing to defuse can be defused or not."""


def leaves(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(node, dict | list) and node:
        for key in node if isinstance(node, dict) else range(len(node)):
            yield from leaves(node[key], (*path, key))
    else:
        yield path


def put(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A copy of a document with another value in one place."""
    made = copy.deepcopy(node)
    place = made
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return made


def at(node: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        node = node[key]
    return node


def other(value: Any) -> Any:
    """Something of the same type that is not the same."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return f"{value}x" if isinstance(value, str) else ["x"]


@pytest.mark.slow
def test_no_single_lie_about_the_file_holds(released, certificate, tmp_path_factory):
    """Every number and word that is said to be checked, replaced by another, in a certificate that
    is otherwise in order.
    """
    believed = []
    for path in leaves(certificate):
        if path[0] not in CHECKED or path[-1] in UNSEEN:
            continue
        with folder(released, tmp_path_factory) as share:
            sealed(share, put(certificate, path, other(at(certificate, path))))
            code, said = verified(share)
        assert code in (UNKNOWN, *FALSE_OR_UNREADABLE), (path, said)
        if code == UNKNOWN:
            believed.append(path)
    assert not believed, "; ".join(map(str, believed))


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, -(10**400), 0, -1, 1e308, float("nan"), float("inf"), 2**63]),
    st.text(max_size=8),
    st.sampled_from(
        ["", "../data.csv", "/etc/passwd", "certificate.json", "\ud800", "a\0b", "x" * 5000]
    ),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=3),
    st.builds(lambda depth: json.loads("[" * depth + "]" * depth), st.sampled_from([50, 400])),
)


@pytest.mark.slow
@settings(max_examples=max(100, settings().max_examples))
@given(data=st.data())
def test_junk_anywhere_ends_in_a_verdict(released, certificate, tmp_path_factory, data):
    """One to three places hold something else, nobody reads a traceback; what is false of the file
    does not hold.
    """
    made = certificate
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(sorted(leaves(made), key=str)))
        path = path[: data.draw(st.integers(1, len(path)))]
        made = put(made, path, data.draw(JUNK))
    with folder(released, tmp_path_factory) as share:
        try:
            sealed(share, made)
        except (UnicodeEncodeError, ValueError):
            return
        code, said = verified(share)
    assert code in (UNKNOWN, *FALSE_OR_UNREADABLE), said
    assert "Traceback" not in said
    if code == UNKNOWN:
        # A form without its entries says what the defaults of the format say: nothing false.
        is_without_form = made["data"].get("form") == {}
        lies = [
            path
            for path in leaves(certificate)
            if path[0] in CHECKED
            and path[-1] not in UNSEEN
            and not (is_without_form and path[:2] == ("data", "form"))
        ]
        assert all(at(made, path) == at(certificate, path) for path in lies), said


LIES = {
    "nothing is promised": {"recipe": {"meet": []}, "verdicts": []},
    "nothing is promised but judged": {"recipe": {"meet": []}},
    "nothing is judged": {"verdicts": []},
    "another promise": {"recipe": {"meet": [{"k_anonymity": {"k": 2}}]}},
    "one is left out": {"verdicts": slice(0, 2)},
    "in another order": {"verdicts": slice(None, None, -1)},
    "one for all": {"verdicts": slice(0, 1)},
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_promises_and_verdicts_that_do_not_belong_together(
    released, certificate, tmp_path_factory, lie
):
    made = copy.deepcopy(certificate)
    made["recipe"].update(lie.get("recipe", {}))
    said = lie.get("verdicts", made["verdicts"])
    made["verdicts"] = made["verdicts"][said] if isinstance(said, slice) else said
    with folder(released, tmp_path_factory) as share:
        sealed(share, made)
        code, told = verified(share)
    assert code in FALSE_OR_UNREADABLE, told


@pytest.mark.parametrize(
    "form",
    [None, [], "csv", 0, {"types": {"age": 5}}, {"types": {"age": None}}, {"null": []}],
    ids=str,
)
def test_a_form_that_is_none(released, certificate, tmp_path_factory, form):
    with folder(released, tmp_path_factory) as share:
        sealed(share, put(certificate, ("data", "form"), form))
        code, told = verified(share)
    assert code in FALSE_OR_UNREADABLE, told


TEXTS = {
    "a key that stands twice": lambda text: text.replace(
        '"sfumato_certificate"', '"verdicts": [], "sfumato_certificate"', 1
    ),
    "the same key twice at depth": lambda text: text.replace(
        '"holds": true', '"holds": false, "holds": true', 1
    ),
    "a version to come": lambda text: text.replace(
        '"sfumato_certificate": 3', '"sfumato_certificate": 99'
    ),
    "a version that is text": lambda text: text.replace(
        '"sfumato_certificate": 3', '"sfumato_certificate": "3"'
    ),
    "a version that is almost one": lambda text: text.replace(
        '"sfumato_certificate": 3', '"sfumato_certificate": 3.0'
    ),
    "a version that is true": lambda text: text.replace(
        '"sfumato_certificate": 3', '"sfumato_certificate": true'
    ),
    "NaN": lambda text: text.replace('"attained": 3', '"attained": NaN', 1),
    "a number beyond all": lambda text: text.replace('"attained": 3', '"attained": 1e999', 1),
    "a whole number beyond all decimals": lambda text: text.replace(
        '"attained": 3', '"attained": 3' + "0" * 400, 1
    ),
    "many digits": lambda text: text.replace('"attained": 3', '"attained": ' + "3" * 5000, 1),
    "nested without end": lambda text: text.replace(
        '"limits": []', '"limits": ' + "[" * 100_000 + "]" * 100_000
    ),
    "something after it": lambda text: text + "{}",
    "twice": lambda text: text + text,
    "cut": lambda text: text[: len(text) // 2],
    "nothing": lambda text: "",
    "a list": lambda text: f"[{text}]",
    "a byte-order mark and NUL": lambda text: "\ufeff\0" + text,
}


@pytest.mark.parametrize("change", TEXTS.values(), ids=TEXTS)
def test_text_that_is_no_certificate_holds_nothing(released, certificate, tmp_path_factory, change):
    with folder(released, tmp_path_factory) as share:
        sealed(share, certificate)
        file = share / "certificate.json"
        text = change(file.read_text(encoding="utf-8"))
        with contextlib.suppress(ValueError, RecursionError):
            loose = json.loads(text)
            text = text.replace(loose["digest"], digest(loose)) if isinstance(loose, dict) else text
        assert text != file.read_text(encoding="utf-8")
        file.write_text(text, encoding="utf-8")
        code, said = verified(share)
    assert code in FALSE_OR_UNREADABLE, said


def naive(share: Path) -> tuple[int, int]:
    """The smallest class, and the fewest values of a class, by counting."""
    rows = rows_of(share)[1:]
    sizes = Counter((age, home) for age, home, _ in rows)
    values = Counter((age, home) for age, home, _ in {tuple(row) for row in rows})
    return min(sizes.values(), default=0), min(values.values(), default=0)


@pytest.mark.slow
@settings(max_examples=max(60, settings().max_examples))
@given(data=st.data())
def test_other_rows_with_all_digests_made_anew(released, certificate, tmp_path_factory, data):
    """A certificate of other rows holds only where everything it says of them is what counting
    gives.
    """
    with folder(released, tmp_path_factory) as share:
        rows = rows_of(share)
        before = Counter(map(tuple, rows))
        for _ in range(data.draw(st.integers(1, 3))):
            place = data.draw(st.integers(1, len(rows) - 1))
            act = data.draw(st.sampled_from(["drop", "double", "cell", "new"]))
            if act == "drop" and len(rows) > 2:
                del rows[place]
            elif act == "double":
                rows.append(rows[place])
            elif act == "cell":
                rows[place] = [*rows[place]]
                rows[place][data.draw(st.integers(0, 2))] = data.draw(
                    st.sampled_from(["a", "old", "new", "x", "y", "", "q"])
                )
            else:
                rows.append(["q", "q", "q"])
        out = io.StringIO(newline="")
        csv.writer(out, lineterminator="\n").writerows(rows)
        (share / "data.csv").write_text(out.getvalue(), encoding="utf-8")
        sealed(share, recounted(share, certificate))
        code, said = verified(share)
        assert code in (UNKNOWN, *FALSE_OR_UNREADABLE), said
        if code == UNKNOWN:
            assert naive(share) == naive(released), said
            kept = Counter(Counter(tuple(row[:2]) for row in rows[1:]).values())
            assert {str(size): many for size, many in kept.items()} == certificate["classes"][
                "sizes"
            ], before


def _linked(share: Path, name: str) -> None:
    shutil.move(share / name, share.parent / name)
    (share / name).symlink_to(share.parent / name)


FOLDERS = {
    "a file more": lambda share: (share / "more.txt").write_text("hello"),
    "a hidden file more": lambda share: (share / ".more").write_text("hello"),
    "no data": lambda share: (share / "data.csv").unlink(),
    "no report": lambda share: (share / "report.html").unlink(),
    "no certificate": lambda share: (share / "certificate.json").unlink(),
    "another name": lambda share: (share / "data.csv").rename(share / "Data.csv"),
    "a link for the data": lambda share: _linked(share, "data.csv"),
    "a link for the report": lambda share: _linked(share, "report.html"),
    "a link for the certificate": lambda share: _linked(share, "certificate.json"),
    "a link in a circle": lambda share: (share / "more").symlink_to(share / "more"),
    "a folder for the data": lambda share: (
        (share / "data.csv").unlink(),
        (share / "data.csv").mkdir(),
    ),
    "a folder for the certificate": lambda share: (
        (share / "certificate.json").unlink(),
        (share / "certificate.json").mkdir(),
    ),
    "data cut": lambda share: os.truncate(share / "data.csv", 10),
    "data empty": lambda share: os.truncate(share / "data.csv", 0),
    "report cut": lambda share: os.truncate(share / "report.html", 10),
}


@pytest.mark.parametrize("change", FOLDERS.values(), ids=FOLDERS)
def test_a_folder_that_is_not_what_was_certified(released, tmp_path_factory, change):
    with folder(released, tmp_path_factory) as share:
        change(share)
        code, said = verified(share)
    assert code in FALSE_OR_UNREADABLE, said


@pytest.mark.slow
@settings(max_examples=max(60, settings().max_examples))
@given(data=st.data())
def test_one_byte_more_or_less_anywhere(released, tmp_path_factory, data):
    with folder(released, tmp_path_factory) as share:
        file = data.draw(st.sampled_from(sorted(share.iterdir())))
        content = bytearray(file.read_bytes())
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= data.draw(st.integers(1, 255))
        file.write_bytes(content)
        code, said = verified(share)
        same = file.name == "certificate.json" and _same_document(
            released / file.name, bytes(content)
        )
    assert code in FALSE_OR_UNREADABLE or same, said


def _same_document(file: Path, content: bytes) -> bool:
    """Whether other bytes are the same JSON, as with another blank between two parts."""
    try:
        return json.loads(content) == json.loads(file.read_bytes())
    except ValueError:
        return False


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything"
)
@pytest.mark.parametrize("name", ["data.csv", "certificate.json", "report.html"])
def test_a_file_that_may_not_be_read(released, tmp_path_factory, name):
    with folder(released, tmp_path_factory) as share:
        (share / name).chmod(0)
        code, said = verified(share)
    assert code in FALSE_OR_UNREADABLE, said
