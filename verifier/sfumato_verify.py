"""Check a release of sfumato with Python's standard library alone.

    python sfumato_verify.py FOLDER [--key office.pub.pem] [--json]

FOLDER holds certificate.json, the data file and the report. Every claim is true (✓), false (✗), in
need of the original (?) or not checked here (–). Written from "The format of certificates" in the
documentation. Exit codes: 0 verified, 1 something is false, 7 not all verified, 5 no certificate.

A copy that came with a release proves nothing about somebody who forged both: take this file from
the project.
"""

from __future__ import annotations

import argparse
import base64
import csv
import datetime
import hashlib
import io
import json
import math
import re
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

__version__ = "0.2.0"
CERTIFICATE, KEPT, EPSILON = "certificate.json", "stays with the owner", 1e-9
HOLDS, FAILS, ORIGINAL, UNCHECKED = "holds", "fails", "needs original", "not checked"
VOUCHED = "vouched"
MARKS = {HOLDS: "✓", FAILS: "✗", ORIGINAL: "?", UNCHECKED: "–", VOUCHED: "≈"}
CODES = {"verified": 0, "false": 1, "not all verified": 7}
Document = dict[str, Any]


class Refused(Exception):
    """The certificate is none, or could be taken for two things."""


class Unreadable(Exception):
    """The data file does not follow its rules, or a promise cannot be judged on its values."""


class Claim(NamedTuple):
    """One thing that a certificate says, and whether it is so."""

    name: str
    status: str
    detail: str
    promise: bool = False


def state(holds: bool) -> str:
    """The status of a claim that was checked."""
    return HOLDS if holds else FAILS


def near(value: Any, certified: Any) -> bool:
    """Whether two numbers are the same, up to rounding."""
    if value is None or certified is None:
        return value is certified
    return abs(float(value) - float(certified)) <= EPSILON * max(1.0, abs(float(certified)))


# The document. Its fields by path: those with ? may be absent, * stands for any name.

ENVELOPE = "sfumato_certificate shape created versions files digest ?signature"
FIELDS = {
    "": f"{ENVELOPE} data recipe input_commitment verdicts limits contract plan dropped_columns"
    " shuffled rehearsal ?utility ?attacks ?differential_privacy roles missing_rule classes"
    " suppressed_records ?labels ?story ?implied ?decision ?sampled ?synthetic",
    ".files": "*",
    ".files.*": "sha256 bytes",
    ".signature": "algorithm public_key value",
    ".data": "file sha256 format ?form ?formulas rows columns ?parts ?table",
    ".data.form": "?delimiter ?encoding ?decimal ?header ?null ?quote ?defused ?types",
    ".verdicts": "model holds attained required failing_classes failing_records missing_rule"
    " ?of_persons",
    ".limits": "name ?parameters value limit holds refuses",
    ".classes": "count smallest sizes risks risk_threshold",
}
LISTS = ("verdicts", "limits", "contract", "plan", "dropped_columns")


def fits(part: Any, path: str = "") -> bool:
    """Whether a part of a certificate has its fields and no others."""
    if path not in FIELDS:
        return True
    if isinstance(part, list):
        return all(fits(entry, path) for entry in part)
    names = FIELDS[path].split()
    if not isinstance(part, dict):
        return False
    if names == ["*"]:
        return all(fits(entry, f"{path}.*") for entry in part.values())
    if not {name for name in names if name[0] != "?"} <= set(part):
        return False
    known = {name.lstrip("?") for name in names}
    return all(name in known and fits(part[name], f"{path}.{name}") for name in part)


def depth(part: Any) -> int:
    """How deep lists and objects are nested."""
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


def once(pairs: list[tuple[str, Any]]) -> Document:
    """An object without a key that stands twice."""
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError
    return document


def finite(text: str) -> float:
    """A number that is one."""
    if not math.isfinite(float(text)):
        raise ValueError
    return float(text)


def read_certificate(data: bytes) -> Document:
    """The document, or Refused."""
    try:
        document = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=once,
            parse_float=finite,
            parse_constant=finite,
        )
        canonical(document)
        nested = depth(document)
    except (ValueError, RecursionError):
        raise Refused("it is not valid JSON") from None
    if not isinstance(document, dict) or document.get("sfumato_certificate") != 3 or nested > 64:
        raise Refused("it is not a certificate of version 3")
    lists = all(isinstance(document.get(name), list) for name in LISTS)
    lists = lists and all(map(typed, [*document["verdicts"], *document["limits"]]))
    required = set(ENVELOPE.split()) - {"?signature"}
    if document.get("shape") == "table" and not (fits(document) and lists):
        raise Refused("it has other fields than a certificate")
    if not required <= set(document) or not isinstance(document["files"], dict):
        raise Refused("it lacks fields of a certificate")
    return document


def typed(entry: Any) -> bool:
    """Whether the parts of a verdict or a limit are of their types: true is no number."""
    if not isinstance(entry, dict):
        return False
    whole = [entry.get(name, 0) for name in ("failing_classes", "failing_records")]
    numbers = [entry.get(name) for name in ("attained", "required", "value", "limit")]
    truths = [entry.get(name, True) for name in ("holds", "refuses", "of_persons")]
    return (
        all(type(part) is int for part in whole)
        and all(part is None or type(part) in (int, float) for part in numbers)
        and all(type(part) is bool for part in truths)
    )


def canonical(document: Any, *without: str) -> bytes:
    """The bytes that digest and signature cover."""
    if without:
        document = {name: part for name, part in document.items() if name not in without}
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


# Signature: Ed25519 after RFC 8032, section 5.1.7, with points in extended coordinates.

