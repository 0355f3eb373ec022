"""Checking a release without trusting who made it, whatever was released.

From the shared folder alone: the files are the certified ones, the certificate was not edited,
columns and rows are as said, every promise holds with the attained value. With the original: what
was released is exactly the original recoded as the plan says, and the suppressed count is right.
With the owner's lock: the input is the one that was committed to.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core import registry
from sfumato.core.fields import Fields
from sfumato.core.shape import Shape, is_shape
from sfumato.errors import ParameterError, SfumatoError
from sfumato.release.certificate_files import read_certificate
from sfumato.release.manifest import Claim
from sfumato.release.replay import (
    Original,
    ReplayInputs,
    UnreadableLock,
    as_released,
    original_beside,
)
from sfumato.release.shared_folder import SharedFolder, UnreadableData, UnreadableRecipe
from sfumato.release.table_sections import sections
from sfumato.release.verification import Verification
from sfumato.release.verify_checks import Check, checks_for, takes_original

if TYPE_CHECKING:
    from sfumato.core.table import Table
    from sfumato.release.table_release import TableRelease


def verify(
    folder: Path,
    *,
    original: Any = None,
    owner: Path | None = None,
    trusted_key: Path | None = None,
    population: Table | None = None,
    release: TableRelease | None = None,
    leave_out: frozenset[str] = frozenset(),
) -> Verification:
    """Recompute what a certificate claims. ``owner`` is the owner's folder, ``trusted_key`` a
    public key (PEM).

    ``original`` are data of the shape that the certificate is about. ``population`` is the second
    table that was given to the run, where there was one. ``release`` is what was written, where
    this process has made it: its rows are compared with those of the file, and it is not made a
    second time; the claims say so. Sections to ``leave_out`` are not checked.
    """
    certificate = read_certificate(folder)
    shape = certificate["shape"]
    if population is not None and not is_shape(shape):
        raise ParameterError(f"population is for tables, but {folder} holds none; leave it out")
    if is_shape(shape):
        registry.data_class(Shape(shape)).require_options({"population": population})
    if takes_original(shape) and original is not None:
        if original.shape != shape:
            raise ParameterError(
                f"{folder} holds a release of shape {shape}, but the given original has shape "
                f"{original.shape}; give its own original"
            )
        # an engine counts otherwise than memory does: compare like with like
        original = as_released(certificate, original)
    shared = SharedFolder(folder, certificate)
    replay_inputs = ReplayInputs(owner, population, release)
    inputs = original_beside(shared, original, trusted_key, replay_inputs)
    if takes_original(shape) and sections(certificate):
        # What leads out of the folder, or is no file, is refused before anything is read.
        shared.files  # noqa: B018
    claims: list[Claim] = []
    for section, check in checks_for(certificate):
        if section in leave_out:
            continue
        try:
            claims += _claims_of(check, section, certificate, shared, inputs)
        # no claim about data can follow: the others would fail for the same reason
        except UnreadableData as error:
            claims.append(Claim("readable data", "fails", str(error), section=section))
            break
    return Verification.of(folder, claims, certificate, trusted_key)


def _claims_of(
    check: Check,
    section: str,
    certificate: Fields,
    shared: SharedFolder,
    original: Original,
) -> list[Claim]:
    """The claims of a check; that it fails, where an edited certificate lacks what it needs."""
    # an edited certificate may raise anything; each error must end in a claim that fails
    try:
        claims = check(certificate, shared, original)
        if claims is None:
            return []
        claim_list = [claims] if isinstance(claims, Claim) else claims
        return [
            dataclasses.replace(claim, section=claim.section or section) for claim in claim_list
        ]
    except UnreadableRecipe:
        return []  # that the recipe is none is a claim of its own
    # these end the whole verification, or all of its checks of data
    except (UnreadableData, UnreadableLock):
        raise
    except SfumatoError as error:
        return [Claim(section, "fails", str(error), section=section)]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        words = "the certificate lacks what this claim needs, or contradicts itself"
        return [Claim(section, "fails", words, section=section)]
