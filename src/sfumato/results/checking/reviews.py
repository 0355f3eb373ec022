"""The output checker's side: what is in a session, what is decided of it, and the folder of what may leave."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.core import environment
from sfumato.core.exchange import in_place
from sfumato.core.files import MEGABYTE, read_plain
from sfumato.core.json_text import is_spelled_once, loads_once
from sfumato.errors import InternalError, ReleaseRefused, UnreadableInput
from sfumato.release.certificates import signature_holds, signed
from sfumato.release.documents import digest_of, versions
from sfumato.release.manifest import Claim
from sfumato.release.publish import replace, write_json
from sfumato.results.checking.joint_check import unseen_differences
from sfumato.results.checking.log import MOST_BYTES, OutputLog, ReviewedOutput, extends
from sfumato.results.checking.output_pairs import in_ranges
from sfumato.results.checking.seals import checked_seal, head_of_log, unsealed_decisions
from sfumato.results.checking.verdict import OutputRules

MANIFEST = "manifest.json"
MANIFEST_VERSION = 1
MOST_LINES = 40
MOST_SHOWN = 4000


def review(log: OutputLog) -> dict[str, Any]:
    """A session as its checker sees it, as plain data."""
    outputs = log.all_reviewed()
    states = [one.state for one in outputs]
    return {
        "folder": str(log.folder),
        "researcher": log.researcher,
        "started": log.terms.get("started"),
        "rules": OutputRules(**log.terms["rules"]).told(),
        "laxer": OutputRules(**log.terms["rules"]).laxer(),
        "with_records": log.terms.get("persons") is not None,
        "log": head_of_log(log),
        "outputs": [one.to_dict() for one in outputs],
        "counts": {state: states.count(state) for state in sorted(set(states))},
        "together": [list(one) for one in told_together_unseen(log)],
        "strangers": log.strangers(),
        "settled": settled(log),
    }


def settled(log: OutputLog) -> bool:
    """Whether all is decided, nothing refused, and nothing approved that tells of few persons together with others without anybody having seen that."""
    outputs = log.all_reviewed()
    return bool(outputs) and all(one.state == "approved" for one in outputs) and not told_together_unseen(log)


def told_together_unseen(log: OutputLog) -> tuple[tuple[int, ...], ...]:
    """Outputs that are not refused and together tell of few persons, which none of them was said to when it was checked."""
    leaving = {one.logged.number for one in log.all_reviewed() if one.state != "refused"}
    return unseen_differences(log, leaving).outputs


def head_of(log: OutputLog, number: int, lines: int = MOST_LINES) -> str:
    """The first lines of an output, as text; what is no text is not shown."""
    try:
        text = log.content(number).decode("utf-8")
    except UnicodeDecodeError:
        return "(this file is no text)"
    found = text.splitlines()
    more = f"\n… and {len(found) - lines:,} more lines" if len(found) > lines else ""
    return "\n".join(line[:MOST_SHOWN] for line in found[:lines]) + more


def releasable(log: OutputLog, *, accept_passes: bool) -> Iterator[tuple[ReviewedOutput, str]]:
    """The outputs that may leave, and on whose word."""
    for one in log.all_reviewed():
        if one.state == "approved":
            yield one, "approved"
        elif accept_passes and one.state == "undecided" and one.logged.status == "pass":
            yield one, "passes"


def release_outputs(
    log: OutputLog,
    folder: Path,
    *,
    accept_passes: bool = False,
    partly: bool = False,
    sign: Path | None = None,
    seal: Path | None = None,
    key: Path | None = None,
) -> dict[str, Any]:
    """Copy what may leave into a new folder with a manifest, or nothing; returns the manifest.

    Released are approved outputs as they were when they were approved and, with ``accept_passes``, those that pass and nobody decided of. One that is undecided, changed
    since, or missing stops the release, unless ``partly``: then it stays behind, as refused ones always do. With the ``key`` that sealed the log, or a ``seal`` kept apart, only decisions that
    were sealed count: a line after them may be anybody's.
    """
    found = checked_seal(log, seal, key)
    if (key is not None or seal is not None) and (loose := unsealed_decisions(log, found)):
        raise ReleaseRefused(
            f"{loose:,} decisions were written after the log was sealed; whoever made them seals it again (sfumato outputs review --sign), or nothing leaves"
        )
    leaving = list(releasable(log, accept_passes=accept_passes))
    numbers = {one.logged.number for one, _ in leaving}
    waiting = [
        one.logged.number for one in log.all_reviewed() if one.logged.number not in numbers and one.state != "refused"
    ]
    if waiting and not partly:
        named = ", ".join(map(str, waiting[:20])) + (" …" if len(waiting) > 20 else "")
        raise ReleaseRefused(
            f"{len(waiting):,} of {len(log.outputs):,} outputs are not decided, changed or missing: {named}; decide first, or leave them behind with --partly"
        )
    if not leaving:
        raise ReleaseRefused("nothing is approved, so there is nothing to release")
    if unseen := unseen_differences(log, numbers).outputs:
        raise ReleaseRefused(f"{_together_in_words(log, unseen)}; refuse one of them, or add it again")
    with in_place(folder, force=None) as made:
        entries = [_copied(log, one, word, made) for one, word in leaving]
        said = _manifest(log, entries)
        public = {**said, "digest": digest_of(said)}
        if sign is not None:
            public = signed(public, sign)
        write_json(made / MANIFEST, public)
        if any(claim.status == "fails" for claim in verify_outputs(made)):
            raise InternalError("the folder does not hold what its manifest says; nothing was written")
    return public


def _copied(log: OutputLog, one: ReviewedOutput, word: str, made: Path) -> dict[str, Any]:
    """Copy an output, the very bytes that were decided of, and say so."""
    content = log.content(one.logged.number)
    digest = hashlib.sha256(content).hexdigest()
    expected = one.decision.sha256 if word == "approved" and one.decision is not None else one.logged.sha256
    if digest != expected:
        raise ReleaseRefused(f"output {one.logged.number} was changed just now; nothing was written, look again")
    replace(made / one.logged.file, content)
    decided = {} if one.decision is None or word != "approved" else {"by": one.decision.by, "at": one.decision.at}
    return {
        "number": one.logged.number,
        "title": one.logged.title,
        "file": one.logged.file,
        "sha256": digest,
        "bytes": len(content),
        "kind": one.logged.verdict["kind"],
        "checked": one.logged.status if one.as_checked else "changed after the check",
        "released": word,
        **decided,
    }


def _manifest(log: OutputLog, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """What anybody may know: files with digests, and the rules without what would help an intruder."""
    return {
        "sfumato_outputs": MANIFEST_VERSION,
        "created": environment.timestamp(),
        "rules": OutputRules(**log.terms["rules"]).told(),
        "counts_persons_by": "row" if log.terms.get("unit") is None else "unit",
        "outputs": entries,
        "log": head_of_log(log),
        "versions": versions(),
    }


def verify_outputs(folder: Path, *, key: Path | None = None, session: Path | None = None) -> list[Claim]:
    """Whether a released folder holds what its manifest says, and nothing else; with a key, whether it is that of who signed it.

    With the ``session`` it came from, whether its log still holds all that it held at the release. What was not looked at is a claim that needs more, never one that holds.
    """
    manifest = read_manifest(folder)
    claims = [
        _claim(
            "manifest",
            digest_of(manifest) == manifest.get("digest"),
            "as it was written",
            "changed since it was written",
        )
    ]
    claims += [
        _claim(one["file"], _as_listed(folder, one), "as listed", "missing or changed") for one in manifest["outputs"]
    ]
    listed = {MANIFEST, *(one["file"] for one in manifest["outputs"])}
    more = [path.name for path in folder.iterdir() if path.name not in listed]
    claims.append(_claim("folder", not more, "no other files", f"{len(more):,} files that the manifest does not list"))
    kept = _log(manifest, session)
    decisions = _decisions(manifest, session if kept.status == "holds" else None)
    return [*claims, _signature(manifest, key), kept, decisions, _together(manifest, session)]


def _signature(manifest: Mapping[str, Any], key: Path | None) -> Claim:
    """Whose folder it is, as far as that can be known."""
    if "signature" not in manifest and key is None:
        words = "none: whoever can write here can make a folder that holds; sign it when it is released (--sign)"
        return Claim("signature", "needs original", words)
    told = "by the key given" if key is not None else "fits; whose key it is, is not known here (--key)"
    return _claim("signature", signature_holds(manifest, key), told, "does not fit")


def _log(manifest: Mapping[str, Any], session: Path | None) -> Claim:
    """Whether the session's log still begins with what it held at the release."""
    kept = manifest.get("log")
    if session is None or kept is None:
        words = (
            "not looked at: give the folder of the session (--session)" if kept is not None else "not in the manifest"
        )
        return Claim(
            "log", "needs original", f"{words}; lines that were cut, changed or added there since are not noticed"
        )
    try:
        log = OutputLog.at(session)
    except UnreadableInput as error:
        return Claim("log", "fails", str(error))
    if not extends(log.hashes, kept):
        return Claim(
            "log",
            "fails",
            "the session's log is not the one that was released from: lines were cut off, changed or written anew",
        )
    later = len(log.hashes) - int(kept["entries"])
    return Claim("log", "holds", f"all {kept['entries']:,} lines of the release are there, and {later:,} since")