P, ORDER = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D, ROOT = -121665 * pow(121666, P - 2, P) % P, pow(2, (P - 1) // 4, P)
Point = tuple[int, int, int, int]


def add(a: Point, b: Point) -> Point:
    """The sum of two points."""
    s, t = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    u, v = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = t - s, v - u, v + u, t + s
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def multiply(factor: int, point: Point) -> Point:
    """A point added to itself so many times."""
    total = (0, 1, 1, 0)
    while factor > 0:
        if factor & 1:
            total = add(total, point)
        point, factor = add(point, point), factor >> 1
    return total


def decode_point(data: bytes) -> Point:
    """The point of 32 bytes; ValueError where they are none."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x * ROOT % P if (x * x - square) % P else x
    if y >= P or (x * x - square) % P or (x == 0 and sign):
        raise ValueError
    x = P - x if x & 1 != sign else x
    return (x, y, 1, x * y % P)


def ed25519_holds(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether a signature of 64 bytes is that of a public key of 32 bytes under a message."""
    if len(public) != 32 or len(signature) != 64:
        return False
    base = decode_point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))
    try:
        key, point = decode_point(public), decode_point(signature[:32])
    except ValueError:
        return False
    s = int.from_bytes(signature[32:], "little")
    challenge = hashlib.sha512(signature[:32] + public + message).digest()
    left = multiply(s, base)
    right = add(point, multiply(int.from_bytes(challenge, "little") % ORDER, key))
    same = all((left[i] * right[2] - right[i] * left[2]) % P == 0 for i in (0, 1))
    return s < ORDER and same


def decode_base64(text: str) -> bytes:
    """The bytes of a text in base64; ValueError where it has another spelling."""
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text:
        raise ValueError
    return data


def public_key(pem: Path) -> bytes:
    """The 32 bytes of a public key in PEM (RFC 8410)."""
    lines = [line for line in pem.read_text().splitlines() if not line.startswith("-----")]
    der = base64.b64decode("".join(lines))
    if len(der) != 44 or der[:12] != bytes.fromhex("302a300506032b6570032100"):
        raise Refused(f"{pem} is no public key of Ed25519")
    return der[12:]


def signature_claim(document: Document, trusted: bytes | None) -> Claim:
    """Whether the signature fits and is of the trusted key."""
    if "signature" not in document:
        return Claim("signature", FAILS, "a key was given, but the certificate is not signed")
    signature = document["signature"]
    try:
        key, value = decode_base64(signature["public_key"]), decode_base64(signature["value"])
        holds = ed25519_holds(key, canonical(document, "signature"), value)
        holds = holds and signature["algorithm"] == "Ed25519" and trusted in (None, key)
    except (ValueError, TypeError):
        holds = False
    return Claim("signature", state(holds), "by the trusted key" if trusted else "by its own key")


# The folder.

PICTURES = r"pictures/([^/]+\.(png|svg)|descriptions\.txt)"


def sha256_of(file: Path) -> str:
    """SHA-256 of the bytes of a file."""
    digest = hashlib.sha256()
    with file.open("rb") as handle:
        while part := handle.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def folder_claim(document: Document, folder: Path) -> Claim:
    """The folder holds the listed files as they were, and no others."""
    listed = document["files"]
    modes = {path: path.lstat().st_mode for path in folder.rglob("*")}
    files = {p.relative_to(folder).as_posix(): m for p, m in modes.items() if not stat.S_ISDIR(m)}
    links = sum(not stat.S_ISREG(mode) for mode in files.values())
    extra, gone = set(files) - set(listed) - {CERTIFICATE}, set(listed) - set(files)
    changed = 0
    for name in set(listed) - gone if not links else ():
        file = folder / name
        size, digest = listed[name]["bytes"], listed[name]["sha256"]
        changed += file.stat().st_size != size or sha256_of(file) != digest
    words = f"{len(listed)} listed; {len(extra)} besides, {len(gone)} missing, {changed} changed"
    return Claim("folder", state(not (extra or gone or changed or links)), words)


def unjudged_files(document: Document) -> list[str]:
    """Listed files that no promise covers."""
    data = document["data"]["file"]
    known = rf"report\.html|sfumato_verify\.py|{re.escape(data)}(/[^/]+)?|{PICTURES}"
    return [name for name in document["files"] if not re.fullmatch(known, name)]


# How text is read.


def moment(text: str) -> str:
    """A moment without zeros at the end of its fraction."""
    clock, _, fraction = text.replace("T", " ").partition(".")
    datetime.datetime.fromisoformat(f"2000-01-01 {clock}"[-19:])
    return f"{clock}.{fraction.rstrip('0')}"


def decimal(text: str) -> float | None:
    """A double; None for what is no number."""
    return None if math.isnan(float(text)) else float(text) + 0.0


def whole(text: str) -> int:
    """A whole number of 64 bits."""
    if not -(2**63) <= int(text) < 2**63:
        raise ValueError
    return int(text)


COMMA = str.maketrans(",.", ".,")
DAY, CLOCK = r"[0-9]{4}-[0-9]{2}-[0-9]{2}", r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?"
EXPONENT = "([eE][+-]?[0-9]+)?"
TYPES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "text": ("(?s:.*)", str),
    "integer": ("[+-]?[0-9]+", whole),
    "decimal": (rf"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+){EXPONENT}|(?i:inf|infinity|nan))", decimal),
    "boolean": ("true|false", "true".__eq__),
    "date": (DAY, datetime.date.fromisoformat),
    "time": (CLOCK, moment),
    **dict.fromkeys(
        ("datetime[ms]", "datetime[us]", "datetime[ns]"), (f"{DAY}[ T]{CLOCK}", moment)
    ),
}


