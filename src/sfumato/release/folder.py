"""A written release read back: for attacks and comparisons with the original, and to add what they
found.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sfumato.core.exchange import in_place
from sfumato.core.fields import Document, Fields
from sfumato.core.randomness import Seed
from sfumato.core.shape import Shape, known_shapes
from sfumato.errors import ParameterError, UnreadableInput
from sfumato.release.certificate_files import read_certificate
from sfumato.release.documents import commitment, plain_json
from sfumato.release.manifest import folder_claim
from sfumato.release.pairs import pair_persons, pair_table, read_alignment
from sfumato.release.publish import linked
from sfumato.release.replay import (
    ReplayInputs,
    as_released,
    in_parts,
    is_same,
    locked_recipe,
    make_table_again,
    read_lock,
)
from sfumato.release.sealing import seal
from sfumato.release.shared_folder import SharedFolder
from sfumato.release.table_sections import sections
from sfumato.release.written_files import (
    ALIGNMENT,
    ORIGINAL_PERSON,
    ORIGINAL_ROW,
    read_json,
    replace_file,
)

if TYPE_CHECKING:
    from sfumato.core.pair import TablePair
    from sfumato.core.recipe import Recipe
    from sfumato.core.table import Table
    from sfumato.data.lazy.table import LazyTable


# Reading what stays with the owner of a release.


def read_owner_record(folder: Path, certificate: Fields) -> Document:
    """The owner's record of a release, which must go with this certificate."""
    file = folder / "release.json"
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except OSError:
        raise UnreadableInput(f"{file} is missing or cannot be read") from None
    except ValueError:
        raise UnreadableInput(f"{file} is not valid JSON; it was damaged or edited") from None
    own = record.get("certificate", {}) if isinstance(record, dict) else {}
    if not isinstance(own, dict) or own.get("digest") != certificate.get("digest"):
        raise UnreadableInput(
            f"{file} does not belong to the certificate beside it; explain the share folder alone"
        )
    return dict(record)


