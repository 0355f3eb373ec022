"""Checks of a folder that outputs were released to: it holds what was approved, as the session's
log says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.fields import Fields
from sfumato.core.journal import Head
from sfumato.core.words import count_of
from sfumato.errors import UnreadableInput
from sfumato.release.manifest import Claim
from sfumato.results.checking.joint_check import unseen_differences
from sfumato.results.checking.log import LoggedOutput, OutputDecision, OutputLog
from sfumato.results.checking.output_pairs import in_ranges
from sfumato.results.checking.verdict import OutputRules

if TYPE_CHECKING:
    from sfumato.release.replay import Original
    from sfumato.release.shared_folder import SharedFolder


OUTPUTS = "outputs"
GIVE_SESSION = "not checked: give the folder of the session (--session)"


def released_files(certificate: Fields, shared: SharedFolder, original: Original) -> Claim:
    """Every listed file is an output, with the digest of what was decided of."""
    listed = {name: dict(file) for name, file in certificate["files"].items()}
    outputs = certificate[OUTPUTS]["released"]
    released = {}
    for output in outputs:
        released[output["file"]] = {"sha256": output["sha256"], "bytes": output["bytes"]}
    # Two outputs with one file name would count as one.
    if listed != released or len(released) < len(outputs):
        words = "the files of the folder are not those of the released outputs"
        return Claim("outputs listed", "fails", words)
    words = f"{count_of(len(outputs), 'output')}, and no other file"
    return Claim("outputs listed", "holds", words)


def claim_unsigned(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """Whose folder it is cannot be known where nobody signed it."""
    # The log of the session, or a key, answers for it.
    if original.owner is not None or original.trusted_key is not None:
        return None
    if "signature" in certificate:
        return None
    words = (
        "none: anybody who can write here could have made the folder; sign it when it is released "
        "(--sign)"
    )
    return Claim("signature", "needs original", words)


def log_continued(certificate: Fields, shared: SharedFolder, original: Original) -> Claim:
    """The session's log still begins with what it held at the release."""
    logged = certificate[OUTPUTS]["log"]
    if original.owner is None:
        words = (
            f"{GIVE_SESSION}; lines that were removed, changed or added there later are not noticed"
        )
        return Claim("log", "needs original", words)
    try:
        log = OutputLog.at(original.owner)
    except UnreadableInput as error:
        return Claim("log", "fails", str(error))
    # The log may have grown since the release; what was there must be unchanged.
    if logged["entries"] < 1 or not log.journal.extends(Head(logged["entries"], logged["head"])):
        words = (
            "the session's log is not the one of the release: lines were removed, changed or "
            "rewritten"
        )
        return Claim("log", "fails", words)
    first = log.journal.entries[: logged["entries"]]
    outputs = sum(isinstance(entry, LoggedOutput) for entry in first)
    decisions = sum(isinstance(entry, OutputDecision) for entry in first)
    if (logged["outputs"], logged["decisions"]) != (outputs, decisions):
        words = f"it held {outputs:,} outputs and {decisions:,} decisions at the release"
        return Claim("log", "fails", words)
    section = certificate[OUTPUTS]
    counted_by = "row" if log.terms.unit is None else "unit"
    rules = OutputRules(**log.terms.rules).public_rules()
    if (section["rules"], section["counts_persons_by"]) != (rules, counted_by):
        return Claim("log", "fails", "the session had other rules, or counted other persons")
    later = log.journal.head.entries - logged["entries"]
    words = f"all {logged['entries']:,} lines of the release are there, and {later:,} since"
    return Claim("log", "holds", words)


def decisions_logged(certificate: Fields, shared: SharedFolder, original: Original) -> Claim:
    """The outputs passed or were approved, as the certificate says: its folder does not show it,
    the session's log does.
    """
    name = "checks and decisions"
    if original.owner is None or log_continued(certificate, shared, original).status != "holds":
        words = (
            "the log of the session shows them (--session), or a signature vouches for them (--key)"
        )
        return Claim(name, "needs original", words, True)
    log = OutputLog.at(original.owner)
    wrong = sum(not _is_as_logged(log, output) for output in certificate[OUTPUTS]["released"])
    if wrong:
        words = f"{count_of(wrong, 'output')} passed or were approved otherwise than the log says"
        return Claim(name, "fails", words, True)
    return Claim(name, "holds", "as the log of the session says", True)


def _is_as_logged(log: OutputLog, output: Fields) -> bool:
    """Whether the log knows an output by these words, and that these bytes passed or were
    approved.
    """
    logged = next((entry for entry in log.outputs if entry.number == output["number"]), None)
    stated = (output["title"], output["file"], output["kind"])
    if logged is None or (logged.title, logged.file, logged.verdict["kind"]) != stated:
        return False
    # The bytes that left may be others than those that were checked, if somebody approved them.
    if output["sha256"] == logged.sha256:
        checked = logged.status
    else:
        checked = "changed after the check"
    if output["checked"] != checked:
        return False
    if output["released"] == "passes":
        return checked == "pass"
    decision = (output["number"], "approved", output["sha256"], output["by"], output["at"])
    for entry in log.decisions:
        if (entry.number, entry.decision, entry.sha256, entry.by, entry.at) == decision:
            return True
    return False


def outputs_together(certificate: Fields, shared: SharedFolder, original: Original) -> Claim:
    """What the released outputs tell together was known to who approved them, from what the session
    keeps.
    """
    name = "together"
    if original.owner is None:
        return Claim(name, "needs original", GIVE_SESSION)
    numbers = {output["number"] for output in certificate[OUTPUTS]["released"]}
    try:
        log = OutputLog.at(original.owner)
        unseen = unseen_differences(log, numbers)
    except UnreadableInput as error:
        return Claim(name, "fails", str(error))
    if unseen.outputs:
        return Claim(name, "fails", together_in_words(log, unseen.outputs))
    if unseen.unknown:
        words = (
            f"for {len(unseen.unknown):,} outputs the session does not know which records are in "
            "which cell"
        )
        return Claim(name, "needs original", words)
    words = "every output was compared with all others here; its reasons state the results"
    return Claim(name, "holds", words)


def together_in_words(log: OutputLog, unseen: tuple[tuple[int, ...], ...]) -> str:
    """Which outputs tell of few persons together."""
    threshold = OutputRules(**log.terms.rules).threshold
    outputs = "; ".join(in_ranges(numbers) for numbers in unseen[:20])
    return (
        f"outputs describe fewer than {threshold} persons together, or may, which was not known "
        f"when they were checked: {outputs}"
    )


CHECKS = (released_files, claim_unsigned, log_continued, decisions_logged, outputs_together)
"""What a certificate about released outputs is held to, besides digest, signature and files."""