class Table:
    """The columns of a file by name, None where a value is missing."""

    def __init__(self, file: Path, section: Document) -> None:
        form = section["form"]
        marks = (form.get("null", ""), form.get("quote", '"'), form.get("decimal", "."))
        if marks[:2] != ("", '"') or marks[2] not in (".", ","):
            raise Unreadable("the certificate describes its form in unknown terms")
        self.types: dict[str, str] = form["types"]
        is_csv = section["format"] == "csv"
        self.columns = csv_columns(file, form) if is_csv else jsonl_columns(file)
        point = form.get("decimal", ".") if is_csv else "."
        for name, kind in self.types.items():
            if name not in self.columns:
                raise Unreadable("it lacks a column that the certificate describes")
            pattern, convert = TYPES[kind]
            values: dict[Any, Any] = {None: None}
            for text in set(self.columns[name]) - {None}:
                swap = kind == "decimal" and point != "."
                plain = text.translate(COMMA) if swap else text
                try:
                    values[text] = convert(plain) if re.fullmatch(pattern, plain) else values[0]
                except (ValueError, KeyError):
                    raise Unreadable(f"values of {name!r} are no {kind}") from None
            self.columns[name] = [values[text] for text in self.columns[name]]
        self.rows = len(next(iter(self.columns.values()), []))


def csv_columns(file: Path, form: Document) -> dict[str, list[Any]]:
    """The columns of a CSV as text."""
    try:
        text = file.read_bytes().decode(form.get("encoding", "utf-8")).removeprefix("\ufeff")
        delimiter = form.get("delimiter", ",")
        if not (isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()):
            raise Unreadable("its delimiter is none")
        refuse_stray_signs(text, delimiter)
        lines = io.StringIO(text.lstrip("\r\n"), newline="")
        limit = csv.field_size_limit(2**31 - 1)  # of the whole process, so it is put back
        try:
            records = list(csv.reader(lines, delimiter=delimiter, strict=True))
        finally:
            csv.field_size_limit(limit)
    except (LookupError, UnicodeError, csv.Error):
        raise Unreadable("its encoding or its quotes are broken") from None
    if not records or "\0" in text:
        raise Unreadable("it is empty or holds a NUL")
    width, names = len(records[0]), list(form["types"])
    records = [record or [""] for record in records if record or width == 1]
    if form.get("header", True):
        names = [cell.strip() or f"column_{i}" for i, cell in enumerate(records.pop(0), 1)]
    columns = [[cell or None for cell in cells] for cells in zip(*records)] or [[] for _ in names]
    if form.get("defused"):
        names = [restored(name) for name in names]
        columns = [[cell and restored(cell) for cell in cells] for cells in columns]
    if any(len(record) != width for record in records) or not len(set(names)) == width == len(
        names
    ):
        raise Unreadable("its records differ in their number of fields, or names of columns repeat")
    return dict(zip(names, columns))


def refuse_stray_signs(text: str, delimiter: str) -> None:
    """Quotes stand around whole fields, and outside of them a carriage return before a line end."""
    if '"' not in text and "\r" not in text:
        return
    mark = re.escape(delimiter)
    bare = re.sub(rf'(?:(?<=[{mark}\n])|\A)"[^"]*(?:""[^"]*)*"(?=[{mark}\r\n]|\Z)', "", text)
    if '"' in bare or re.search(r"\r(?!\n)", bare):
        raise Unreadable("a quote or a carriage return is where none may be")


def restored(text: str) -> str:
    """A text without the apostrophe that keeps a spreadsheet from running it."""
    return text[1:] if re.match(r"'+[=+\-@\t\r\n]", text) else text


def jsonl_columns(file: Path) -> dict[str, list[Any]]:
    """The columns of JSON lines as text."""
    columns: dict[str, list[Any]] = {}
    try:
        lines = file.read_bytes().decode("utf-8-sig").split("\n")
        records = [json.loads(line, object_pairs_hook=once) for line in lines if line.strip()]
        for row, record in enumerate(records):
            for name, value in record.items():
                if isinstance(value, (dict, list)):
                    raise ValueError
                text = value if isinstance(value, str) else json.dumps(value)
                column = columns.setdefault(name, [None] * len(records))
                column[row] = None if value is None else text
    except (ValueError, AttributeError, RecursionError):
        raise Unreadable("it is not JSON lines") from None
    if not columns:
        raise Unreadable("it is empty")
    return columns


# Classes and risks.


