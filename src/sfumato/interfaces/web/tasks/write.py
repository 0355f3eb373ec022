"""Tasks that write a release, and what is told of one in the history."""

from __future__ import annotations

import functools
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.blocks import Block, Heading, Paragraph, TableBlock, VerdictBlock
from sfumato.core.data import Context
from sfumato.core.exchange import refuse_existing
from sfumato.core.files import MEGABYTE, require_plain, write_whole
from sfumato.core.portable import cannot_promise
from sfumato.core.words import size_in_words
from sfumato.data.table.formats import require_format
from sfumato.data.table.indistinct import made_one
from sfumato.errors import ParameterError
from sfumato.interfaces.web.fields import Fields
from sfumato.interfaces.web.requests import WriteRequest
from sfumato.interfaces.web.tasks.decide import add_decision
from sfumato.interfaces.web.tasks.made_releases import (
    register_files,
    remembering,
    require_made,
)
from sfumato.interfaces.web.uploads import at_home
from sfumato.release.attack_run import AttackOptions
from sfumato.release.decision.collect import SECTION
from sfumato.release.make import make_release
from sfumato.release.register.store import key_file, start_register
from sfumato.release.release import WriteOptions
from sfumato.release.verify import verify

if TYPE_CHECKING:
    from sfumato.core.progress import Progress
    from sfumato.interfaces.web.data_process import Bench
    from sfumato.release.registered_release import Remembering
    from sfumato.release.table_release import TableRelease


# In the owner's folder: how the recipe came to be what it is.
HISTORY = "history.jsonl"


# What the files of a release hold; the data themselves have names of their own.
FILES = {
    "certificate.json": "the promises, and every file of this folder",
    "report.html": "the same for people, with charts",
    "lock.json": "everything needed to make it again",
    "alignment.parquet": "the original row of each row",
    "release.json": "all results",
    HISTORY: "how the recipe was made",
}


def write(
    bench: Bench,
    progress: Progress,
    *,
    key: str,
    history: str,
    request: WriteRequest,
    register: dict[str, str] | None = None,
    decided: bool = False,
) -> Fields:
    """Write the release that was made of a version, read it back, and compute again all that its
    certificate says.

    ``history`` is the log of the project, which stays with the owner as what led to this release.
    With a ``register`` (its ``file``, the recipient ``to``, and ``person`` and ``key`` where they
    are said) the release is planned in it before it is written, as ``sfumato run`` does. What was
    ``decided`` about the version goes with it, as ``sfumato protect`` writes it.
    """
    release = require_made(bench, key, register)
    if not request.folder.strip():
        raise ParameterError("name the folder for the release")
    sign = request.sign or None
    if sign is not None:
        require_plain(sign, limit=MEGABYTE, purpose="a key")
    release = _for_format(bench, release, request.format, progress)
    progress(0.1, "writing, reading back, judging what was written")
    folder = at_home(request.folder)
    options = WriteOptions(
        defuse=request.defuse,
        pictures=request.pictures,
        more=functools.partial(_keep_history, history),
    )
    with remembering(register) as remembered:
        refuse_existing(folder, force=request.force)  # before anything is planned
        with remembered.registered(release, folder) as enter:
            release_folder = release.write(
                folder, options=options, format=request.format, force=request.force, sign=sign
            )
            decision = None
            if decided:
                decision = add_decision(bench, release_folder, key=key, sign=sign)
            enter(release_folder)
    progress(0.6, "computing again what the certificate says")
    share = release_folder / "share"
    verification = verify(
        share,
        original=bench.data,
        owner=release_folder / "owner",
        release=release,
        # it was decided by attacks on this very file
        leave_out=frozenset((SECTION,)),
    )
    blocks: list[Block] = [
        Heading("Written", 1),
        Paragraph(release.headline.text, "strong"),
        Paragraph(str(release_folder)),
        *([] if decision is None else [Paragraph(f"Decision: {decision.headline}.", "strong")]),
        *_register_blocks(remembered),
        _file_table("To publish: share", share),
        _file_table("To keep: owner", release_folder / "owner"),
        Heading("What its certificate says, computed again from the files"),
        *verification.blocks(),
        Paragraph(
            "Whoever gets the folder share can check it alone:"
            f" `sfumato verify {shlex.quote(str(share))}`"
        ),
    ]
    return {"folder": str(release_folder), "holds": verification.holds, "blocks": blocks}