def _decisions(manifest: Mapping[str, Any], session: Path | None) -> Claim:
    """Whether the outputs passed or were approved, as the manifest says: its folder does not show it, the session's log does."""
    name = "checks and decisions"
    if session is None:
        told = "the log of the session shows them (--session), or a signature vouches for them (--key)"
        return Claim(name, "needs original", told, True)
    log = OutputLog.at(session)
    wrong = [one for one in manifest["outputs"] if not _as_logged(log, one)]
    told = f"{len(wrong):,} outputs passed or were approved otherwise than the log says"
    return Claim(name, "fails" if wrong else "holds", told if wrong else "as the log of the session says", True)


def _as_logged(log: OutputLog, said: Mapping[str, Any]) -> bool:
    """Whether the log knows an output by these words, and that these bytes passed or were approved."""
    logged = next((one for one in log.outputs if one.number == said["number"]), None)
    if logged is None or (logged.title, logged.file, logged.verdict["kind"]) != (
        said["title"],
        said["file"],
        said["kind"],
    ):
        return False
    checked = logged.status if said["sha256"] == logged.sha256 else "changed after the check"
    if said["checked"] != checked:
        return False
    if said["released"] == "passes":
        return checked == "pass"
    approved = [one for one in log.decisions if one.number == said["number"] and one.decision == "approved"]
    return any((one.sha256, one.by, one.at) == (said["sha256"], said["by"], said["at"]) for one in approved)