class Classes:
    """The classes of a table: the class of each row, and their records, sizes and frequencies."""

    def __init__(self, table: Table, document: Document) -> None:
        self.table, self.roles = table, document["roles"]
        self.quasi = [name for name, roles in self.roles.items() if "quasi" in roles]
        rules = document["missing_rule"]
        self.wildcards = [i for i, c in enumerate(self.quasi) if rules.get(c) == "wildcard"]
        person, weight = (
            next((name for name, roles in self.roles.items() if role in roles), None)
            for role in ("person", "weight")
        )
        self.person = person
        numbers: dict[Any, int] = {}
        rows = zip(*(table.columns[name] for name in self.quasi))
        self.of_row = [numbers.setdefault(key, len(numbers)) for key in rows]
        self.keys = list(numbers)
        self.records = self.tally(self.of_row)
        self.sizes = self.records
        if person is not None:
            pairs = set(zip(self.of_row, table.columns[person]))
            self.sizes = self.tally(number for number, _ in pairs)
        self.frequencies = self.compatible() if self.wildcards else self.sizes
        self.weights = [0.0] * len(numbers) if weight is not None else None
        if self.weights is not None:
            for number, value in zip(self.of_row, table.columns[str(weight)]):
                self.weights[number] += float(value)

    def tally(self, numbers: Any) -> list[int]:
        """How often each class is named."""
        counts = Counter(numbers)
        return [counts[number] for number in range(len(self.keys))]

    def compatible(self) -> list[int]:
        """Per class, the records that equal it where neither lacks a value of a wildcard column."""
        gaps = [frozenset(i for i in self.wildcards if key[i] is None) for key in self.keys]
        patterns, sums = set(gaps), Counter[Any]()
        for key, gap, records in zip(self.keys, gaps, self.records):
            for gone in {gap | other for other in patterns}:
                sums[gone, gap, outside(key, gone)] += records
        return [
            sum(sums[gap | other, other, outside(key, gap | other)] for other in patterns)
            for key, gap in zip(self.keys, gaps)
        ]

    def risks(self, threshold: float = 0.2) -> dict[str, float]:
        """The five risks of the file."""
        pairs, total = list(zip(self.records, self.frequencies)), sum(self.records) or 1
        least = min(self.frequencies if self.weights is None else self.weights, default=math.inf)
        return {
            "prosecutor_risk": 1 / min(self.frequencies, default=math.inf),
            "journalist_risk": min(1.0, 1 / least) if least > 0 else 1.0,
            "marketer_risk": sum(n / f for n, f in pairs) / total,
            "records_at_risk": sum(n for n, f in pairs if 1 / f > threshold + 1e-12) / total,
            "unique_records": sum(n for n, f in pairs if f == 1) / total,
        }

    def counts(self, sensitive: list[str]) -> list[Counter[Any]]:
        """Per class how often each value of the sensitive columns occurs."""
        counts = [Counter[Any]() for _ in self.keys]
        for number, value in zip(self.of_row, zip(*map(self.table.columns.get, sensitive))):
            counts[number][value] += 1
        return counts


def outside(key: tuple[Any, ...], gone: frozenset[int]) -> tuple[Any, ...]:
    """A key without some of its columns."""
    return tuple(value for i, value in enumerate(key) if i not in gone)


# Promises: by name the parameter that is required, its range, and options, the usual one first.

ANY = math.inf
PROMISES: dict[str, tuple[str, float, float, dict[str, tuple[str, ...]]]] = {
    "k_anonymity": ("k", 1, ANY, {}),
    "p_sensitive": ("p", 1, ANY, {}),
    "l_diversity": ("l", 1, ANY, {"kind": ("distinct", "entropy", "recursive")}),
    "alpha_k_anonymity": ("alpha", 5e-324, 1, {}),
    "t_closeness": (
        *("t", 0, ANY),
        {
            "distance": ("equal", "ordered", "numeric", "multiplicative"),
            "reference": ("original", "released"),
        },
    ),
    "beta_likeness": ("beta", 5e-324, ANY, {"kind": ("basic", "enhanced")}),
    "delta_disclosure": ("delta", 5e-324, ANY, {"absent": ("fail", "skip")}),
    "maximum_risk": ("threshold", 5e-324, 1, {}),
}
OF_SIZES = ("k_anonymity", "p_sensitive", "alpha_k_anonymity", "maximum_risk")
COMPARING = ("t_closeness", "beta_likeness", "delta_disclosure")


