"""Tasks that write a release, and what is told of one in the history."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.files import MEGABYTE, require_plain, write_whole
from sfumato.errors import ParameterError
from sfumato.verbs import verify
from sfumato.web.uploads import at_home

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.release.release import Release
    from sfumato.web.bench import Bench


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
) -> dict[str, Any]:
    """Write the release that was made of a version, read it back, and compute again all that its certificate says.

    ``history`` is the log of the project, which stays with the owner as what led to this release.
    """
    release: Release | None = bench.kept(f"release {key}")
    if release is None:
        raise NotMade("the release of this version is not made yet, or was forgotten meanwhile: make it under Run")
    if not folder.strip():
        raise ParameterError("name the folder that the release is written to")
    if sign:
        require_plain(sign, most=MEGABYTE, what="a key")
    progress(0.1, "writing, reading back, judging what was written")
    trail = functools.partial(_keep_history, history)
    place = at_home(folder)
    told: dict[str, Any] = {"format": format, "force": force, "defuse": defuse, "pictures": pictures}
    written = release.write(place, sign=sign, more=trail, **told)
    progress(0.6, "computing again what the certificate says")
    found = verify(written / "share", original=bench.data, owner=written / "owner")
    return {
        "folder": str(written),
        "share": listed(written / "share"),
        "owner": listed(written / "owner"),
        "claims": [{"name": claim.name, "status": claim.status, "detail": claim.detail} for claim in found.claims],
        "holds": found.holds,
        "headline": release.headline.text,
    }


def _keep_history(history: str, owner: Path) -> None:
    write_whole(owner / HISTORY, history.encode())


def listed(folder: Path) -> list[dict[str, Any]]:
    """The files of a folder by name, with their bytes; a folder in it counts as one."""
    return [
        {"name": file.name + "/" * file.is_dir(), "bytes": sum(one.stat().st_size for one in _files(file))}
        for file in sorted(folder.iterdir())
    ]


def _files(file: Path) -> list[Path]:
    return [one for one in file.rglob("*") if one.is_file()] if file.is_dir() else [file]


def effect_of(release: Release) -> dict[str, Any]:
    """What a version did, in numbers for the history: records released and lost, what the search made small, smallest class, the highest risk."""
    risks = {measure.name: measure.value for _, measure in release.risks}
    effect: dict[str, Any] = {
        "records": release.dataset.records,
        "suppressed": release.suppressed,
        "holds": release.holds,
    }
    for name, score in list(release.scores.items())[:1]:  # what the search made small
        effect |= {"objective": name, "score": float(score)}
    if not release.dataset.drawn:
        effect |= {"smallest_class": release.after.smallest_class}
    return effect | {name: risks[name] for name in ("prosecutor_risk", "marketer_risk") if name in risks}
