"""Random small releases, true ones and forged ones, and what the checkers must agree on."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import random
import shutil
from pathlib import Path

import sfumato as sf
from sfumato.core import recipe_files
from sfumato.errors import SfumatoError
from sfumato.release.signatures import digest_of

ROOT = Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location(
    "sfumato_verify", ROOT / "verifier" / "sfumato_verify.py"
)
sfumato_verify = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sfumato_verify)

SHARED = (
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
"""Claims that the checkers decide alike; of promises and limits each one besides."""
FAILS_ONLY = ("steps", "labels of recoded columns")
"""Claims of which the small checkers see a part: what they find false is false."""
ORDER = ("holds", "vouched", "not checked", "needs original", "fails")
WORDS = ["asthma", "=flu", 'he said "no"', "a, b", "x;y", "naïve", "Zoë\tZ", "line\nend", "-", "0x"]


# Releases.


def random_release(seed: int, folder: Path) -> Path | None:
    """A shared folder with a release of a random table; None where nothing could be released."""
    rng = random.Random(seed)
    rows = rng.choice([0, 6, 12, 25, 40, 60]) if seed % 29 == 0 else rng.choice([12, 25, 40, 60])
    delimiter = rng.choice([",", ",", ";", "\t"])
    form = rng.choice(["csv", "csv", "jsonl"])
    gaps = rng.choice([0, 0, 0.1])
    table = {
        "name": [f"n{i}" for i in range(rows)],
        "age": [
            rng.choice(["", 20 + rng.randrange(40)])
            if rng.random() < gaps
            else 20 + rng.randrange(40)
            for _ in range(rows)
        ],
        "sex": [rng.choice(["f", "m"]) for _ in range(rows)],
        "place": [
            rng.choice(["", "north", "south", "east"] if gaps else ["north", "south"])
            for _ in range(rows)
        ],
        "ill": [rng.choice(WORDS[: rng.choice([3, 6, 10])]) for _ in range(rows)],
        "pay": [rng.choice([100, 150.5, 150.5, 200, 333, 1e6]) for _ in range(rows)],
        "born": [f"19{rng.randrange(50, 53)}-0{rng.randrange(1, 9)}-11" for _ in range(rows)],
    }
    if rng.random() < 0.15:
        table["who"] = [f"p{rng.randrange(max(1, rows // 2))}" for _ in range(rows)]
    if rng.random() < 0.15:
        table["mass"] = [rng.choice([1, 2.5, 40]) for _ in range(rows)]
    source = folder / ("data.tsv" if delimiter == "\t" else "data.csv")
    folder.mkdir(parents=True)
    quoted = [
        [f'"{str(c).replace(chr(34), chr(34) * 2)}"' for c in row]
        for row in zip(*table.values(), strict=True)
    ]
    lines = [delimiter.join(table), *(delimiter.join(row) for row in quoted)]
    source.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    columns = {
        "name": {"role": "drop"},
        "age": {
            "role": "quasi",
            "kind": "numeric",
            "hierarchy": {"intervals": {"widths": [10, 20]}},
        },
        "sex": {"role": "quasi", "hierarchy": {"suppress": {}}},
        "place": {"role": "quasi", "hierarchy": {"suppress": {}}},
        "ill": {"role": "sensitive"},
        "pay": {"role": "sensitive", "kind": "numeric"},
        "born": {"role": "sensitive", "kind": "date"},
        **({"who": {"role": "person"}} if "who" in table else {}),
        **({"mass": {"role": "weight"}} if "mass" in table else {}),
    }
    if gaps and "who" not in table and rng.random() < 0.5:
        columns["place"]["missing"] = "wildcard"
    recipe = {
        "sfumato": 1,
        "columns": columns,
        "meet": _promises(rng),
        "steps": _steps(rng),
        "limits": rng.choice([{}, {}, {"marketer_risk": 0.9, "records_at_risk": 0.95}]),
    }
    options = sf.WriteOptions(defuse=form == "csv" and rng.random() < 0.3)
    try:
        made = recipe_files.any_from_dict(recipe)
        release = sf.run(source, made, seed=seed, options=sf.RunOptions(format=form))
        release.write(folder / "out", options=options)
    except SfumatoError as error:
        if os.environ.get("TELL"):
            print(seed, error)
        return None
    return folder / "out" / "share"


def _steps(rng):
    recoding = {"global_recoding": {"budget": rng.choice([0, 0.1, 0.5])}}
    cells = {"global_recoding": {"budget": 0.6, "suppress": "cell"}}
    return rng.choice([[recoding], [recoding], [{"mondrian": {}}], [cells]])


def _promises(rng):
    sensitive = rng.choice(["ill", "pay", "born", ["ill", "pay"]])
    one = sensitive if isinstance(sensitive, str) else "pay"
    number = rng.choice(["pay", "born"])
    recursive = {"kind": "recursive", "c": rng.choice([2.0, 4.0])}
    return rng.sample(
        [
            {"k_anonymity": {"k": rng.choice([2, 3, 5])}},
            {"p_sensitive": {"sensitive": sensitive, "p": 2, "k": 2}},
            {"l_diversity": {"sensitive": sensitive, "l": 2}},
            {"l_diversity": {"sensitive": one, "l": rng.choice([1.5, 2]), "kind": "entropy"}},
            {"l_diversity": {"sensitive": one, "l": 2, **recursive}},
            {"alpha_k_anonymity": {"sensitive": one, "alpha": rng.choice([0.7, 0.9]), "k": 2}},
            {"t_closeness": {"sensitive": sensitive, "t": rng.choice([0.6, 0.9])}},
            {
                "t_closeness": {
                    "sensitive": number,
                    "t": rng.choice([0.5, 0.8]),
                    "distance": "ordered",
                }
            },
            {
                "t_closeness": {
                    "sensitive": "pay",
                    "t": rng.choice([0.5, 0.8]),
                    "distance": "numeric",
                }
            },
            {"t_closeness": {"sensitive": "ill", "t": 5, "distance": "multiplicative"}},
            {"t_closeness": {"sensitive": one, "t": 0.9, "reference": "released"}},
            {"beta_likeness": {"sensitive": one, "beta": rng.choice([3, 8])}},
            {"beta_likeness": {"sensitive": one, "beta": 8, "kind": "enhanced"}},
            {"delta_disclosure": {"sensitive": one, "delta": 3, "absent": "skip"}},
            {"maximum_risk": {"threshold": 0.5}},
        ],
        rng.choice([1, 2, 2, 3]),
    )


# Forgeries: each changes something and seals the certificate again, as anybody can.


def forge(seed: int, share: Path, folder: Path) -> tuple[str, Path]:
    """A copy of a shared folder in which something was changed, and what."""
    rng = random.Random(seed)
    shutil.copytree(share, folder)
    name = rng.choice(list(FORGERIES))
    certificate = json.loads((folder / "certificate.json").read_text("utf-8"))
    FORGERIES[name](rng, certificate, folder)
    return name, folder


def seal(certificate, folder):
    """Write a certificate again, with the files as they are now."""
    data = certificate["data"]["file"]
    content = (folder / data).read_bytes()
    certificate["data"]["sha256"] = hashlib.sha256(content).hexdigest()
    for name in certificate["files"]:
        if (folder / name).exists():
            content = (folder / name).read_bytes()
            certificate["files"][name] = {
                "sha256": hashlib.sha256(content).hexdigest(),
                "bytes": len(content),
            }
    certificate["digest"] = digest_of(certificate)
    text = json.dumps(certificate, indent=2, ensure_ascii=False)
    (folder / "certificate.json").write_text(text, encoding="utf-8")


def _edit_data(rng, certificate, folder, *, sealed):
    file = folder / certificate["data"]["file"]
    text = file.read_text("utf-8")
    old, new = rng.choice(
        [("f", "m"), ("m", "f"), ("north", "south"), ("1", "2"), ("flu", "asthma")]
    )
    file.write_text(text.replace(old, new, rng.choice([1, 2])), encoding="utf-8", newline="")
    if sealed:
        seal(certificate, folder)


def _drop_row(rng, certificate, folder):
    file = folder / certificate["data"]["file"]
    lines = file.read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[:-1]), encoding="utf-8", newline="")
    if rng.random() < 0.5:
        certificate["data"]["rows"] -= 1
    seal(certificate, folder)


def _edit_digest(rng, certificate, folder):
    certificate["shuffled"] = not certificate["shuffled"]
    text = json.dumps(certificate, indent=2, ensure_ascii=False)
    (folder / "certificate.json").write_text(text, encoding="utf-8")


def _better_verdict(rng, certificate, folder):
    entry = rng.choice(certificate["verdicts"])
    part = rng.choice(
        ["attained", "required", "failing_classes", "failing_records", "model", "missing_rule"]
    )
    if part == "model":
        entry["model"] = "k_map"
    elif part == "missing_rule":
        entry[part] = "wildcard" if entry[part] == "category" else "category"
    elif part in ("attained", "required"):
        entry[part] = (entry[part] or 0) * 2 + 1
    else:
        entry[part] += 1
    seal(certificate, folder)


def _stronger_promise(rng, certificate, folder):
    spec, entry = rng.choice(
        list(zip(certificate["recipe"]["meet"], certificate["verdicts"], strict=True))
    )
    (fields,) = spec.values()
    name = rng.choice([n for n, v in fields.items() if isinstance(v, (int, float))])
    fields[name] = rng.choice([fields[name] + 1, fields[name] / 2, 0, -1])
    entry["required"] = fields[name]
    seal(certificate, folder)


def _broken_verdict(rng, certificate, folder):
    rng.choice(certificate["verdicts"])["holds"] = False
    seal(certificate, folder)


def _fewer_quasi(rng, certificate, folder):
    column = rng.choice(["age", "sex", "place"])
    certificate["roles"][column] = ["keep"]
    certificate["missing_rule"].pop(column, None)
    if rng.random() < 0.5:
        certificate["recipe"]["columns"][column]["role"] = "keep"
    seal(certificate, folder)


def _other_sizes(rng, certificate, folder):
    part = rng.choice(["sizes", "count", "smallest", "risks", "risk_threshold"])
    section = certificate["classes"]
    if part == "sizes":
        section[part]["99"] = 1
    elif part == "risks":
        section[part]["marketer_risk"] = 0.01
    else:
        section[part] = (section[part] or 0) + 1
    seal(certificate, folder)


def _stray_file(rng, certificate, folder):
    (folder / "more.csv").write_text("name\nAnna\n", encoding="utf-8")


def _listed_file(rng, certificate, folder):
    (folder / "more.csv").write_text("name\nAnna\n", encoding="utf-8")
    certificate["files"]["more.csv"] = {}
    seal(certificate, folder)


def _missing_report(rng, certificate, folder):
    (folder / "report.html").unlink()


def _direct_identifier(rng, certificate, folder):
    column = rng.choice(["sex", "ill"])
    certificate["recipe"]["columns"][column]["role"] = "drop"
    seal(certificate, folder)


def _no_promise(rng, certificate, folder):
    certificate["recipe"]["meet"], certificate["verdicts"] = [], []
    if rng.random() < 0.5:
        certificate["limits"], certificate["recipe"]["limits"] = [], {}
    seal(certificate, folder)


def _other_limit(rng, certificate, folder):
    entry = {"name": "prosecutor_risk", "value": 0.01, "limit": 0.5, "holds": True, "refuses": True}
    certificate["limits"].append(entry)
    certificate["recipe"].setdefault("limits", {})["prosecutor_risk"] = rng.choice([0.5, 0.4])
    seal(certificate, folder)


def _more_suppressed(rng, certificate, folder):
    certificate["suppressed_records"] = (certificate["suppressed_records"] or 0) + rng.choice(
        [1, 30]
    )
    seal(certificate, folder)


def _wrong_type(rng, certificate, folder):
    types = certificate["data"]["form"]["types"]
    types[rng.choice(list(types))] = rng.choice(["integer", "date", "boolean", "text"])
    seal(certificate, folder)


def _unknown_field(rng, certificate, folder):
    rng.choice([certificate, certificate["data"], certificate["classes"]])["trust"] = "me"
    seal(certificate, folder)


def _missing_field(rng, certificate, folder):
    del certificate[rng.choice(["verdicts", "classes", "roles", "limits", "versions"])]
    seal(certificate, folder)


def _wild_gaps(rng, certificate, folder):
    certificate["missing_rule"]["place"] = "wildcard"
    seal(certificate, folder)


def _truth(rng, certificate, folder):
    seal(certificate, folder)


FORGERIES = {
    "edited cell": lambda *a: _edit_data(*a, sealed=False),
    "edited cell, sealed": lambda *a: _edit_data(*a, sealed=True),
    "row gone": _drop_row,
    "edited certificate": _edit_digest,
    "better verdict": _better_verdict,
    "stronger promise": _stronger_promise,
    "broken verdict": _broken_verdict,
    "fewer quasi-identifiers": _fewer_quasi,
    "other sizes": _other_sizes,
    "stray file": _stray_file,
    "listed file": _listed_file,
    "report gone": _missing_report,
    "direct identifier": _direct_identifier,
    "no promise": _no_promise,
    "other limit": _other_limit,
    "more suppressed": _more_suppressed,
    "wrong type": _wrong_type,
    "unknown field": _unknown_field,
    "missing field": _missing_field,
    "wildcards": _wild_gaps,
    "sealed again": _truth,
}


# What the checkers say.


def by_name(claims):
    """The worst status of every claim, promises and limits by their number."""
    statuses = {}
    for name, status in claims:
        worst = max(statuses.get(name, status), status, key=ORDER.index)
        statuses[name] = worst
    return statuses


def main_says(share, key=None):
    """Result and statuses of ``sfumato verify``."""
    try:
        verification = sf.verify(share, trusted_key=key)
    except SfumatoError:
        return "refused", {}
    pairs, promises, limits = [], 0, 0
    for claim in verification.claims:
        name = claim.name
        if claim.promise and claim.section == "verdicts" and name != "promises":
            promises += 1
            name = f"promise {promises}"
        elif claim.promise and claim.section == "limits":
            limits += 1
            name = f"limit {limits}"
        pairs.append((name, claim.status))
    return verification.result, by_name(pairs)


def alone_says(share, key=None):
    """Result and statuses of the one file."""
    try:
        claims = sfumato_verify.verify(share, key)
    except (sfumato_verify.Refused, OSError):
        return "refused", {}
    pairs = [(claim.name, claim.status) for claim in claims]
    return sfumato_verify.result_of(claims), numbered(pairs)


def numbered(pairs):
    """Statuses by name, with promises and limits by their number."""
    limits, named = 0, []
    for name, status in pairs:
        short = name
        if name.startswith("promise "):
            short = name.partition(":")[0]
        elif name.startswith("limit: "):
            limits += 1
            short = f"limit {limits}"
        named.append((short, status))
    return by_name(named)


def disagreements(main, other):
    """Where a checker says something else than ``sfumato verify``, in words."""
    (result, claims), (own_result, own_claims) = main, other
    problems = []
    if result == "refused" or own_result == "refused":
        # what is refused is never called true, by anybody
        calm = {result, own_result} <= {"refused", "false"}
        return [] if calm else [f"result {result} and {own_result}"]
    if own_result == "false" and result != "false":
        problems.append(f"false here, {result} there")
    if claims.get("classes") == own_claims.get("class sizes and risks") == "fails":
        return problems  # nothing forms classes: the other claims are made by one of them only
    for name in {*claims, *own_claims}:
        theirs, ours = claims.get(name), own_claims.get(name)
        if name in FAILS_ONLY and ours == "fails" and theirs != "fails":
            problems.append(f"{name}: {theirs} and {ours}")
        shared = name in SHARED or name.startswith(("promise ", "limit "))
        if theirs is None and ours == "holds" and result == "false":
            continue  # a recipe that nobody can read ends some claims there
        if shared and ours != "not checked" and theirs != ours:
            problems.append(f"{name}: {theirs} and {ours}")
    return problems
