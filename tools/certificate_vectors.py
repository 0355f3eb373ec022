"""Write the test vectors of certificates into docs/reference/certificates/vectors:
``python tools/certificate_vectors.py``.

Each is a small release, true or forged; ``vectors.json`` says what a checker must find. It is what
``sfumato verify`` finds, but every vector names the result that it was made to have.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import sfumato as sf
from sfumato.core import recipe_files
from sfumato.errors import SfumatoError
from sfumato.release.signatures import digest_of, new_key, signed

FOLDER = (
    Path(__file__).resolve().parents[1].joinpath("docs", "reference", "certificates", "vectors")
)
LEFT_OUT = ("utility", "story", "implied")
"""Sections that no vector is about."""
CLAIMS = (
    "certificate unedited",
    "signature",
    "folder",
    "data file unedited",
    "readable data",
    "rows and columns",
    "formulas",
    "tables judged",
    "direct identifiers gone",
    "columns match the recipe",
    "class sizes and risks",
    "promises",
    "limits",
)
"""Claims that every checker decides; promises and limits come besides, by their number."""
PEOPLE = """name;age;sex;place;ill;pay;born
Ada;21;f;north;flu;100;1951-01-11
Bea;22;f;north;"a, b";150.5;1951-02-11
Cid;23;m;;flu;150.5;1952-03-11
Dan;24;m;south;=1+1;200;1952-03-11
Eve;31;f;south;;333;1951-01-11
Fay;32;f;;flu;100;1953-05-11
Gus;33;m;north;"no ""x"" y";100;1951-02-11
Hal;34;m;south;flu;200;1953-05-11
Ida;35;f;south;gout;1000000;1951-01-11
Jan;36;m;north;gout;150.5;1952-03-11
"""
COLUMNS: dict[str, Any] = {
    "name": {"role": "drop"},
    "age": {"role": "quasi", "kind": "numeric", "hierarchy": {"intervals": {"widths": [10, 20]}}},
    "sex": {"role": "quasi", "hierarchy": {"suppress": {}}},
    "place": {"role": "quasi", "hierarchy": {"suppress": {}}},
    "ill": {"role": "sensitive"},
    "pay": {"role": "sensitive", "kind": "numeric"},
    "born": {"role": "sensitive", "kind": "date"},
}
RECODE: list[Any] = [{"global_recoding": {"budget": 0.4}}]
WHOLE: list[Any] = [{"global_recoding": {}}]
Forge = Callable[[dict[str, Any], Path], None]


def made(
    target: Path,
    meet: list[Any],
    *,
    steps: list[Any] = WHOLE,
    columns: Mapping[str, Any] | None = None,
    people: str = PEOPLE,
    limits: Mapping[str, Any] | None = None,
    form: str = "csv",
    defuse: bool = False,
) -> None:
    """Write the shared half of a release of the people, without its page."""
    recipe = {"sfumato": 1, "columns": COLUMNS | dict(columns or {}), "meet": meet, "steps": steps}
    with tempfile.TemporaryDirectory() as room:
        source = Path(room) / "people.csv"
        source.write_text(people, encoding="utf-8")
        loaded = recipe_files.any_from_dict({**recipe, "limits": dict(limits or {})})
        release = sf.run(source, loaded, seed=1, options=sf.RunOptions(format=form))
        release.write(Path(room) / "out", options=sf.WriteOptions(defuse=defuse))
        shutil.copytree(Path(room) / "out" / "share", target)
    (target / "report.html").unlink()
    certificate = json.loads((target / "certificate.json").read_text("utf-8"))
    for section in LEFT_OUT:
        certificate.pop(section, None)
    seal(certificate, target)


def seal(certificate: dict[str, Any], folder: Path) -> None:
    """Write a certificate with the digests that its files have now."""
    data = certificate["data"]["file"]
    content = (folder / data).read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    certificate["data"]["sha256"] = digest
    certificate["files"] = {data: {"sha256": digest, "bytes": len(content)}}
    certificate["digest"] = digest_of(certificate)
    write(certificate, folder)


def write(certificate: dict[str, Any], folder: Path) -> None:
    """Write a certificate as it is."""
    text = json.dumps(certificate, indent=1, ensure_ascii=False)
    (folder / "certificate.json").write_text(text + "\n", encoding="utf-8")


# Forgeries.


def edited_cell(certificate: dict[str, Any], folder: Path) -> None:
    """Somebody else's place of living, sealed again."""
    file = folder / certificate["data"]["file"]
    lines = file.read_text("utf-8").splitlines(keepends=True)
    lines[1] = lines[1].replace(lines[1].split(";")[0], "[60, 70)", 1)
    file.write_text("".join(lines), encoding="utf-8", newline="")
    seal(certificate, folder)


