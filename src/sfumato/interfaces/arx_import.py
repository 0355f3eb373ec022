"""Projects of ARX: the archive that its workbench saves, read as a recipe with its hierarchies and
its table.

A project (``.deid``) is a zip of XML, CSV and Java-serialised parts. What XML and CSV say is taken
over; serialised parts are never opened, and what only they hold is named as not taken over. The
archive may be anyone's: nothing is unpacked by the names it gives, every part is read up to a
bound, and XML with entities of its own is refused.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import math
import re
import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from sfumato.core import registry
from sfumato.core.fields import Document, Fields
from sfumato.core.files import MEGABYTE, require_plain
from sfumato.core.yaml_text import write_yaml
from sfumato.errors import ParameterError, RecipeError, SfumatoError, UnreadableInput

# Bounds on what is read: an archive can be made to fill memory and disk.
MOST_ARCHIVE = 16 * 1024 * MEGABYTE
MOST_XML = 16 * MEGABYTE
MOST_HIERARCHY = 256 * MEGABYTE
MOST_TABLE = 16 * 1024 * MEGABYTE
MOST_PARTS = 10_000
MOST_SWELLING = 1_000
"""How many times larger a part may be than it is in the archive; text that repeats itself is packed
to a hundredth.
"""

ROLES = {
    "IDENTIFYING_ATTRIBUTE": "drop",
    "QUASI_IDENTIFYING_ATTRIBUTE": "quasi",
    "SENSITIVE_ATTRIBUTE": "sensitive",
    "INSENSITIVE_ATTRIBUTE": "keep",
}
KINDS = {"Integer": "numeric", "Decimal": "numeric", "Date": "date", "Ordinal": "ordinal"}
SETTINGS = ("relativeMaxOutliers", "attributeWeights", "criteria", "metric")
"""Settings of a configuration that are taken over, or named one by one; of any other it is said
that it is not.
"""
OF_COLUMNS = ("name", "type", "datatype", "ref", "min", "max")
"""What is taken over of a column; anything else is named."""
WITHOUT_EFFECT = {"suppressionString": "*", "practicalMonotonicity": "false"}
"""Settings that change nothing when they have this value: it is ours too, or says that something is
off.
"""

# Numbers as Java writes them: 5, 0.2, 1.0E-4.
_NUMBER = r"(\d+(?:\.\d+)?(?:E-?\d+)?)"
_OF = r" for attribute '(.*)'"
_Model = Callable[..., Document]
CRITERIA: dict[str, _Model] = {
    rf"{_NUMBER}-anonymity": lambda k: {"k_anonymity": {"k": _whole_number(k)}},
    rf"distinct-{_NUMBER}-diversity{_OF}": lambda n, of: {
        "l_diversity": {"sensitive": of, "l": _whole_number(n)}
    },
    rf"(?:shannon-)?entropy-{_NUMBER}-diversity{_OF}": lambda n, of: {
        "l_diversity": {"sensitive": of, "l": float(n), "kind": "entropy"}
    },
    rf"recursive-\({_NUMBER},\s*{_NUMBER}\)-diversity{_OF}": lambda c, n, of: {
        "l_diversity": {"sensitive": of, "l": _whole_number(n), "c": float(c), "kind": "recursive"}
    },
    rf"{_NUMBER}-closeness with equal (?:ground-)?distance{_OF}": lambda t, of: _close(
        of, t, "equal"
    ),
    rf"{_NUMBER}-closeness with ordered (?:ground-)?distance{_OF}": lambda t, of: _close(
        of, t, "ordered"
    ),
    rf"{_NUMBER}-closeness with hierarchical (?:ground-)?distance{_OF}": lambda t, of: _close(
        of, t, "hierarchical"
    ),
    # its logarithm is that to base 2, of the values a class has
    rf"{_NUMBER}-disclosure privacy{_OF}": lambda d, of: {
        "delta_disclosure": {"sensitive": of, "delta": float(d) * math.log(2), "absent": "skip"}
    },
    rf"basic-{_NUMBER}-likeness{_OF}": lambda b, of: {
        "beta_likeness": {"sensitive": of, "beta": float(b), "kind": "basic"}
    },
    rf"enhanced-{_NUMBER}-likeness{_OF}": lambda b, of: {
        "beta_likeness": {"sensitive": of, "beta": float(b), "kind": "enhanced"}
    },
}
"""How ARX writes a privacy model → the model in a recipe. What is not here is named as not taken
over.
"""


def _whole_number(number: str) -> int:
    # A whole degree may be written 5 or 5.0.
    value = float(number)
    if not value.is_integer():
        raise RecipeError("a degree that should be a whole number is not one; correct it in ARX")
    return int(value)


def _close(of: str, t: str, distance: str) -> Document:
    return {"t_closeness": {"sensitive": of, "t": float(t), "distance": distance}}


@dataclasses.dataclass(frozen=True)
class ArxProject:
    """What a project of ARX says: a recipe as plain data, and what could not be taken over.

    ``hierarchies`` maps columns to where their hierarchy stands in the archive, ``table`` is where
    the data stands, or None.
    """

    path: Path
    name: str
    document: Fields
    hierarchies: Mapping[str, str]
    table: str | None
    not_taken: tuple[str, ...]
    version: str

    def __str__(self) -> str:
        columns = self.document["columns"]
        counts = (
            f"{len(columns)} columns, {len(self.hierarchies)} hierarchies,"
            f" {len(self.document['meet'])} promises"
        )
        head = (
            f"{self.name or self.path.name}: ARX {self.version or 'of an unknown version'},"
            f" {counts}"
        )
        return "\n".join([head, *(f"  not taken over: {sentence}" for sentence in self.not_taken)])

    def write(self, folder: str | Path) -> Path:
        """Write ``recipe.yaml``, the hierarchies and the table into a new folder, or nothing;
        return the folder.
        """
        target = Path(folder)
        if target.exists():
            raise ParameterError(f"{target} already exists; name a folder that does not")
        # Made beside the target and renamed when whole: there is a complete folder or none.
        making = target.with_name(f".{target.name}.making")
        shutil.rmtree(making, ignore_errors=True)
        try:
            self._written_to(making)
            making.rename(target)
        except OSError as error:
            raise ParameterError(f"cannot write {target}: {error.strerror}") from None
        finally:
            shutil.rmtree(making, ignore_errors=True)
        return target

    def _written_to(self, making: Path) -> None:
        # Hierarchies and the table hold values of people: nobody else may look.
        (making / "hierarchies").mkdir(parents=True, mode=0o700)
        # Files are numbered, for columns may have names that no file can have.
        files = {
            column: f"hierarchies/{number:02d}.csv"
            for number, column in enumerate(self.hierarchies, 1)
        }
        with _open_archive(self.path) as archive:
            for column, part in self.hierarchies.items():
                _copy_part(archive, part, making / files[column], MOST_HIERARCHY)
            if self.table is not None:
                _copy_part(archive, self.table, making / "data.csv", MOST_TABLE)
        document = dict(self.document)
        document["columns"] = {}
        for name, spec in self.document["columns"].items():
            document["columns"][name] = dict(spec)
            if name in files:
                document["columns"][name]["hierarchy"] = {"file": {"path": files[name]}}
        header = [f"# {line}" for line in str(self).splitlines()]
        (making / "recipe.yaml").write_text(
            "\n".join([*header, write_yaml(document)]), encoding="utf-8"
        )


def read_arx(path: str | Path) -> ArxProject:
    """Read a project of ARX (``.deid``); a damaged or hostile archive is refused."""
    file = Path(path)
    require_plain(file, limit=MOST_ARCHIVE, purpose="a project of ARX")
    with _open_archive(file) as archive:
        parts = set(archive.namelist())
        missing = [
            part
            for part in ("metadata.xml", "input/definition.xml", "input/config.xml")
            if part not in parts
        ]
        if missing:
            raise UnreadableInput(
                f"{file.name} is not a project of ARX: it has no {' and no '.join(missing)}"
            )
        reader = _Reader(archive, file.name)
        return reader.project(file, parts)


class _Reader:
    """Reads the XML of a project, and gathers what cannot be taken over."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self.archive, self.name = archive, name
        self.not_taken: list[str] = []

    def project(self, file: Path, parts: set[str]) -> ArxProject:
        definition, config = self.xml("input/definition.xml"), self.xml("input/config.xml")
        about = self.xml("project.xml") if "project.xml" in parts else None
        columns, hierarchies, levels = self.columns(definition, parts)
        # Columns that only the table has need a role too, or the recipe would not fit it.
        columns = {**columns, **self.unnamed(columns, parts, about)}
        document = {
            "sfumato": 1,
            **(
                {"delimiter": _text(about, "separator")}
                if about is not None and _text(about, "separator")
                else {}
            ),
            "columns": columns,
            "meet": self.promises(config, columns),
            "steps": [{"global_recoding": self.recoding(config, columns, levels)}],
        }
        self.settings(config, about)
        self.rest(parts)
        version = _text(self.xml("metadata.xml"), "version")
        title = _text(about, "name") if about is not None else ""
        table = "data/input.csv" if "data/input.csv" in parts else None
        return ArxProject(file, title, document, hierarchies, table, tuple(self.not_taken), version)

    def xml(self, part: str) -> Any:
        from defusedxml import ElementTree
        from defusedxml.common import DefusedXmlException

        try:
            return ElementTree.fromstring(_read_part(self.archive, part, MOST_XML))
        except DefusedXmlException:
            raise UnreadableInput(
                f"{self.name}: {part} declares entities of its own and is refused; save "
                "the project with ARX again"
            ) from None
        except ElementTree.ParseError as error:
            raise UnreadableInput(
                f"{self.name}: {part} is not XML (line {error.position[0]})"
            ) from None

    def columns(
        self, definition: Any, parts: set[str]
    ) -> tuple[dict[str, Document], dict[str, str], Document]:
        """Columns with their roles and kinds, where hierarchies stand, and bounds on levels."""
        columns: dict[str, Document] = {}
        hierarchies: dict[str, str] = {}
        levels: Document = {}
        for entry in definition.iter("assigment"):  # the vocabulary's own spelling
            name = _text(entry, "name")
            if not name:
                raise UnreadableInput(
                    f"{self.name}: input/definition.xml describes a column without a name"
                )
            # A role that is not known here must not become a harmless one: somebody decides.
            role = ROLES.get(_text(entry, "type"), "ask")
            # A format may follow the first word.
            kind = KINDS.get(_text(entry, "datatype").split(" ")[0])
            columns[name] = {"role": role, **({"kind": kind} if kind and kind != "ordinal" else {})}
            self._without_order(name, kind)
            part = f"input/{_text(entry, 'ref')}" if _text(entry, "ref") else ""
            if part in parts:
                hierarchies[name] = part
            elif part:
                self.not_taken.append(
                    f"the hierarchy of column {name!r}, which is missing from the archive"
                )
            bounds = tuple(_text(entry, end) for end in ("min", "max"))
            levels |= self._levels(name, bounds) if role == "quasi" else {}
            self._not_of_column(name, entry)
        if not columns:
            raise UnreadableInput(f"{self.name}: input/definition.xml describes no columns")
        return columns, hierarchies, levels

    def _not_of_column(self, name: str, entry: Any) -> None:
        """Name everything else that is said of a column."""
        for tag in dict.fromkeys(child.tag for child in entry if (child.text or "").strip()):
            plain = tag.lower()
            if plain == "microaggregationfunction":
                self.not_taken.append(
                    f"microaggregation of column {name!r}; add a step microaggregate if it was"
                    " in use"
                )
            elif tag not in OF_COLUMNS and not plain.startswith("microaggregation"):
                self.not_taken.append(f"the {_without_value(tag)} of column {name!r}")

    def _without_order(self, name: str, kind: str | None) -> None:
        if kind == "ordinal":
            self.not_taken.append(
                f"the order of column {name!r}: write it as 'order' with kind ordinal"
            )

    def _levels(self, name: str, bounds: tuple[str, ...]) -> Document:
        """Bounds on the level of a column; ``All`` is no bound."""
        low, high = bounds
        if not high.isdigit():
            if low.isdigit() and low != "0":
                self.not_taken.append(
                    f"the lowest level {low} of column {name!r}, which has no highest one beside it"
                )
            return {}
        return {name: [int(low) if low.isdigit() else 0, int(high)]}

    def unnamed(self, columns: Fields, parts: set[str], about: Any) -> dict[str, Document]:
        """Columns of the table that the definition does not describe: somebody has to decide."""
        if "data/input.csv" not in parts:
            return {}
        delimiter = _text(about, "separator") if about is not None else ""
        # Only names are taken from this line, so a sign that cannot be read does no harm here.
        head = _first_line(self.archive, "data/input.csv").decode("utf-8", errors="replace")
        names = next(
            csv.reader(io.StringIO(head), delimiter=delimiter if len(delimiter) == 1 else ";"), []
        )
        return {name: {"role": "ask"} for name in names if name not in columns}

    def promises(self, config: Any, columns: Fields) -> list[Document]:
        """The privacy models that have a counterpart; the others are named."""
        meet = []
        for criterion in config.iter("criterion"):
            criterion_text = (criterion.text or "").strip()
            spec = self._promise(criterion_text, columns)
            if spec is None:
                self.not_taken.append(f"the privacy model '{_without_value(criterion_text)}'")
            else:
                meet.append(spec)
        return meet

    def _promise(self, criterion_text: str, columns: Fields) -> Document | None:
        for pattern, model in CRITERIA.items():
            if (match := re.fullmatch(pattern, criterion_text)) is not None:
                try:
                    spec = model(*match.groups())
                    built = registry.build("models", spec)
                # A degree that our model refuses is named as not taken over.
                except SfumatoError:
                    return None
                # A promise about a column that is not there could never be judged.
                if set(built.about) <= set(columns):
                    return spec
                return None
        return None

    def recoding(self, config: Any, columns: Fields, levels: Fields) -> Document:
        """The step: budget, weights and bounds on levels."""
        step: Document = {"budget": min(1.0, max(0.0, _number(config, "relativeMaxOutliers", 0.0)))}
        weights = {
            _text(entry, "attribute"): _number(entry, "weight", 0.5)
            for entry in config.iter("attributeWeight")
        }
        quasi_weights = {
            n: w for n, w in weights.items() if columns.get(n, {}).get("role") == "quasi"
        }
        # Equal weights change nothing, and a recipe is shorter without them.
        if len(set(quasi_weights.values())) > 1:
            step["weights"] = quasi_weights
        if levels:
            step["levels"] = dict(levels)
        metric = _without_value(_text(config, "metric") or "none")
        self.not_taken.append(
            f"the quality model '{metric}'; the recipe searches the least loss, a mean over the "
            "columns"
        )
        return step

    def settings(self, config: Any, about: Any) -> None:
        """Name every other setting that changes a release."""
        for setting in config:
            value = (setting.text or "").strip()
            if setting.tag in SETTINGS or WITHOUT_EFFECT.get(setting.tag) == value:
                continue
            if setting.tag == "suppressedAttributeTypes":
                self.not_taken.append(
                    "which columns of a suppressed record are starred; here such records are "
                    "suppressed"
                )
            else:
                detail = f" ({_without_value(value)})" if value else ""
                self.not_taken.append(f"the setting '{_without_value(setting.tag)}'{detail}")
        for tag in ("quote", "escape"):
            if about is not None and _text(about, tag) not in ("", '"'):
                self.not_taken.append(
                    f"the {tag} character of the table; give it when you read the table"
                )

    def rest(self, parts: set[str]) -> None:
        """Name what the other parts of the archive hold."""
        if any(part.endswith(".dat") for part in parts):
            self.not_taken.append(
                "Java-serialised parts (settings of views, filters, subsets and populations), "
                "which are never opened"
            )
        if any(part.startswith("output/") for part in parts):
            self.not_taken.append(
                "the output of ARX; 'sfumato run' computes it again and judges it"
            )