def _together_in_words(log: OutputLog, unseen: Sequence[Sequence[int]]) -> str:
    threshold = OutputRules(**log.terms["rules"]).threshold
    named = "; ".join(in_ranges(one) for one in unseen[:20])
    return f"outputs tell of fewer than {threshold} persons together, or may, which nobody was told when they were checked: {named}"


def _together(manifest: Mapping[str, Any], session: Path | None) -> Claim:
    """Whether what the released outputs tell together was known to who approved them, from what the session keeps."""
    try:
        log = None if session is None else OutputLog.at(session)
        unseen = None if log is None else unseen_differences(log, {one["number"] for one in manifest["outputs"]})
    except UnreadableInput as error:
        return Claim("together", "fails", str(error))
    if log is None or unseen is None:
        return Claim("together", "needs original", "not looked at: give the folder of the session (--session)")
    if unseen.outputs:
        return Claim("together", "fails", _together_in_words(log, unseen.outputs))
    if unseen.unknown:
        words = f"of {len(unseen.unknown):,} outputs the session does not know which records are in which cell"
        return Claim("together", "needs original", words)
    return Claim("together", "holds", "every output was compared with all others here; its reasons say what was found")


def _claim(name: str, holds: bool, good: str, bad: str) -> Claim:
    return Claim(name, "holds" if holds else "fails", good if holds else bad)


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a released folder; refused when it is none."""
    file = folder / MANIFEST
    if not file.is_file():
        raise UnreadableInput(f"{folder} holds no {MANIFEST}; name a folder that outputs were released to")
    try:
        data = read_plain(file, most=64 * MEGABYTE, what="a manifest")
        found = loads_once(data)
        sound = found["sfumato_outputs"] == MANIFEST_VERSION and all(
            isinstance(one["file"], str)
            and Path(one["file"]).name == one["file"]
            and isinstance(one["sha256"], str)
            and set(one) >= {"number", "title", "kind", "checked", "released"}
            and (one["released"] == "passes" or {"by", "at"} <= set(one))
            for one in found["outputs"]
        )
        sound = sound and is_spelled_once(data, found)
    except (ValueError, KeyError, TypeError, RecursionError):
        sound = False
    if not sound:
        raise UnreadableInput(f"{file} is no manifest of outputs, or was damaged")
    return dict(found)


def _as_listed(folder: Path, listed: Mapping[str, Any]) -> bool:
    try:
        content = read_plain(folder / listed["file"], most=MOST_BYTES, what="an output")
    except UnreadableInput:
        return False
    return hashlib.sha256(content).hexdigest() == str(listed["sha256"])