def edited_text(certificate: dict[str, Any], folder: Path) -> None:
    """A word of the certificate, without a new digest."""
    certificate["rehearsal"] = not certificate["rehearsal"]
    write(certificate, folder)


def edited_file(certificate: dict[str, Any], folder: Path) -> None:
    """A blank line at the end of the data, without a new digest."""
    file = folder / certificate["data"]["file"]
    file.write_bytes(file.read_bytes() + b"\n")


def larger_k(certificate: dict[str, Any], folder: Path) -> None:
    """A larger k, in the recipe and the verdict."""
    certificate["recipe"]["meet"][0]["k_anonymity"]["k"] = 9
    certificate["verdicts"][0].update(required=9, attained=9)
    seal(certificate, folder)


def fewer_quasi(certificate: dict[str, Any], folder: Path) -> None:
    """A quasi-identifier that is none any more, against the recipe."""
    certificate["roles"]["place"] = ["keep"]
    del certificate["missing_rule"]["place"]
    seal(certificate, folder)


def other_attained(certificate: dict[str, Any], folder: Path) -> None:
    """Other values that promises are said to attain."""
    for entry in certificate["verdicts"]:
        entry["attained"] = entry["attained"] * 1.5
    seal(certificate, folder)


def unknown_field(certificate: dict[str, Any], folder: Path) -> None:
    """A section that no certificate has."""
    certificate["trust"] = "me"
    seal(certificate, folder)


def stray_file(certificate: dict[str, Any], folder: Path) -> None:
    """A file that is not listed."""
    (folder / "names.txt").write_text("Ada\n", encoding="utf-8")


def listed_file(certificate: dict[str, Any], folder: Path) -> None:
    """A file that is listed, and that no promise covers."""
    stray_file(certificate, folder)
    seal(certificate, folder)
    content = (folder / "names.txt").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    certificate["files"]["names.txt"] = {"sha256": digest, "bytes": len(content)}
    certificate["digest"] = digest_of(certificate)
    write(certificate, folder)


def signature(certificate: dict[str, Any], folder: Path) -> None:
    """A signature of a key that exists no longer."""
    with tempfile.TemporaryDirectory() as room:
        new_key(Path(room) / "key.pem")
        shutil.copyfile(Path(room) / "key.pub.pem", folder.parent / f"{folder.name}.pub.pem")
        write(signed(certificate, Path(room) / "key.pem"), folder)


def false_signature(certificate: dict[str, Any], folder: Path) -> None:
    """A signature, and then another text with the right digest."""
    signature(certificate, folder)
    certificate = json.loads((folder / "certificate.json").read_text("utf-8"))
    certificate["rehearsal"] = not certificate["rehearsal"]
    certificate["digest"] = digest_of(certificate)
    write(certificate, folder)


K2: Any = {"k_anonymity": {"k": 2}}
DIVERSE: list[Any] = [
    {"l_diversity": {"sensitive": "ill", "l": 2}},
    {"l_diversity": {"sensitive": "ill", "l": 1.5, "kind": "entropy"}},
    {"l_diversity": {"sensitive": "ill", "l": 2, "kind": "recursive", "c": 3.0}},
    {"p_sensitive": {"sensitive": ["ill", "pay"], "p": 2, "k": 2}},
    {"alpha_k_anonymity": {"sensitive": "pay", "alpha": 0.8, "k": 2}},
]
CLOSE: list[Any] = [
    {"t_closeness": {"sensitive": "ill", "t": 0.9}},
    {"t_closeness": {"sensitive": "born", "t": 0.9, "distance": "ordered"}},
    {"t_closeness": {"sensitive": "pay", "t": 0.9, "distance": "numeric"}},
    {"t_closeness": {"sensitive": "pay", "t": 0.9, "reference": "released"}},
]
LIKELY: list[Any] = [
    {"beta_likeness": {"sensitive": "pay", "beta": 9}},
    {"delta_disclosure": {"sensitive": "ill", "delta": 3, "absent": "skip"}},
]