@dataclasses.dataclass(frozen=True, eq=False)
class Folder:
    """The folder a release was written to: what is shared, and what its owner keeps, whatever the
    shape of the data.
    """

    folder: Path
    certificate: Document
    record: Document
    released: Any
    recipe: Recipe

    @property
    def made_for(self) -> str:
        """The format whose values were distinguished in the original from the start."""
        first = next(iter(sections(self.certificate).values()))
        lock = read_lock(self.folder / "owner") or {}
        return str(lock.get("made_for", first["format"]))

    @property
    def seed(self) -> Seed:
        """The seed of the release: ``run`` and ``attack`` try with it, and so does ``verify``."""
        lock = read_json(self.folder / "owner" / "lock.json")
        try:
            return Seed.of(lock["seed"])
        except (KeyError, TypeError, ParameterError):
            raise UnreadableInput(f"{self.folder / 'owner' / 'lock.json'} holds no seed") from None

    def require_committed(self, name: str, digests: Iterable[str]) -> None:
        """Raise unless an input with one of these digests is the one that the release was made
        from.
        """
        lock = read_json(self.folder / "owner" / "lock.json")
        try:
            salt, value = lock["salt"], self.certificate["input_commitment"]["value"]
            is_committed = value in (commitment(digest, salt) for digest in digests)
        except (KeyError, TypeError, ValueError):
            raise UnreadableInput(
                f"{self.folder / 'owner' / 'lock.json'} does not belong to the certificate"
            ) from None
        if not is_committed:
            raise UnreadableInput(
                f"{name} is not the original table of this release, row for row: it does not match "
                "the fingerprint in the certificate; give the file that was anonymized"
            )

    def require_key(self, sign: Path | None) -> None:
        """Raise unless what is found can be added: a signed certificate is signed again or left as
        it is.
        """
        if "signature" in self.certificate and sign is None:
            raise ParameterError(
                "the certificate is signed; give the key (--sign) to sign the additions too"
            )

    def add(
        self,
        key: str,
        section: Fields,
        *,
        sign: Path | None = None,
        owner_files: Mapping[str, bytes] = MappingProxyType({}),
        draft: bool = False,
    ) -> None:
        """Write what was found into the certificate, and make both reports again: all of it or
        nothing.

        ``owner_files`` are written into the owner's folder with it. A ``draft`` is a folder that
        nobody sees yet: it is changed as it stands.
        """
        self.require_key(sign)
        if any(not step.replayable for step in self.recipe.steps):
            raise ParameterError(
                "this release certifies an ε; what is found by comparing it with the original"
                " cannot be published with it; leave out --certify, then it is only shown"
            )
        untouched = folder_claim(self.certificate, self.folder / "share")
        if untouched.status == "fails":
            raise UnreadableInput(
                f"{self.folder / 'share'} was changed after it was certified: {untouched.detail}"
            )
        body = plain_json({**self.certificate, **self.record.get("words", {}), key: dict(section)})
        with contextlib.ExitStack() as stack:
            target = self.folder
            if not draft:
                target = stack.enter_context(in_place(self.folder, force=True))
                shutil.copytree(self.folder, target, dirs_exist_ok=True, copy_function=linked)
            for name, data in owner_files.items():
                replace_file(target / "owner" / name, data)
            pictures = (target / "share" / "pictures").is_dir()
            seal(target, body, self.record, sign=sign, pictures=pictures)

    def beside(self, original: Any, population: Table | None = None) -> Any:
        """The release beside the original it was made from, as the owner's alignment says: a pair
        of their shape.

        Another original, or the same with its rows in another order, is refused: who is who would
        be wrong without a word. A release in parts has no alignment: it is made again from the
        lock, must come out the same, and gives its sample.
        """
        original = as_released(self.certificate, original)
        if in_parts(self.certificate):
            return self._sampled(original, population)
        is_table = original.may_be_held()
        column = ORIGINAL_ROW if is_table else ORIGINAL_PERSON
        origin = read_alignment(
            self.folder / "owner" / ALIGNMENT, self.released.size, original.size, column
        )
        self.require_committed(original.source.name, _digests(original))
        if is_table:
            return pair_table(self, original, origin)
        return pair_persons(self, original, origin)

    def _sampled(self, original: LazyTable, population: Table | None) -> TablePair:
        """The sample that the release was measured on."""
        self.require_committed(original.source.name, _digests(original))
        lock = {**read_json(self.folder / "owner" / "lock.json"), "seed": self.seed.text}
        release = make_table_again(
            self.certificate, original, self.recipe, lock, ReplayInputs(population=population)
        )
        if not is_same(release, self.released, self.certificate):
            raise UnreadableInput(
                f"{self.folder} does not contain what recipe and seed produce from "
                f"{original.source.name}; sfumato verify shows the differences"
            )
        return release.pair


def require_both(folder: Path) -> None:
    """Raise unless ``share/`` and ``owner/`` are both there."""
    if not folder.is_dir():
        raise UnreadableInput(f"folder {folder} does not exist; give the one that run wrote")
    if not (folder / "owner").is_dir():
        if (folder / "certificate.json").is_file():
            hint = "the folder that holds share and owner"
        else:
            hint = "what run wrote"
        raise UnreadableInput(f"{folder} has no owner folder; give {hint}")


def read_release(folder: Path) -> Folder:
    """Read back what ``run`` wrote, whatever the shape of the data: ``share/`` and ``owner/`` must
    both be there.
    """
    require_both(folder)
    certificate = read_certificate(folder / "share", *known_shapes())
    shape = Shape(certificate["shape"])
    record = read_owner_record(folder / "owner", certificate)
    lock = folder / "owner" / "lock.json"
    if not lock.is_file():
        raise UnreadableInput(f"{lock} is missing or cannot be read")
    recipe = locked_recipe(folder / "owner", shape)
    if recipe is None:
        raise UnreadableInput(f"{lock} holds no readable recipe")
    return Folder(
        folder, certificate, record, SharedFolder(folder / "share", certificate).released, recipe
    )


def read_table_release(folder: Path) -> Folder:
    """The same of one table; a release of data of another shape is refused."""
    require_both(folder)
    read_certificate(folder / "share", Shape.TABLE)
    return read_release(folder)


def _digests(original: Any) -> Iterator[str]:
    """The file that was read; and the data themselves, if they were anonymized from a frame and are
    read from a file now.
    """
    yield original.input_digest()
    if original.source.digest is not None:
        yield dataclasses.replace(
            original, source=dataclasses.replace(original.source, digest=None)
        ).input_digest()
