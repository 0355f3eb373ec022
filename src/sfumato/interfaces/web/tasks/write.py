"""Tasks that write a release, and what is told of one in the history."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.data import Context
from sfumato.core.exchange import refuse_existing
from sfumato.core.files import MEGABYTE, require_plain, write_whole
from sfumato.core.portable import cannot_promise
from sfumato.data.table.formats import require_format
from sfumato.data.table.indistinct import made_one
from sfumato.errors import ParameterError, UnreadableInput
from sfumato.interfaces.api import verify
from sfumato.interfaces.web.uploads import at_home
from sfumato.release.attack_run import AttackOptions
from sfumato.release.make import make_release
from sfumato.release.register.joint_disclosure import NAME
from sfumato.release.register.store import key_file, start_register
from sfumato.release.registered_release import Remembering, remember
from sfumato.release.release import WriteOptions

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.interfaces.web.data_process import Bench
    from sfumato.release.table_release import TableRelease


class NotMade(ParameterError):
    """There is no release to write."""


HISTORY = "history.jsonl"
"""In the owner's folder: how the recipe came to be what it is."""


def write(
    bench: Bench,
    progress: Progress,
    *,
    key: str,
    folder: str,
    history: str,
    format: str | None = None,  # noqa: A002
    sign: str | None = None,
    force: bool = False,
    defuse: bool = False,
    pictures: bool = False,
    register: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Write the release that was made of a version, read it back, and compute again all that its
    certificate says.

    ``history`` is the log of the project, which stays with the owner as what led to this release.
    With a ``register`` (its ``file``, the recipient ``to``, and ``person`` and ``key`` where they
    are said) the release is planned in it before it is written, as ``sfumato run`` does;
    ``register`` of the answer says under which number, and what all releases tell together.
    """
    release = _made(bench, key, register)
    if not folder.strip():
        raise ParameterError("name the folder that the release is written to")
    if sign:
        require_plain(sign, most=MEGABYTE, what="a key")
    release = _for_format(bench, release, format, progress)
    progress(0.1, "writing, reading back, judging what was written")
    trail = functools.partial(_keep_history, history)
    place = at_home(folder)
    options = WriteOptions(defuse=defuse, pictures=pictures, more=trail)
    with remembering(register) as remembered:
        refuse_existing(place, force=force)  # before anything is planned
        written = remembered.write(release, place, options, format=format, force=force, sign=sign)
    progress(0.6, "computing again what the certificate says")
    found = verify(written / "share", original=bench.data, owner=written / "owner", release=release)
    return {
        "folder": str(written),
        "share": listed(written / "share"),
        "owner": listed(written / "owner"),
        "claims": [
            {"name": claim.name, "status": claim.status, "detail": claim.detail}
            for claim in found.claims
        ],
        "holds": found.holds,
        "headline": release.headline.text,
        "register": _found(remembered),
    }


def begin_register(bench: Bench, progress: Progress, *, register: dict[str, str]) -> dict[str, Any]:
    """Make the register that the page names, and its key where there is none, as
    ``sfumato register start`` does; what is there is never replaced.
    """
    progress(0.0, "beginning a register")
    place, key = _places(register)
    place = place.absolute()
    start_register(place, key=key).close()
    kept = key_file(place) if key is None else key.absolute()
    return {"file": str(place), "key": str(kept), "notes": list(cannot_promise("modes"))}


def ask_register(
    bench: Bench, progress: Progress, *, key: str, register: dict[str, str]
) -> dict[str, Any]:
    """What the release of a version would tell together with those of a register; nothing is
    written, there or elsewhere.
    """
    progress(0.1, "asking the register")
    release = _made(bench, key, register)
    with remembering(register) as remembered:
        remembered.found = remembered.together(release)
    return _found(remembered) or {}


def _made(bench: Bench, key: str, register: dict[str, str] | None) -> TableRelease:
    """The release of a version; where the recipe limits what all releases tell together, it must be
    made with the register.
    """
    release = made_release(bench, key)
    if register and NAME in release.recipe.limits and bench.kept(f"register {key}") != register:
        raise NotMade("the release of this version was made without this register: make it again")
    return release


def _for_format(
    bench: Bench,
    release: TableRelease,
    format: str | None,  # noqa: A002
    progress: Progress,
) -> TableRelease:
    """The release as the command line makes it for a format: from values that this format tells
    apart, under the same seed.
    """
    if format is None or require_format(format) == release.made_for:
        return release
    table = bench.data.described_by(release.recipe)
    made_for, wanted = (
        made_one(table, one)[0].to_polars() for one in (release.made_for, require_format(format))
    )
    if made_for.equals(wanted):
        return release
    progress(0.05, "making it again for this format, under the same seed")
    context = Context(
        release.seed,
        format=format,
        shuffle=release.shuffled,
        memory=release.memory,
        population=release.population,
    )
    again: TableRelease = make_release(table, release.recipe, context)
    return (
        again
        if release.attacks is None
        else again.attacked(options=AttackOptions(progress=progress))
    )


def made_release(bench: Bench, key: str) -> TableRelease:
    """The release that was made of a version."""
    release: TableRelease | None = bench.kept(f"release {key}")
    if release is None:
        raise NotMade(
            "the release of this version is not made yet, or was forgotten meanwhile: make it"
            " under Run"
        )
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


def opened_register(said: dict[str, str]) -> Remembering:
    """The register that the page names."""
    place, key = _places(said)
    if not said.get("to"):
        raise ParameterError("name who receives the release: a register wants to know")
    if not place.exists():
        raise UnreadableInput(
            f"there is no register {place}: begin it there, under Write or by 'sfumato register"
            " start'"
        )
    return remember(place, to=said["to"], person=said.get("person", ""), key=key)


def _places(said: dict[str, str]) -> tuple[Path, Path | None]:
    """The file of a register and that of its key; None: the key is beside it."""
    if not said.get("file"):
        raise ParameterError("name the file of the register")
    return at_home(said["file"]), at_home(said["key"]) if said.get("key") else None


def _found(remembered: Remembering) -> dict[str, Any] | None:
    found = remembered.found
    if found is None:
        return None
    alarm = bool(found.alone or found.unknown)
    return {
        "number": remembered.number,
        "to": remembered.to,
        "sentences": found.sentences,
        "alarm": alarm,
    }


def _keep_history(history: str, owner: Path) -> None:
    write_whole(owner / HISTORY, history.encode())


def listed(folder: Path) -> list[dict[str, Any]]:
    """The files of a folder by name, with their bytes; a folder in it counts as one."""
    return [
        {
            "name": file.name + "/" * file.is_dir(),
            "bytes": sum(one.stat().st_size for one in _files(file)),
        }
        for file in sorted(folder.iterdir())
    ]


def _files(file: Path) -> list[Path]:
    return [one for one in file.rglob("*") if one.is_file()] if file.is_dir() else [file]


def effect_of(release: TableRelease) -> dict[str, Any]:
    """What a version did, in numbers for the history: records released and lost, what the search
    made small, smallest class, the highest risk.
    """
    risks = {measure.name: measure.value for _, measure in release.risks}
    effect: dict[str, Any] = {
        "records": release.released.records,
        "suppressed": release.suppressed,
        "holds": release.holds,
    }
    for name, score in list(release.scores.items())[:1]:  # what the search made small
        effect |= {"objective": name, "score": float(score)}
    if not release.released.drawn:
        effect |= {"smallest_class": release.after.smallest_class}
    return effect | {
        name: risks[name] for name in ("prosecutor_risk", "marketer_risk") if name in risks
    }