def with_column(name: str, prefix: str) -> str:
    """The people with one more column, of which every two rows have the same value."""
    header, *rows = PEOPLE.splitlines()
    more = [f"{row};{prefix}{number // 2 + 1}" for number, row in enumerate(rows)]
    return "\n".join([f"{header};{name}", *more, ""])


OPEN, FALSE = "not all verified", "false"
VECTORS: dict[str, tuple[str, str, list[Any], dict[str, Any], Forge | None]] = {
    "k": (OPEN, "class sizes, risks, a limit", [K2], {"limits": {"marketer_risk": 0.9}}, None),
    "k_edited_cell": (FALSE, "an edited cell, sealed again", [K2], {}, edited_cell),
    "k_edited_text": (FALSE, "an edited certificate", [K2], {}, edited_text),
    "k_edited_file": (FALSE, "an edited file", [K2], {}, edited_file),
    "k_larger": (FALSE, "a larger k, sealed again", [K2], {}, larger_k),
    "k_fewer_quasi": (FALSE, "a role that is not the recipe's", [K2], {}, fewer_quasi),
    "k_stray_file": (FALSE, "a file that is not listed", [K2], {}, stray_file),
    "k_listed_file": (FALSE, "a file that no promise covers", [K2], {}, listed_file),
    "k_unknown_field": ("refused", "a section that none has", [K2], {}, unknown_field),
    "signed": (OPEN, "a signature", [K2], {}, signature),
    "signed_false": (FALSE, "a signature of another text", [K2], {}, false_signature),
    "diverse": (OPEN, "three kinds of l, p, α; ties and missing values", DIVERSE, {}, None),
    "diverse_false": (FALSE, "other attained values", DIVERSE, {}, other_attained),
    "close": (OPEN, "t without suppressed records", CLOSE, {}, None),
    "close_bounded": (OPEN, "t with suppressed records", [K2, *CLOSE], {"steps": RECODE}, None),
    "close_false": (FALSE, "other attained values", CLOSE, {}, other_attained),
    "likely": (OPEN, "β and δ need the original", LIKELY, {}, None),
    "wildcards": (
        *(OPEN, "missing values that match everything", [{"k_anonymity": {"k": 3}}]),
        {"columns": {"place": {**COLUMNS["place"], "missing": "wildcard"}}},
        None,
    ),
    "persons": (
        *(OPEN, "persons with several rows", [K2, DIVERSE[0]]),
        {"columns": {"who": {"role": "person"}}, "people": with_column("who", "p")},
        None,
    ),
    "weights": (
        *(OPEN, "weights of a survey", [K2]),
        {"columns": {"mass": {"role": "weight"}}, "people": with_column("mass", "")},
        None,
    ),
    "defused": (OPEN, "formulas behind apostrophes", [K2], {"defuse": True}, None),
    "json_lines": (OPEN, "JSON lines", [K2, *DIVERSE[:2]], {"form": "jsonl"}, None),
    "parquet": (OPEN, "a format that needs a library", [K2], {"form": "parquet"}, None),
}


def findings(folder: Path) -> tuple[str, dict[str, str]]:
    """Result and claims of ``sfumato verify``."""
    try:
        verification = sf.verify(folder)
    except SfumatoError:
        return "refused", {}
    statuses: dict[str, str] = {}
    numbers = {"verdicts": 0, "limits": 0}
    for claim in verification.claims:
        if claim.name in CLAIMS:
            statuses[claim.name] = claim.status
        elif claim.promise and claim.section in numbers:
            numbers[claim.section] += 1
            word = {"verdicts": "promise", "limits": "limit"}[claim.section]
            statuses[f"{word} {numbers[claim.section]}"] = claim.status
    return verification.result, statuses


def main() -> None:
    """Write all vectors anew."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    entries = []
    for name, (result, shows, meet, options, forge) in VECTORS.items():
        folder = FOLDER / name
        made(folder, meet, **options)
        if forge is not None:
            forge(json.loads((folder / "certificate.json").read_text("utf-8")), folder)
        found, claims = findings(folder)
        if found != result:
            sys.exit(f"{name}: {found} instead of {result}, {claims}")
        entries.append({"folder": name, "shows": shows, "result": result, "claims": claims})
    text = json.dumps(entries, indent=1, ensure_ascii=False)
    (FOLDER / "vectors.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