class Promise:
    """One promise of a recipe, with its options filled in."""

    def __init__(self, name: str, given: Document) -> None:
        parameter, self.low, self.high, options = PROMISES[name]
        self.name = name
        self.required: Any = given.get(parameter)
        self.fields: Document = {option: words[0] for option, words in options.items()} | given
        sensitive = given.get("sensitive", [])
        self.sensitive = [sensitive] if isinstance(sensitive, str) else list(sensitive)
        self.how = self.fields.get("distance", self.fields.get("kind"))
        self.k: Any = given.get("k", 0)

    def valid(self) -> bool:
        """Whether the parameters are in their range."""
        c, t, required = self.fields.get("c"), self.name == "t_closeness", self.required
        plain = all(type(v) in (int, float) for v in (required, self.k, 1 if c is None else c))
        if not plain or (self.how == "recursive") != (c is not None) or c == 0:
            return False
        if not self.sensitive and self.name not in ("k_anonymity", "maximum_risk"):
            return False
        if t and len(self.sensitive) > 1 and self.how in ("ordered", "numeric"):
            return False
        entire = self.name in ("k_anonymity", "p_sensitive") or self.how in (
            "distinct",
            "recursive",
        )
        low, high = self.low, 1 if t and self.how != "multiplicative" else self.high
        low = 1 if self.how == "multiplicative" else low
        sized = self.name not in OF_SIZES[:3] or (type(self.k) is int and self.k >= 1)
        return sized and low <= required <= high and not (entire and required % 1)

    def values(self, classes: Classes, specs: Document) -> tuple[list[Any], list[Any]]:
        """Per class what is compared with the promise, and what is attained."""
        if self.name in ("k_anonymity", "maximum_risk"):
            risks = self.name == "maximum_risk"
            found = [1 / f if risks else f for f in classes.frequencies]
            return found, found
        counts = classes.counts(self.sensitive)
        if self.name in COMPARING:
            found = self.compared(counts, specs)
            return found, found
        ordered = [sorted(values.values(), reverse=True) for values in counts]
        if self.name == "alpha_k_anonymity":
            found = [values[0] / sum(values) for values in ordered]
            return found, found
        caps = [ANY if classes.person is None else size for size in classes.sizes]
        if self.how == "recursive":
            rank, c = int(self.required), self.fields["c"]
            pairs = list(zip(ordered, caps))
            ratios = [ANY if cap < rank else head_to_tail(values, rank) for values, cap in pairs]
            return ratios, [min(rank_of(values, c), cap) for values, cap in pairs]
        measure: Any = effective if self.how == "entropy" else len
        found = [min(measure(values), cap) for values, cap in zip(ordered, caps)]
        return found, found

    def compared(self, counts: list[Counter[Any]], specs: Document) -> list[float]:
        """Per class the distance from the table, the gain or the change."""
        total = sum(counts, Counter[Any]())
        if len(total) < 2:
            return [ANY] * len(counts)
        if self.how in ("ordered", "numeric"):
            kind = specs.get(self.sensitive[0], {}).get("kind")
            axis = places(total, kind, self.how)
            return [distance_on_line(values, total, axis) for values in counts]
        return [self.compare(values, total) for values in counts]

    def compare(self, values: Counter[Any], total: Counter[Any]) -> float:
        """One class beside the table, values in no order."""
        size, records = sum(values.values()), sum(total.values())
        if self.how == "equal":
            gaps = (count / size - total[value] / records for value, count in values.items())
            return sum(gap for gap in gaps if gap > 0)
        ratios = {value: n * records / (size * total[value]) for value, n in values.items()}
        largest = max(ratios.values())
        if self.name == "beta_likeness":
            limits = {value: 1 - math.log(total[value] / records) for value in values}
            over = any(r > max(1, limits[value] + EPSILON) for value, r in ratios.items())
            return ANY if over and self.how == "enhanced" else max(0.0, largest - 1)
        if len(values) < len(total) and self.fields.get("absent") != "skip":
            return ANY
        factor = max(largest, 1 / min(ratios.values()))
        return math.log(factor) if self.name == "delta_disclosure" else factor

    def fails(self, value: float, frequency: int) -> bool:
        """Whether a class with this value and frequency fails."""
        required: float = self.required
        if self.name == "maximum_risk":
            return frequency < math.ceil(1 / required - EPSILON)
        if self.name == "delta_disclosure":
            return value >= required - EPSILON
        if self.how == "recursive":
            return required > 1 and value >= self.fields["c"] - EPSILON
        if self.name in (*COMPARING, "alpha_k_anonymity"):
            return value > required + EPSILON or frequency < self.k
        return value < required - EPSILON or frequency < self.k

    def verdict(self, classes: Classes, specs: Document) -> Document:
        """The fields of a verdict, computed from the file."""
        values, reached = self.values(classes, specs) if classes.keys else ([], [])
        rows = zip(values, classes.frequencies, classes.records)
        failing = [records for value, f, records in rows if self.fails(value, f)]
        worst: Any = max if self.name in (*COMPARING, *OF_SIZES[2:]) else min
        attained = worst(reached, default=ANY)
        wild = self.name in OF_SIZES and classes.wildcards
        return {
            "holds": not failing,
            "attained": attained if math.isfinite(attained) else None,
            "required": self.required,
            "failing_classes": len(failing),
            "failing_records": sum(failing),
            "missing_rule": "wildcard" if wild else "category",
        }


def effective(counts: list[int]) -> float:
    """How many equally frequent values would be as diverse."""
    size = sum(counts)
    entropy = math.log(size) - sum(c * math.log(c) for c in counts) / size
    return min(max(math.exp(entropy), 1.0), len(counts))


def head_to_tail(counts: list[int], rank: int) -> float:
    """The largest count over the sum of those from a rank on."""
    tail = sum(counts[rank - 1 :])
    return counts[0] / tail if tail else ANY


def rank_of(counts: list[int], c: float) -> int:
    """The highest rank at which the largest count is below c times the tail."""
    ranks = range(len(counts), 1, -1)
    return next((rank for rank in ranks if head_to_tail(counts, rank) < c - EPSILON), 1)


def places(total: Counter[Any], kind: Any, how: str) -> list[tuple[Any, float]]:
    """The values of a column in their order, each with its place on the line."""
    try:
        keys: dict[Any, Any] = {}
        for value in total:
            text = str(value[0]).rstrip(".") if value[0] is not None else "missing"
            keys[value] = (
                float(text) if kind == "numeric" else datetime.datetime.fromisoformat(text)
            )
        if kind == "numeric" and not all(map(math.isfinite, keys.values())):
            raise ValueError
        ordered = sorted(keys, key=keys.__getitem__)
    except (ValueError, TypeError):
        raise Unreadable("a value is missing, or has no place in the order") from None
    return [(v, keys[v] if how == "numeric" else float(i)) for i, v in enumerate(ordered)]


def distance_on_line(values: Any, total: Any, axis: list[tuple[Any, float]]) -> float:
    """The area between two cumulative distributions, over the length of the line."""
    size, records, span = sum(values.values()), sum(total.values()), axis[-1][1] - axis[0][1]
    area, own, others = 0.0, 0, 0
    for (value, place), (_, following) in zip(axis, axis[1:]):
        own, others = own + values[value], others + total[value]
        area += abs(own / size - others / records) * (following - place)
    return area / span if span > 0 else 0.0


def hides(spec: Any) -> bool:
    """Whether anything in a specification is kept by its owner."""
    return KEPT in words_in(spec)


def words_in(spec: Any) -> Iterator[str]:
    """All texts and keys in a specification."""
    for part in spec if isinstance(spec, (dict, list)) else ():
        yield from words_in(part)
        if isinstance(spec, dict):
            yield from words_in(spec[part])
    if isinstance(spec, str):
        yield spec


def method(spec: Any) -> tuple[Any, Document]:
    """The name of a method and its parameters."""
    name, fields = next(iter(spec.items()), (None, {})) if isinstance(spec, dict) else (spec, {})
    return name, fields if isinstance(fields, dict) else {}


def roles_in(spec: Document) -> list[str]:
    """The roles of a column of the recipe."""
    return [spec["role"]] if isinstance(spec["role"], str) else list(spec["role"])


