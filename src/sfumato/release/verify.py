"""Checking a release without trusting who made it, whatever the shape of its data.

From the shared folder alone: the files are the certified ones, the certificate was not edited, columns and rows are
as said, every promise holds with the attained value. With the original: what was released is exactly the original
recoded as the plan says, and the suppressed count is right. With the owner's lock: the input is the one that was committed to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.errors import ParameterError, SfumatoError, UnreadableInput
from sfumato.release.certificates import read_any_certificate, shape_of, signature_holds
from sfumato.release.consistency import inside_claim, made_by_this_version, report_claim
from sfumato.release.documents import digest_of
from sfumato.release.manifest import Claim, folder_claim, sha256_of, sha256_of_parts
from sfumato.release.promise_checks import promise_claims
from sfumato.release.recipe_checks import accounted_for
from sfumato.release.replay import ReplayInputs, as_released, claims_from_original
from sfumato.release.shape_checks import checks_for
from sfumato.release.shaped.reading import sections
from sfumato.release.shared_folder import files_of, require_plain_parts
from sfumato.release.verification import Verification, without_replayed

if TYPE_CHECKING:
    from sfumato.core.dataset import Dataset
    from sfumato.release.shared_folder import SharedFolder
    from sfumato.release.table_release import TableRelease


def verify(
    folder: Path,
    *,
    original: Any = None,
    owner: Path | None = None,
    trusted_key: Path | None = None,
    population: Dataset | None = None,
    release: TableRelease | None = None,
) -> Verification:
    """Recompute what a certificate claims. ``owner`` is the owner's folder, ``trusted_key`` a public key (PEM).

    ``original`` are data of the shape that the certificate is about. ``population`` is the second table that was given to the run, where
    there was one. ``release`` is what was written, where this process has made it: its rows are compared with those of the file, and it
    is not made a second time; the claims say so.
    """
    certificate = read_any_certificate(folder)
    shape = shape_of(certificate)
    if original is not None and original.shape is not shape:
        raise ParameterError(
            f"{folder} holds a release of shape {shape}, and the original given is of shape {original.shape}"
        )
    checks = checks_for(certificate)
    if population is not None and not checks.takes_population:
        raise ParameterError(f"population goes with tables; {folder} holds a release of shape {shape}")
    files = files_of(folder, certificate)
    listed = folder_claim(certificate, folder)
    claims = [edited(certificate), signature(certificate, trusted_key), listed]
    try:
        for name, file in files.items():
            require_plain_parts(file)
            claims.append(unchanged(sections(certificate)[name], file, f"{name} file unedited"))
        shared = checks.open(folder, certificate)
    except SfumatoError as error:
        claims.append(Claim("readable data", "fails", str(error)))
        return Verification.of(folder, claims, certificate, trusted_key)

    # from the shared files alone
    claims += [_guarded(check, shared) for check in checks.of_files]
    for name in shared.tables:
        claims += _table_claims(shared, name, f"rows and columns{checks.of_table.format(name)}")
    claims += accounted_for(shared, checks.of_recipe)
    claims.append(report_of(certificate, folder, listed))
    claims += [Claim(name, "holds", words) for name, words in shared.released.proven().items()]

    # from the original too, where it is given
    if original is not None:
        original = as_released(certificate, original)
    before = checks.as_judged(certificate, original, owner, shared.first.seen)
    promises = promise_claims(shared, before)
    context = ReplayInputs(owner, population, release)
    again = claims_from_original(certificate, shared.released, original, checks.replay, context)
    claims += without_replayed(promises, again)
    claims += [_guarded(check, shared, before) for check in checks.of_promises]
    return Verification.of(folder, [*claims, *again], certificate, trusted_key)


def edited(certificate: Mapping[str, Any]) -> Claim:
    """Whether the text of a certificate is the one that was written."""
    if certificate.get("digest") == digest_of(certificate):
        return Claim("certificate unedited", "holds", "its digest fits its text")
    return Claim("certificate unedited", "fails", "its text was changed after it was written: the digest does not fit")


def signature(certificate: Mapping[str, Any], trusted: Path | None) -> Claim | None:
    """Whether a signature fits, where there is one or one was asked for."""
    if "signature" not in certificate:
        return (
            Claim("signature", "fails", "a trusted key was given but the certificate is not signed")
            if trusted
            else None
        )
    if not signature_holds(certificate, trusted):
        return Claim("signature", "fails", "the signature does not fit the certificate or is not from the trusted key")
    who = "by the trusted key" if trusted else "by the key it carries (give --key to say whom you trust)"
    return Claim("signature", "holds", f"Ed25519, signed {who}")


def unchanged(data: Mapping[str, Any], file: Path, name: str = "data file unedited") -> Claim:
    """Whether a file is the one that a section of a certificate describes."""
    try:
        found = sha256_of_parts(file) if file.is_dir() else sha256_of(file)
    except OSError:
        raise UnreadableInput(f"{file} is not there or cannot be read") from None
    if found == data.get("sha256"):
        return Claim(name, "holds", "SHA-256 fits")
    return Claim(name, "fails", "the file was changed after it was certified: its SHA-256 does not fit")


def read_released(folder: Path, certificate: Mapping[str, Any]) -> Any:
    """The released data of a shared folder, described as its certificate says."""
    return checks_for(certificate).read(folder, certificate)


def _guarded(check: Callable[..., Claim | None], *arguments: Any) -> Claim | None:
    """A claim; that it fails, where an edited certificate lacks what it needs."""
    try:
        return check(*arguments)
    except (KeyError, TypeError, ValueError):
        return Claim(check.__name__.removesuffix("_claim"), "fails", "the certificate lacks what this claim needs")


def _table_claims(shared: SharedFolder, table: str, name: str) -> Iterator[Claim | None]:
    """Rows, columns, cells that a spreadsheet would run, and whether the file holds nothing else."""
    section, found = sections(shared.certificate)[table], shared.tables[table]
    rows, columns = section["rows"], list(section["columns"])
    if (rows, columns) == (found.rows, list(found.columns)):
        yield Claim(name, "holds", f"{rows:,} rows, {len(columns)} columns as said")
    else:
        words = f"{found.rows:,} rows and {len(found.columns)} columns found, {rows:,} and {len(columns)} certified"
        yield Claim(name, "fails", words)
    # Nothing is said where the cells are as counted. A CSV of this version always tells how many there are.
    told = "formulas" in section or (section["format"] == "csv" and made_by_this_version(shared.certificate))
    if told and section.get("formulas") != found.formulas:
        words = "the cells of the file that a spreadsheet would run are not those certified"
        yield Claim("formulas", "fails", words)
    yield inside_claim(shared.certificate, section, shared.files[table])


def report_of(certificate: Mapping[str, Any], folder: Path, listed: Claim) -> Claim | None:
    """Whether the page for people says what the certificate says, in a folder that is as ``listed``.

    A certificate of which no page can be drawn was edited.
    """
    if "files" not in certificate or listed.status == "fails":
        return None
    try:
        return report_claim(certificate, folder)
    except Exception:  # noqa: BLE001 - an edited certificate may hold anything, and a page is drawn of all of it
        return Claim("report", "fails", "no page can be drawn of this certificate: it was edited")
