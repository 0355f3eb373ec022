"""A run that asks a register first, and is written down in it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from sfumato.cli.talk import out, tell
from sfumato.errors import ParameterError, ReleaseRefused, SfumatoError

if TYPE_CHECKING:
    from sfumato.register.memory import Remembered
    from sfumato.register.store import Register
    from sfumato.register.together import Together
    from sfumato.release.release import Release

RegisterFile = Annotated[
    Path | None,
    typer.Option(
        help="a register of releases: what all of them tell together is looked at first, and this one is added"
    ),
]
RegisterKey = Annotated[Path | None, typer.Option(help="file with the key of the register, when it is not beside it")]
Person = Annotated[
    str | None,
    typer.Option(help="columns that tell people apart, with commas; else the person column or all direct identifiers"),
]


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
        """What a limit on all releases together is held against."""
        from sfumato.register.memory import Remembered

        return None if self.register is None else Remembered(self.register, self.person)

    @contextlib.contextmanager
    def registered(
        self, release: Release, folder: Path, *, elsewhere: bool = False
    ) -> Iterator[Callable[[Path], None]]:
        """Plan the release in the register, let it be written, and say that it was; one that was not written counts no more.

        One of which anything may stand, in the folder or ``elsewhere`` (a table of a database), stays planned and counts.
        """
        if self.register is None:
            yield lambda _: None
            return
        stood = _digest(folder)
        self._planned(self.register, release, folder)
        done: list[str | None] = []
        try:
            yield lambda made: done.append(_digest(made))
        finally:
            if done or not (elsewhere or _digest(folder) != stood):
                with self.register.turn():
                    state: Any = "released" if done else "withdrawn"
                    self.register.now_is(int(self.number or 0), state, certificate=done[0] if done else None)

    def _planned(self, register: Register, release: Release, folder: Path) -> None:
        from sfumato.register.memory import Newcomer
        from sfumato.register.together import NAME
        from sfumato.release.certified import certified_release
        from sfumato.release.documents import digest_of_input

        judged = certified_release(release)
        newcomer = Newcomer.of(
            register, release.pair, person=self.person, private=None if judged is None else judged.to_dict()
        )
        with register.turn():  # nobody registers anything between looking and writing down
            self.found = newcomer.together()
            limit = release.recipe.limits.get(NAME)
            if limit is not None and not (kept := self.found.kept(float(limit))):
                raise ReleaseRefused(f"another release was registered meanwhile, nothing is released: {kept.sentence}")
            told: dict[str, Any] = {
                "certificate": "",
                "digest": digest_of_input(release.original),
                "k": release.after.smallest_class,
            }
            self.number = register.plan(newcomer.entry(recipient=self.to, folder=folder, **told), newcomer.people)

    @property
    def told(self) -> dict[str, Any]:
        """What is told of it as plain data; nothing without a register."""
        return {} if self.found is None else {"register": {"release": self.number, "together": self.found.to_dict()}}

    def tell(self, *, json: bool, quiet: bool) -> None:
        """Say what this release tells together with the earlier ones."""
        if self.found is None:
            return
        if not json:
            mark = "[yellow]![/]" if self.found.alone or self.found.unknown else "[green]✓[/]"
            for sentence in self.found.sentences:
                out().print(f"{mark} {escape(sentence)}", soft_wrap=True)
        tell(f"kept   release {self.number} of the register, to {escape(self.to)}", quiet=quiet)


def memory_of(register: Path | None, to: str | None, person: str | None, key: Path | None, output: str) -> Remembering:
    """The register of a run, open and checked; options that go without one are refused."""
    if register is None:
        if to or person or key:
            raise ParameterError("--to, --person and --register-key go with --register")
        return Remembering()
    if not to:
        raise ParameterError("a register wants to know who receives the release: --to 'university of …'")
    if output == "-":
        raise ParameterError("--register goes with a folder (-o out/), which holds the certificate it writes down")
    from sfumato.register.store import open_register

    columns = tuple(name.strip() for name in person.split(",")) if person else ()
    return Remembering(open_register(register, key=key), to, columns)


def _digest(folder: Path) -> str | None:
    """The digest of the certificate in the folder of a release; None where none stands there."""
    from sfumato.release.certificates import read_certificate

    try:
        return str(read_certificate(folder / "share")["digest"])
    except (SfumatoError, KeyError):
        return None