READ_ONLY = ("within", "label", "sensitive", "confidential", "weights", "importance")


def released_unchanged(document: Document, columns: list[str]) -> bool:
    """Whether nothing in the certificate says that a step changed these columns."""
    steps, plans = document["recipe"]["steps"], document["plan"]
    odd = [p["step"] == "authorised" or p.get("unit", "row") != "row" for p in plans]
    if hides(steps) or "synthetic" in document or any(odd) or any("certified" in p for p in plans):
        return False
    changed = {c for c, spec in document["recipe"]["columns"].items() if "quasi" in roles_in(spec)}
    for spec in steps:
        fields = method(spec)[1].items()
        changed.update(words_in({name: part for name, part in fields if name not in READ_ONLY}))
    for plan in plans:
        for part in ("levels", "columns", "masked", "suppressed_cells"):
            changed.update(plan.get(part) or ())
    return changed.isdisjoint(columns)


def promise_claims(document: Document, classes: Classes) -> Iterator[Claim]:
    """What becomes of every promise."""
    meet, verdicts = document["recipe"]["meet"], document["verdicts"]
    private = (document.get("differential_privacy") or {}).get("certified")
    if not (verdicts or document["limits"] or private) or len(meet) != len(verdicts):
        yield Claim("promises", FAILS, "nothing is promised, or not what the recipe says")
    for number, (spec, entry) in enumerate(zip(meet, verdicts), 1):
        name, fields = method(spec)
        try:
            status, detail = judge(name, fields, entry, document, classes)
        except (Unreadable, KeyError, TypeError, ValueError, ArithmeticError) as error:
            status, detail = FAILS, str(error) if isinstance(error, Unreadable) else "it is damaged"
        yield Claim(f"promise {number}: {name}", status, detail, True)


def judge(
    name: str, fields: Document, entry: Document, document: Document, classes: Classes
) -> tuple[str, str]:
    """What becomes of one promise, in the order of the document."""
    if entry["model"] != name:
        return FAILS, "the recipe names another promise"
    known = {PROMISES.get(name, ("",))[0], "k", "c", "sensitive", "values"}
    options = PROMISES[name][3] if name in PROMISES else {}
    if not set(fields) <= known | set(options) or name not in PROMISES:
        return UNCHECKED, "not a promise that this file judges"
    if any(fields.get(option, words[0]) not in words for option, words in options.items()):
        return UNCHECKED, "not a kind that this file judges"
    if KEPT in fields.values():
        return ORIGINAL, "its owner keeps a part of it"
    promise, specs = Promise(name, fields), document["recipe"]["columns"]
    if not promise.valid() or ("values" in fields and fields["values"] is not None):
        return FAILS, "its parameters are out of range"
    numbers = [value for value in fields.values() if isinstance(value, (int, float))]
    required = entry["required"]
    if required is not None and not any(near(required, number) for number in numbers):
        return FAILS, "the certificate requires something else than its recipe"
    if not entry["holds"] or not set(promise.sensitive) <= set(classes.table.columns):
        return FAILS, "it says itself that it does not hold, or lacks its column"
    roles = [classes.roles.get(column, []) for column in promise.sensitive]
    kinds = {"ordered": ("numeric", "date"), "numeric": ("numeric",)}.get(promise.how or "")
    kind = specs.get(promise.sensitive[0], {}).get("kind") if kinds else None
    if any("sensitive" not in r or "quasi" in r for r in roles) or (kinds and kind not in kinds):
        return ORIGINAL, "roles or kinds that it needs are not told"
    if name in COMPARING and promise.fields.get("reference") != "released":
        return beside_original(promise, entry, document, classes)
    return compare(promise.verdict(classes, specs), entry, document)


def compare(verdict: Document, entry: Document, document: Document) -> tuple[str, str]:
    """A verdict of the file beside that of the certificate."""
    wrong = [part for part in verdict if part != "attained" and verdict[part] != entry[part]]
    if not near(verdict["attained"], entry["attained"]):
        wrong.append("attained")
    if ("of_persons" in entry) != ("synthetic" in document):
        wrong.append("of_persons")
    if wrong:
        return FAILS, f"the file gives another {', '.join(wrong)}"
    detail = f"attained {verdict['attained']}, required {verdict['required']}"
    return state(verdict["holds"]), detail


def beside_original(
    promise: Promise, entry: Document, document: Document, classes: Classes
) -> tuple[str, str]:
    """What the released table alone decides of a promise that compares with the original."""
    specs = document["recipe"]["columns"]
    suppressed, attained = document["suppressed_records"], entry["attained"]
    bounded = promise.name == "t_closeness" and suppressed is not None and attained is not None
    bounded = bounded and classes.person is None
    bounded = bounded and released_unchanged(document, promise.sensitive)
    open_words = "it compares with the original"
    try:
        verdict = promise.verdict(classes, specs)
        open_words += f"; released alone it is {verdict['attained']}"
    except Unreadable:
        if bounded:
            raise
    if not bounded:
        return ORIGINAL, open_words
    if suppressed == 0:
        return compare(verdict, entry, document)
    if verdict["attained"] is None or promise.how == "multiplicative":
        return ORIGINAL, open_words
    found = promise.values(classes, specs)[0]
    lows, highs = found, found
    gaps = max(1, len(set(classes.table.columns[promise.sensitive[0]])) - 1)
    if promise.how == "ordered":
        equal = Promise("t_closeness", {**promise.fields, "distance": "equal"})
        widths = equal.values(classes, specs)[0]
        lows = [d * gaps / (gaps + suppressed) for d in found]
        both = zip(found, widths)
        highs = [(d * gaps + e * suppressed) / (gaps + suppressed) for d, e in both]
    elif promise.how == "numeric":
        lows = [0.0]
    slack = suppressed / (sum(classes.records) + suppressed)
    low, high = max(0.0, max(lows) - slack), min(1.0, max(highs) + slack)
    if low > promise.required + EPSILON or not low - EPSILON <= attained <= high + EPSILON:
        return FAILS, f"from the original it is between {low:.4g} and {high:.4g}"
    if high > promise.required + EPSILON:
        return ORIGINAL, open_words
    none = {"holds": True, "attained": attained, "failing_classes": 0, "failing_records": 0}
    return compare({**verdict, **none}, entry, document)


