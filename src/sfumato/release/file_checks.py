"""Checks of the files of a shared folder: they are the certified ones, whole, and no others,
whatever they hold.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.fields import Fields
from sfumato.data.table.read import holds_more
from sfumato.errors import MissingExtra, UnreadableInput
from sfumato.release.documents import versions
from sfumato.release.manifest import (
    DESCRIPTIONS,
    PICTURES,
    REPORT,
    Claim,
    named_paths,
    sha256_of,
    sha256_of_parts,
)
from sfumato.release.signatures import digest_of, signature_holds
from sfumato.release.table_sections import sections
from sfumato.release.verifier_file import VERIFIER, read_verifier

if TYPE_CHECKING:
    from sfumato.core.blocks import ChartBlock
    from sfumato.release.replay import Original
    from sfumato.release.shared_folder import SharedFolder


def certificate_unedited(certificate: Fields, shared: SharedFolder, original: Original) -> Claim:
    """The text of a certificate is the one that was written."""
    if certificate["digest"] == digest_of(certificate):
        return Claim("certificate unedited", "holds", "its digest fits its text")
    return Claim(
        "certificate unedited",
        "fails",
        "its text was changed after it was written: the digest does not match",
    )


def signature(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """A signature fits, where there is one or one was asked for."""
    trusted = original.trusted_key
    if "signature" not in certificate:
        if trusted is None:
            return None
        return Claim(
            "signature", "fails", "a trusted key was given, but the certificate is not signed"
        )
    if not signature_holds(certificate, trusted):
        return Claim(
            "signature",
            "fails",
            "the signature does not match the certificate, or is not from the trusted key",
        )
    signer = (
        "by the trusted key"
        if trusted
        else "by the key it carries (give --key to name the key you trust)"
    )
    return Claim("signature", "holds", f"Ed25519, signed {signer}")


def folder_as_listed(certificate: Fields, shared: SharedFolder, original: Original) -> Claim:
    """The folder holds the files that the certificate lists, as they were, and nothing else."""
    return shared.listed


def data_files_unedited(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Iterator[Claim]:
    """The data files are those of which the certificate speaks."""
    shared.require_plain_parts()
    for name, section in sections(certificate).items():
        yield file_unedited(section, shared.files[name], f"{name} file unedited")


def file_unedited(section: Fields, file: Path, name: str) -> Claim:
    """A file is the one that a section of a certificate describes."""
    try:
        digest = sha256_of_parts(file) if file.is_dir() else sha256_of(file)
    except OSError:
        raise UnreadableInput(f"{file} is missing or cannot be read") from None
    if digest == section["sha256"]:
        return Claim(name, "holds", "SHA-256 fits")
    return Claim(
        name, "fails", "the file was changed after it was certified: its SHA-256 does not match"
    )


def rows_and_columns(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Iterator[Claim]:
    """Every table has the certified rows, columns and cells that a spreadsheet would run."""
    for name, section in sections(certificate).items():
        table, rows, columns = shared.tables[name], section["rows"], list(section["columns"])
        title = (
            "rows and columns"
            if len(shared.tables) == 1 and "classes" in certificate
            else f"rows and columns of {name}"
        )
        if (rows, columns) == (table.rows, list(table.columns)):
            yield Claim(title, "holds", f"{rows:,} rows, {len(columns)} columns as certified")
        else:
            size = f"{table.rows:,} rows and {len(table.columns)} columns found"
            yield Claim(title, "fails", f"{size}, {rows:,} and {len(columns)} certified")
        # A CSV always tells how many such cells there are. Nothing is said where they are as
        # counted.
        if section.get("formulas") != table.formulas:
            words = "the cells that a spreadsheet would run are not those certified"
            yield Claim("formulas", "fails", f"{name}: {words}")


def nothing_beside_tables(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Iterator[Claim]:
    """No file holds more than the table that is read from it: nobody judged that."""
    exact = certificate["versions"].get("polars") == versions()["polars"]
    for name, section in sections(certificate).items():
        file = shared.files[name]
        files = sorted(file.iterdir()) if file.is_dir() else [file]
        with contextlib.suppress(UnreadableInput):
            if not any(holds_more(part, section["format"], exact=exact) for part in files):
                continue
        words = f"{file.name} holds more than its table, which no promise covers"
        yield Claim("nothing beside the table", "fails", words)


def listed_files_judged(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Claim | None:
    """Every file of the folder is judged, but for the page and its pictures."""
    checked_files = {REPORT, VERIFIER}
    for file in shared.files.values():
        checked_files.add(file.name)
        if file.is_dir():
            checked_files.update(f"{file.name}/{part.name}" for part in file.iterdir())
    loose = [
        file for file in certificate["files"] if file not in checked_files and not _is_picture(file)
    ]
    if not loose:
        return None
    return Claim(
        "tables judged",
        "fails",
        f"{len(loose)} more file(s) in the folder, which no promise covers",
    )


def report_page(certificate: Fields, shared: SharedFolder, original: Original) -> Claim | None:
    """The page for people is the one that is drawn from this certificate.

    Another version draws other pages, and another machine other pixels: then what they say stays
    open, and the certificate counts.
    """
    files = certificate["files"]
    if shared.listed.status == "fails" or (
        REPORT not in files and not any(map(_is_picture, files))
    ):
        return None
    try:
        different = list(_drawn_otherwise(certificate, shared.folder))
    except Exception:  # noqa: BLE001
        # An edited certificate may hold anything, and a page is drawn of all of it.
        return Claim("report", "fails", "this certificate cannot be shown as a page: it was edited")
    return page_claim(different)


def verifier_of_version(
    certificate: Fields, shared: SharedFolder, original: Original
) -> Claim | None:
    """The checker that lies beside the data is the one of this version; nothing is said where none
    does.
    """
    if VERIFIER not in certificate["files"] or shared.listed.status == "fails":
        return None
    if (shared.folder / VERIFIER).read_bytes() == read_verifier():
        return Claim("verifier", "holds", f"{VERIFIER} is the one of this version")
    words = f"{VERIFIER} is not the one of this version; do not run it, take it from the project"
    return Claim("verifier", "needs original", words)


def page_claim(different: list[str]) -> Claim:
    """What is said of files that are drawn from a certificate; ``different`` are those that this
    version draws otherwise.
    """
    if not different:
        return Claim("report", "holds", "it is drawn from this certificate", section="files")
    words = f"{named_paths(different)}: differs from what this version shows; read the certificate"
    return Claim("report", "needs original", words, section="files")


def _drawn_otherwise(certificate: Fields, share: Path) -> Iterator[str]:
    from sfumato.release.report.page_html import render_page
    from sfumato.release.report.pages import charts_of
    from sfumato.release.sealing import describe_certificate, describe_pictures

    files = certificate["files"]
    page = describe_certificate(certificate)
    if REPORT in files and (share / REPORT).read_bytes() != render_page(page).encode():
        yield REPORT
    if not any(map(_is_picture, files)):
        return
    charts = charts_of(page.blocks)
    words = f"{PICTURES}/{DESCRIPTIONS}"
    for file in filter(_is_picture, files):
        content, name = (share / file).read_bytes(), Path(file).stem
        if file == words:
            is_equal = content == describe_pictures(charts).encode()
        elif name in charts:
            is_equal = content == _png_of(charts[name])
        else:  # nothing of that name is drawn, and its pixels can show anything
            is_equal = False
        if not is_equal:
            yield file


def _png_of(chart: ChartBlock) -> bytes | None:
    """The picture of a chart; None where what draws it is not installed."""
    from sfumato.core.chart_drawing import chart_png

    try:
        return chart_png(chart)
    except MissingExtra:
        return None


def _is_picture(file: str) -> bool:
    folder, _, name = file.partition("/")
    return folder == PICTURES and (
        name == DESCRIPTIONS or ("/" not in name and name.endswith((".png", ".svg")))
    )
