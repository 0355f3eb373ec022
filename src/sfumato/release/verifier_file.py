"""The checker without dependencies, as one file that may go with a release."""

from __future__ import annotations

from pathlib import Path

from sfumato.errors import OutputError

VERIFIER = "sfumato_verify.py"
CAVEAT = (
    f"{VERIFIER} goes with the release; a copy proves nothing about somebody who forged the "
    "release and the copy, so recipients take it from the project where that matters"
)


def read_verifier() -> bytes:
    """The file of this version: in the package once it is installed, else in its own folder of the
    repository.
    """
    here = Path(__file__).resolve()
    for file in (here.with_name(VERIFIER), here.parents[3] / "verifier" / VERIFIER):
        if file.is_file():
            return file.read_bytes()
    raise OutputError(f"this installation lacks {VERIFIER}; install sfumato again")


def write_verifier(share: Path) -> None:
    """Put the file beside the release."""
    (share / VERIFIER).write_bytes(read_verifier())
