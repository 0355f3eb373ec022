"""A written release read back: for attacks and comparisons with the original, and to add what they found."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sfumato.core import recipe_files as recipes
from sfumato.core.dataset import NOBODY, Dataset
from sfumato.core.pair import Pair, levels_of
from sfumato.core.randomness import Seed
from sfumato.data.lazy.table import LazyTable
from sfumato.data.table.indistinct import made_one
from sfumato.data.table.run import describe_table
from sfumato.errors import ParameterError, SfumatoError, UnreadableInput
from sfumato.release.certificates import read_certificate
from sfumato.release.documents import commitment, plain_json
from sfumato.release.exchange import in_place
from sfumato.release.manifest import folder_claim
from sfumato.release.publish import PEOPLE, linked, seal
from sfumato.release.replay import as_released, digest_of_table, is_same, made_again
from sfumato.release.verify import read_released

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.recipe import Recipe


# Reading what stays with the owner of a release.


def read_owner_record(folder: Path, certificate: Mapping[str, Any]) -> dict[str, Any]:
    """The owner's record of a release, which must go with this certificate."""
    file = folder / "release.json"
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except OSError:
        raise UnreadableInput(f"{file} is not there or cannot be read") from None
    except ValueError:
        raise UnreadableInput(f"{file} is not valid JSON; it was damaged or edited") from None
    own = record.get("certificate", {}) if isinstance(record, dict) else {}
    if not isinstance(own, dict) or own.get("digest") != certificate.get("digest"):
        raise UnreadableInput(f"{file} does not belong to the certificate beside it; explain the share folder alone")
    return dict(record)


@dataclasses.dataclass(frozen=True, eq=False)
class Folder:
    """The folder a release was written to: what is shared, and what its owner keeps, whatever the shape of the data."""

    folder: Path
    certificate: dict[str, Any]
    record: dict[str, Any]
    released: Any
    recipe: Any

    def require_committed(self, name: str, digests: Iterable[str]) -> None:
        """Raise unless an input with one of these digests is the one that the release was made from."""
        lock = read_json(self.folder / "owner" / "lock.json")
        try:
            salt, value = lock["salt"], self.certificate["input_commitment"]["value"]
            known = value in (commitment(digest, salt) for digest in digests)
        except (KeyError, TypeError, ValueError):
            raise UnreadableInput(f"{self.folder / 'owner' / 'lock.json'} does not go with the certificate") from None
        if not known:
            raise UnreadableInput(
                f"{name} is not the table this release was made from, row for row: the commitment in "
                "its certificate does not open; give the file that was anonymized"
            )

    def require_key(self, sign: Path | None) -> None:
        """Raise unless what is found can be added: a signed certificate is signed again or left as it is."""
        if "signature" in self.certificate and sign is None:
            raise ParameterError("the certificate is signed; give the key (--sign) to sign what is added to it too")

    def add(self, key: str, found: Mapping[str, Any], *, sign: Path | None = None) -> None:
        """Write what was found into the certificate, and make both reports again: all of it or nothing."""
        self.require_key(sign)
        if any(not step.replayable for step in self.recipe.steps):
            raise ParameterError(
                "this release certifies an ε; what is found by comparing it with the original cannot be published with it "
                "(--no-keep looks without writing)"
            )
        untouched = folder_claim(self.certificate, self.folder / "share")
        if untouched.status == "fails":
            raise UnreadableInput(f"{self.folder / 'share'} was changed since it was certified: {untouched.detail}")
        body = plain_json({**self.certificate, key: dict(found)})
        with in_place(self.folder, force=True) as made:
            shutil.copytree(self.folder, made, dirs_exist_ok=True, copy_function=linked)
            seal(made, body, self.record, sign=sign, pictures=(made / "share" / "pictures").is_dir())