def begin_register(bench: Bench, progress: Progress, *, register: dict[str, str]) -> Fields:
    """Make the register that the page names, and its key where there is none, as
    ``sfumato register start`` does; what is there is never replaced.
    """
    progress(0.0, "starting a register")
    file, key = register_files(register)
    file = file.absolute()
    start_register(file, key=key).close()
    key_path = key_file(file) if key is None else key.absolute()
    blocks: list[Block] = [
        Heading("A new register", 1),
        Paragraph(f"{file} was started. It has no release yet."),
        Paragraph(
            f"Keep {key_path} apart from the register if others can read your folders, and keep a "
            "copy: with another key nobody would be recognised again."
        ),
        *(Paragraph(note, "quiet") for note in cannot_promise("modes")),
    ]
    return {"file": str(file), "key": str(key_path), "blocks": blocks}


def ask_register(bench: Bench, progress: Progress, *, key: str, register: dict[str, str]) -> Fields:
    """What the release of a version would reveal together with those of a register; nothing is
    written, there or elsewhere.
    """
    progress(0.1, "asking the register")
    release = require_made(bench, key, register)
    with remembering(register) as remembered:
        remembered.found = remembered.together(release)
    nothing = Paragraph(
        "Nothing was written yet, neither the release nor the entry in the register.", "quiet"
    )
    return {"blocks": [*_register_blocks(remembered), nothing]}


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
    made_for, frame_for_format = (
        made_one(table, format_name)[0].to_polars()
        for format_name in (release.made_for, require_format(format))
    )
    if made_for.equals(frame_for_format):
        return release
    progress(0.05, "making it again for this format, with the same seed")
    context = Context(
        release.seed,
        format=format,
        shuffle=release.shuffled,
        memory=release.memory,
        population=release.population,
    )
    remade: TableRelease = make_release(table, release.recipe, context)
    if release.attacks is None:
        return remade
    return remade.attacked(options=AttackOptions(progress=progress))


def _register_blocks(remembered: Remembering) -> list[Block]:
    """What a release reveals together with earlier ones; what is unknown is no pass."""
    together = remembered.found
    if together is None:
        return []
    alarm = bool(together.alone or together.unknown)
    blocks: list[Block] = [Heading("All releases together")]
    sentences = [f"{sentence[:1].upper()}{sentence[1:]}" for sentence in together.sentences]
    blocks += [VerdictBlock(not alarm, sentence) for sentence in sentences]
    if remembered.number is not None:
        number = remembered.number
        blocks.append(Paragraph(f"Registered as release {number}, to {remembered.to}."))
    return blocks


def _keep_history(history: str, owner: Path) -> None:
    write_whole(owner / HISTORY, history.encode())


def _file_table(title: str, folder: Path) -> TableBlock:
    """The files of a folder by name, with their size and meaning; a folder in it counts as one."""
    rows = []
    for file in sorted(folder.iterdir()):
        parts = file.rglob("*") if file.is_dir() else [file]
        count = sum(part.stat().st_size for part in parts if part.is_file())
        meaning = ""
        if file.name.startswith("data"):
            meaning = "the released table"
        name = file.name + "/" * file.is_dir()
        rows.append((name, size_in_words(count), FILES.get(file.name, meaning)))
    return TableBlock(("file", "size", "what it holds"), tuple(rows), title)


def effect_of(release: TableRelease) -> Fields:
    """What a version did, in numbers for the history: records released and lost, what the search
    made small, smallest class, the highest risk.
    """
    risks = {measure.name: measure.value for _, measure in release.risks}
    effect: Fields = {
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