def _without_value(text: str) -> str:
    """A criterion as it may be shown: the words, shortened."""
    if len(text) <= 80:
        return text
    return text[:79] + "…"


def _open_archive(path: Path) -> zipfile.ZipFile:
    """The archive, when it is one and no bomb."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError):
        raise UnreadableInput(
            f"{path.name} is not a project of ARX: it is not a zip archive, or it is damaged"
        ) from None
    # The first problem is enough to refuse the archive.
    for problem in _hostile(archive):
        archive.close()
        raise UnreadableInput(f"{path.name} is refused: {problem}")
    return archive


def _hostile(archive: zipfile.ZipFile) -> Iterator[str]:
    """Why an archive is not to be trusted."""
    parts = archive.infolist()
    if len(parts) > MOST_PARTS:
        yield f"the archive has {len(parts):,} parts; a project has at most {MOST_PARTS:,}"
    names = [part.filename for part in parts]
    # Two parts of one name: a check could see one of them, and reading the other.
    if len(set(names)) < len(names):
        yield "the archive holds two parts with the same name"
    if any(
        name.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", name) or ":" in name
        for name in names
    ):
        yield "the name of a part of the archive leads out of it"
    # Bit 0 of the flags of a zip entry marks encryption.
    if any(part.flag_bits & 1 for part in parts):
        yield "parts of the archive are encrypted"
    if any(part.file_size > MOST_SWELLING * max(1, part.compress_size) for part in parts):
        yield f"a part of the archive unpacks to more than {MOST_SWELLING:,} times its size"


def _read_part(archive: zipfile.ZipFile, part: str, limit: int) -> bytes:
    target = io.BytesIO()
    _pour(archive, part, target, limit)
    return target.getvalue()


def _copy_part(archive: zipfile.ZipFile, part: str, target: Path, limit: int) -> None:
    with target.open("xb") as handle:
        _pour(archive, part, handle, limit)
    target.chmod(0o600)


def _pour(archive: zipfile.ZipFile, part: str, target: IO[bytes], limit: int) -> None:
    """Copy a part, counting what really comes out of it: what an archive says of its sizes may be
    wrong.
    """
    size = 0
    with _part(archive, part) as source:
        while piece := source.read(MEGABYTE):
            size += len(piece)
            if size > limit:
                raise UnreadableInput(
                    f"{part} of the archive is larger than {limit // MEGABYTE:,} MB"
                )
            target.write(piece)


def _first_line(archive: zipfile.ZipFile, part: str) -> bytes:
    with _part(archive, part) as source:
        # A bound, for a table without line ends would be read whole.
        return source.readline(MEGABYTE)


@contextlib.contextmanager
def _part(archive: zipfile.ZipFile, part: str) -> Iterator[IO[bytes]]:
    """A part to read from; one that is damaged is refused."""
    try:
        with archive.open(part) as source:
            yield source
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, zlib.error):
        raise UnreadableInput(f"{part} of the archive is damaged") from None


def _text(element: Any, tag: str) -> str:
    child = element.find(tag)
    if child is None or child.text is None:
        return ""
    return str(child.text).strip()


def _number(element: Any, tag: str, otherwise: float) -> float:
    try:
        return float(_text(element, tag))
    except ValueError:
        return otherwise
