"""All golden cases by name, and the file of their digests."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from pathlib import Path

from tests.golden.case import Case
from tests.golden.other_cases import OTHER_CASES
from tests.golden.shaped_cases import SHAPED_CASES
from tests.golden.table_cases import TABLE_CASES

CASES: dict[str, Case] = {**TABLE_CASES, **SHAPED_CASES, **OTHER_CASES}
FILE = Path(__file__).with_name("digests.json")


def read_digests() -> dict[str, dict[str, str]]:
    """Case → file → digest, as stored."""
    if not FILE.exists():
        return {}
    return json.loads(FILE.read_text(encoding="utf-8"))


def write_digests(digests: dict[str, dict[str, str]]) -> None:
    """Store digests, in the order of the cases."""
    ordered = {name: digests[name] for name in CASES if name in digests}
    FILE.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def unavailable(case: Case) -> str:
    """Why a case cannot run here; nothing where it can."""
    if not case.service:
        return ""
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed (extra services)"
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        return "there is no Java machine, which Spark needs"
    return ""