# Other claims about the table.

RUNS = re.compile(r"[=+\-@\t\r\n]")
HARMLESS = re.compile(r"[+-]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][+-]?\d+)?")


def runs(text: str | None) -> bool:
    """Whether a spreadsheet would run a text."""
    return text is not None and bool(RUNS.match(text)) and not HARMLESS.fullmatch(text)


def table_claims(document: Document, table: Table, classes: Classes) -> Iterator[Claim]:
    """Everything about the table but its promises."""
    data, names, recipe = document["data"], list(table.columns), document["recipe"]
    same = (data["rows"], data["columns"]) == (table.rows, names)
    yield Claim("rows and columns", state(same), f"{table.rows} rows, {len(names)} columns")
    texts = [name for name in names if table.types.get(name, "text") == "text"]
    cells = {n: runs(n) + sum(map(runs, table.columns[n] if n in texts else ())) for n in names}
    formulas = {name: count for name, count in cells.items() if count}
    if data["format"] == "csv" and data.get("formulas") != formulas:
        yield Claim("formulas", FAILS, "other cells than certified would run in a spreadsheet")
    pseudonymized = [plan for plan in document["plan"] if plan["step"] == "pseudonymize"]
    replaced = {name for plan in pseudonymized for name in plan.get("masked") or ()}
    direct = {name for name, spec in recipe["columns"].items() if "drop" in roles_in(spec)}
    left = direct & set(names) - replaced
    yield Claim("direct identifiers gone", state(not left), f"{len(left)} still there")
    problem = column_problem(document, names, replaced)
    yield Claim("columns match the recipe", state(not problem), problem or "no others")
    if problem := step_problem(document):
        yield Claim("steps", FAILS, problem)
    recoded = [name for name in classes.quasi if name in texts and table.rows]
    labels = {name: len(set(table.columns[name]) - {None}) for name in recoded}
    told_labels = {name: told["labels"] for name, told in document.get("labels", {}).items()}
    if "labels" in document and labels != told_labels:
        yield Claim("labels of recoded columns", FAILS, "the file has other numbers of labels")
    section, risks = document["classes"], classes.risks()
    sizes = {str(size): count for size, count in Counter(classes.frequencies).items()}
    found = (sizes, len(classes.keys), min(classes.frequencies, default=None), 0.2)
    told = tuple(section[part] for part in ("sizes", "count", "smallest", "risk_threshold"))
    same = all(name in risks and near(risks[name], v) for name, v in section["risks"].items())
    words = f"{len(classes.keys)} classes, counted again"
    yield Claim("class sizes and risks", state(found == told and same), words)


def column_problem(document: Document, names: list[str], replaced: set[str]) -> str | None:
    """How the columns of the file differ from those of the recipe."""
    recipe, plans, roles = document["recipe"], document["plan"], document["roles"]
    specs = {name: roles_in(spec) for name, spec in recipe["columns"].items()}
    steps = [(*method(spec), plan) for spec, plan in zip(recipe["steps"], plans)]
    secret = [plan for spec, plan in zip(recipe["steps"], plans) if hides(spec)]
    hidden = {name for plan in secret for name in plan.get("masked") or ()}
    weights = {fields.get("weight") for name, fields, _ in steps if name == "sample"}
    for name in set(names) - replaced - weights:
        expected = specs.get(name, ["drop"])
        if "drop" in expected and name in hidden:
            expected = ["keep"]
        if name not in specs and name not in hidden:
            return "a column is not in the recipe"
        if sorted(roles.get(name, [])) != sorted(expected):
            return "a column has another role than in the recipe"
    left = {"drop"}
    for name, fields, _ in steps:
        left |= {"quasi"} if (name, fields.get("what")) == ("suppression", "attribute") else set()
        left |= {"person", "household"} if name == "synthesize_privately" else set()
    removing = [plan for plan in plans if plan.get("kind") == "attribute suppression"]
    removed = {name for plan in removing for name in plan.get("columns") or ()}
    gone = [name for name in specs if name not in names]
    if any(name not in removed and not left & set(specs[name]) for name in gone):
        return "a column of the recipe is missing"
    if sorted(document["dropped_columns"]) != sorted(gone):
        return "other columns were dropped than certified"
    rules = document["missing_rule"]
    if set(rules) != {name for name in roles if "quasi" in roles[name]}:
        return "missing_rule is not about the quasi-identifiers"
    emptied = {name for plan in plans for name in plan.get("suppressed_cells") or ()}
    free = any("suppressed_cells" in plan for plan in secret)
    for name, rule in rules.items():
        usual = recipe["columns"].get(name, {}).get("missing", "category")
        if rule != usual and not (rule == "wildcard" and (name in emptied or free)):
            return "a missing value counts otherwise than in the recipe"
    return None


