"""A release that asks a register first and is written down in it, as the command line, the
workbench and scripts make it.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sfumato.core.fields import Document
from sfumato.errors import ParameterError, ReleaseRefused, SfumatoError
from sfumato.release.manifest import FILE
from sfumato.release.release import WriteOptions
from sfumato.release.written_files import read_json

if TYPE_CHECKING:
    from sfumato.release.register.joint_disclosure import Together
    from sfumato.release.register.memory import Newcomer, Remembered
    from sfumato.release.register.store import Register
    from sfumato.release.release import Release
    from sfumato.release.table_release import TableRelease


@dataclasses.dataclass
class Remembering:
    """A run with a register, or without one: then nothing happens."""

    register: Register | None = None
    to: str = ""
    person: tuple[str, ...] = ()
    found: Together | None = None
    number: int | None = None

    @property
    def memory(self) -> Remembered | None:
        """What a limit on all releases together is compared with: ``memory=``
        of :func:`sfumato.run`.
        """
        if self.register is None:
            return None
        from sfumato.release.register.memory import Remembered

        return Remembered(self.register, self.person)

    def write(
        self,
        release: TableRelease,
        folder: str | Path,
        options: WriteOptions = WriteOptions(),
        **how: Any,
    ) -> Path:
        """Write a release as :meth:`Release.write` does, planned in the register before and entered
        after; ``found`` says what it tells with others.
        """
        elsewhere = options.into is not None
        with self.registered(release, Path(folder), elsewhere=elsewhere) as enter:
            folder_written = release.write(folder, options=options, **how)
            enter(folder_written)
        return folder_written

    def together(self, release: TableRelease) -> Together:
        """What a release tells together with those of the register, before anything is written."""
        if self.register is None:
            raise ParameterError("there is no register to ask")
        return self._newcomer(self.register, release).together()

    @contextlib.contextmanager
    def registered(
        self, release: Release, folder: Path, *, elsewhere: bool = False
    ) -> Iterator[Callable[[Path], None]]:
        """Plan the release in the register, let it be written, and say that it was; one that was
        not written counts no more.

        One of which anything may stand, in the folder or ``elsewhere`` (a table of a database),
        stays planned and counts.
        """
        if self.register is None:
            yield lambda _: None
            return
        stood = _digest(folder)
        # Only tables are registered: other data refuse the option.
        self._plan_release(self.register, cast("TableRelease", release), folder)
        digests: list[str | None] = []
        try:
            yield lambda folder_written: digests.append(_digest(folder_written))
        finally:
            if digests or not (elsewhere or _digest(folder) != stood):
                with self.register.turn():
                    state: Any = "released" if digests else "withdrawn"
                    self.register.now_is(
                        int(self.number or 0), state, certificate=digests[0] if digests else None
                    )

    def _newcomer(self, register: Register, release: TableRelease) -> Newcomer:
        from sfumato.release.register.memory import Newcomer

        privacy = release.certified
        private = None if privacy is None else privacy.to_dict()
        return Newcomer.of(register, release.pair, person=self.person, private=private)

    def _plan_release(self, register: Register, release: TableRelease, folder: Path) -> None:
        from sfumato.release.register.joint_disclosure import NAME

        newcomer = self._newcomer(register, release)
        with register.turn():  # nobody registers anything between looking and writing down
            self.found = newcomer.together()
            limit = release.recipe.limits.get(NAME)
            if limit is not None and not (limit_check := self.found.kept(float(limit))):
                raise ReleaseRefused(
                    "another release was registered meanwhile, so nothing is released: "
                    f"{limit_check.sentence}"
                )
            fields: Document = {
                "certificate": "",
                "digest": release.original.input_digest(),
                "k": release.after.smallest_class,
            }
            self.number = register.plan(
                newcomer.entry(recipient=self.to, folder=folder, **fields), newcomer.people
            )

    @property
    def told(self) -> Document:
        """What is told of it as plain data; nothing without a register."""
        if self.found is None:
            return {}
        return {"register": {"release": self.number, "together": self.found.to_dict()}}

    def close(self) -> None:
        """Close the register."""
        if self.register is not None:
            self.register.close()


def remember(
    register: str | Path,
    *,
    to: str,
    person: str | Sequence[str] = (),
    key: str | Path | None = None,
) -> Remembering:
    """Open a register for a release that ``to`` receives; all of it is checked first.

    ``person`` names the columns that tell people apart (a text with commas between, or a list),
    ``key`` the file with the key of the register when it is not beside it.
    ``sfumato register start FILE`` makes a register.
    """
    from sfumato.release.register.store import open_register

    if not to.strip():
        raise ParameterError(
            "a register records the recipient; name who receives the release: --to "
            "'university of …'"
        )
    names = person.split(",") if isinstance(person, str) else person
    columns = tuple(name.strip() for name in names if name.strip())
    return Remembering(open_register(register, key=key), to, columns)


def _digest(folder: Path) -> str | None:
    """The digest of the certificate in the folder of a release; None where none stands there."""
    try:
        return str(read_json(folder / "share" / FILE)["digest"])
    except (SfumatoError, KeyError):
        return None