class WrittenRelease(Folder):
    """The folder a release of a table was written to."""

    released: Dataset | LazyTable
    recipe: Recipe

    def beside(self, original: Dataset | LazyTable, population: Dataset | None = None) -> Pair:
        """The release beside the original it was made from, as the owner's alignment says.

        Another table, or the same with its rows in another order, is refused: who is who would be wrong without a word. A
        release in parts has no alignment: it is made again from the lock, must come out the same, and gives its sample.
        """
        original = as_released(self.certificate, original)
        if isinstance(original, LazyTable) or isinstance(self.released, LazyTable):
            return self._sampled(original, population)
        format = self.certificate["data"].get("format", "csv")  # noqa: A001
        table, _ = made_one(describe_table(original, self.recipe), format)
        rows = read_alignment(self.folder / "owner" / "alignment.parquet", len(self.released), len(original))
        self.require_committed(original.source.name, _digests(original))
        learnt_from, held_out = _people(self.folder / "owner" / PEOPLE, len(original))
        released = dataclasses.replace(self.released, origin=rows)
        levels = levels_of(self.certificate["plan"])
        return Pair(table, released, rows, levels, learnt_from=learnt_from, held_out=held_out)

    def _sampled(self, original: Dataset | LazyTable, population: Dataset | None) -> Pair:
        """The sample that the release was measured on."""
        self.require_committed(original.source.name, _digests(original))
        lock = read_json(self.folder / "owner" / "lock.json")
        try:
            seed = Seed.of(lock["seed"])
        except (KeyError, TypeError, ParameterError):
            raise UnreadableInput(f"{self.folder / 'owner' / 'lock.json'} holds no seed") from None
        again = made_again(self.certificate, original, self.recipe, seed, population, None)
        if not is_same(again, self.released, self.certificate):
            raise UnreadableInput(
                f"{self.folder} does not hold what recipe and seed make of {original.source.name}; sfumato verify says what differs"
            )
        return again.pair


def require_both(folder: Path) -> None:
    """Raise unless ``share/`` and ``owner/`` are both there."""
    if not folder.is_dir():
        raise UnreadableInput(f"{folder}: there is no such folder; give what run wrote")
    if not (folder / "owner").is_dir():
        told = "the folder that holds share and owner" if (folder / "certificate.json").is_file() else "what run wrote"
        raise UnreadableInput(f"{folder} has no owner folder; give {told}")


def read_release(folder: Path) -> WrittenRelease:
    """Read back what ``run`` wrote of a table: ``share/`` and ``owner/`` must both be there."""
    require_both(folder)
    certificate = read_certificate(folder / "share")
    record = read_owner_record(folder / "owner", certificate)
    lock = read_json(folder / "owner" / "lock.json")
    try:
        recipe = recipes.from_dict(lock["recipe"])
    except (KeyError, TypeError, SfumatoError):
        raise UnreadableInput(f"{folder / 'owner' / 'lock.json'} holds no recipe that can be read") from None
    return WrittenRelease(folder, certificate, record, read_released(folder / "share", certificate), recipe)


def _digests(original: Dataset | LazyTable) -> Iterator[str]:
    """The file that was read; and the table as CSV, if it was anonymized from a frame and is read from a file now."""
    yield digest_of_table(original)
    if isinstance(original, LazyTable):
        if original.source.digest is not None:
            yield dataclasses.replace(original, source=dataclasses.replace(original.source, digest=None)).digest
        return
    yield dataclasses.replace(original, source=dataclasses.replace(original.source, digest=None)).input_digest()


def read_alignment(file: Path, released: int, original: int, column: str = "original_row") -> NDArray[np.int64]:
    """Which row (or person) of the original every released one is, −1 for nobody's; refused where the numbers do not fit."""
    try:
        rows = pl.read_parquet(file)[column].to_numpy().astype(np.int64)
    except (OSError, pl.exceptions.PolarsError):
        raise UnreadableInput(f"{file} is not there or cannot be read") from None
    if len(rows) != released or (len(rows) and not NOBODY <= int(rows.min()) <= int(rows.max()) < original):
        raise UnreadableInput(
            f"{file} does not fit: {len(rows):,} rows aligned, {released:,} released, {original:,} in the original; "
            "is this the table the release was made from?"
        )
    return rows


def _people(file: Path, original: int) -> tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]:
    """The rows that drawn ones were learnt from, and those set aside before; None where there are none."""
    if not file.is_file():
        return None, None
    try:
        known = pl.read_parquet(file).select(pl.col("original_row").cast(pl.Int64), pl.col("held_out").cast(pl.Boolean))
    except (OSError, pl.exceptions.PolarsError):
        raise UnreadableInput(f"{file} cannot be read") from None
    rows, aside = known["original_row"].to_numpy(), known["held_out"].to_numpy().astype(bool)
    if known.null_count().sum_horizontal().item() or (len(rows) and not 0 <= rows.min() <= rows.max() < original):
        raise UnreadableInput(f"{file} does not fit the original; is this the table the release was made from?")
    return rows[~aside], rows[aside] if aside.any() else None


def read_json(file: Path) -> dict[str, Any]:
    """What a file of the owner holds; an empty one where it is no mapping."""
    try:
        loaded = json.loads(file.read_text(encoding="utf-8"))
    except OSError:
        raise UnreadableInput(f"{file} is not there or cannot be read") from None
    except ValueError:
        raise UnreadableInput(f"{file} is not valid JSON; it was damaged or edited") from None
    return loaded if isinstance(loaded, dict) else {}
