"""Releases that were made and are kept, and the register that is asked about them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.errors import ParameterError, UnreadableInput
from sfumato.interfaces.web.uploads import at_home
from sfumato.release.register.joint_disclosure import NAME
from sfumato.release.registered_release import Remembering, remember

if TYPE_CHECKING:
    from sfumato.interfaces.web.data_process import Bench
    from sfumato.release.table_release import TableRelease


class NotMade(ParameterError):
    """There is no release to write."""


def made_release(bench: Bench, key: str) -> TableRelease:
    """The release that was made of a version."""
    release: TableRelease | None = bench.recall(f"release {key}")
    if release is None:
        raise NotMade("the release of this version does not exist, or no longer; make it under Run")
    return release


def require_made(bench: Bench, key: str, register: dict[str, str] | None) -> TableRelease:
    """The release of a version; where the recipe limits what all releases tell together, it must be
    made with the register.
    """
    release = made_release(bench, key)
    if register and NAME in release.recipe.limits and bench.recall(f"register {key}") != register:
        raise NotMade("the release of this version was made without this register; make it again")
    return release


@contextlib.contextmanager
def remembering(register: dict[str, str] | None) -> Iterator[Remembering]:
    """The register that the page names, as long as it is asked; without one nothing is
    remembered.
    """
    if not register:
        yield Remembering()
        return
    with contextlib.closing(opened_register(register)) as remembered:
        yield remembered


def opened_register(register: dict[str, str]) -> Remembering:
    """The register that the page names."""
    file, key = register_files(register)
    if not register.get("to"):
        raise ParameterError("a register records the recipient; name who receives the release")
    if not file.exists():
        raise UnreadableInput(
            f"register {file} does not exist; start it there, under Write or by 'sfumato register "
            "start'"
        )
    return remember(file, to=register["to"], person=register.get("person", ""), key=key)


def register_files(register: dict[str, str]) -> tuple[Path, Path | None]:
    """The file of a register and that of its key; None: the key is beside it."""
    if not register.get("file"):
        raise ParameterError("name the file of the register")
    return at_home(register["file"]), at_home(register["key"]) if register.get("key") else None
