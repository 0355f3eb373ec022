"""``sfumato keygen``: a key to sign certificates with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import Quiet
from sfumato.cli.talk import tell
from sfumato.errors import OutputError


def keygen(
    file: Annotated[Path, typer.Argument(help="where the private key goes, for example office.pem")],
    quiet: Quiet = False,
) -> None:
    """Make an Ed25519 key pair: the private key signs certificates, the public one (.pub.pem) is given away."""
    from sfumato.release.certificates import new_key

    try:
        new_key(file)
    except FileExistsError:
        raise OutputError(f"{file} already exists; a key is never overwritten") from None
    except OSError as error:
        raise OutputError(f"cannot write {file}: {error.strerror}") from None
    tell(f"keep {file} secret; give {file.with_suffix('.pub.pem')} to whoever verifies", quiet=quiet)