def step_problem(document: Document) -> str | None:
    """How the plan differs from the steps of the recipe and the suppressed records."""
    plans, total = document["plan"], document["suppressed_records"]
    if [method(spec)[0] for spec in document["recipe"]["steps"]] != [p["step"] for p in plans]:
        return "the plan names other steps than the recipe"
    gone = sum(plan.get("suppressed_records", 0) for plan in plans)
    for plan in plans:
        if (plan["step"], plan.get("unit")) == ("sample", "row"):
            gone += round(plan["rows"] / plan["fraction"]) - plan["rows"]
    exact = all("suppressed_records" in plan for plan in plans)
    if total is None or gone == total or (gone < total and not exact):
        return None
    return "the steps suppressed another number of records"


def limit_claims(document: Document, classes: Classes) -> Iterator[Claim]:
    """Limits on risks of the file; others are not checked."""
    expected, entries = [], document["limits"]
    for name, given in (document["recipe"].get("limits") or {}).items():
        for bound in given if isinstance(given, list) else [given]:
            fields = dict(bound) if isinstance(bound, dict) else {"at_most": bound}
            expected.append((name, fields.pop("at_most", fields.pop("at_least", None)), fields))
    told = [(entry["name"], entry["limit"], entry.get("parameters", {})) for entry in entries]
    if expected != told:
        yield Claim("limits", FAILS, "other limits than those of the recipe")
        return
    for (name, limit, fields), entry in zip(expected, entries):
        risks = classes.risks(fields.get("threshold", 0.2))
        if name not in risks or not set(fields) <= {"threshold"}:
            yield Claim(f"limit: {name}", UNCHECKED, "not a limit that this file judges", True)
            continue
        holds = near(risks[name], entry["value"]) and risks[name] <= limit + 1e-12
        holds = holds and entry["holds"] is True and entry["refuses"] is True
        yield Claim(f"limit: {name}", state(holds), f"measured {risks[name]:.6g}", True)


# All of it.

BESIDES = "levels, label widths, utility, story, contract, attacks, implied, decision, ε, report"


def data_claims(document: Document, folder: Path) -> Iterator[Claim]:
    """Everything about the data file."""
    data = document["data"]
    file = folder / str(data["file"])
    if file.name != data["file"] or file.name == CERTIFICATE or file.is_symlink():
        raise Refused("it does not name a data file of its own folder")
    if unjudged_files(document):
        yield Claim("tables judged", FAILS, "more files are listed, which no promise covers")
    if file.is_file():
        yield Claim("data file unedited", state(sha256_of(file) == data["sha256"]), "its SHA-256")
    types = (data.get("form") or {}).get("types")
    known = bool(types) and set(types.values()) <= set(TYPES)
    if data["format"] not in ("csv", "jsonl") or not known or file.is_dir():
        yield Claim("data", UNCHECKED, f"{data['format']} is not read here")
        return
    try:
        table = Table(file, data)
        if not set(document["roles"]) <= set(table.columns):
            raise Unreadable("it lacks a column that has a role")
        classes = Classes(table, document)
    except (Unreadable, OSError, TypeError, ValueError) as error:
        yield Claim("readable data", FAILS, str(error))
        return
    if not classes.quasi or (classes.person and classes.wildcards):
        yield Claim("class sizes and risks", FAILS, "nothing forms classes that can be counted")
        return
    yield from table_claims(document, table, classes)
    yield from promise_claims(document, classes)
    yield from limit_claims(document, classes)


def verify(folder: Path, trusted: bytes | None = None) -> list[Claim]:
    """All claims of a shared folder; Refused where its certificate is none."""
    document = read_certificate((folder / CERTIFICATE).read_bytes())
    digest = hashlib.sha256(canonical(document, "digest", "signature")).hexdigest()
    claims = [Claim("certificate unedited", state(digest == document["digest"]), "its digest")]
    if "signature" in document or trusted is not None:
        claims.append(signature_claim(document, trusted))
    claims.append(folder_claim(document, folder))
    if document["shape"] != "table":
        words = f"data of shape {document['shape']} need sfumato verify"
        return [*claims, Claim("data", UNCHECKED, words)]
    try:
        for claim in data_claims(document, folder):
            claims.append(claim)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
        claims.append(Claim("certificate", FAILS, "it lacks what a claim needs; it was edited"))
    claims.append(Claim("the original is the committed one", ORIGINAL, "ask its owner"))
    claims.append(Claim("besides", UNCHECKED, f"see sfumato verify: {BESIDES}"))
    if trusted is None or FAILS in {claim.status for claim in claims}:
        return claims
    unknown = (ORIGINAL, UNCHECKED)
    return [c._replace(status=VOUCHED) if c.status in unknown else c for c in claims]


def result_of(claims: list[Claim]) -> str:
    """What comes of all claims."""
    statuses = {claim.status for claim in claims}
    if FAILS in statuses:
        return "false"
    promised = any(claim.promise for claim in claims)
    return "verified" if promised and statuses <= {HOLDS, VOUCHED} else "not all verified"


def main(arguments: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="sfumato-verify", description="Check a release.")
    parser.add_argument("folder", type=Path, help="the shared folder, or the folder that holds it")
    parser.add_argument("--key", type=Path, help="the public key (PEM) that you trust")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    shared = (given.folder / "share" / CERTIFICATE).is_file()
    folder = given.folder / "share" if shared else given.folder
    try:
        claims = verify(folder, None if given.key is None else public_key(given.key))
    except (Refused, OSError, ValueError) as error:
        print(f"sfumato-verify: {folder / CERTIFICATE}: {error}", file=sys.stderr)
        return 5
    result = result_of(claims)
    if given.json:
        document = {"result": result, "claims": [claim._asdict() for claim in claims]}
        print(json.dumps(document, indent=1))
    else:
        print("\n".join([result, *(f"{MARKS[c.status]} {c.name}: {c.detail}" for c in claims)]))
    return CODES[result]


if __name__ == "__main__":
    sys.exit(main())
