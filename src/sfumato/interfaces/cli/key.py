"""``sfumato key``: new keys, to sign certificates, for pseudonyms and vaults, and for a party of
studies.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from sfumato.core.options import CommandOption
from sfumato.core.portable import cannot_promise
from sfumato.errors import OutputError
from sfumato.interfaces.cli.command import Keywords, command
from sfumato.interfaces.cli.console import documents_to_stdout, notes, tell
from sfumato.interfaces.cli.options import Quiet


@command()
def make_signing_key(
    file: Annotated[Path, typer.Argument(help="file for the private key, for example office.pem")],
    quiet: Quiet = False,
) -> None:
    """Make an Ed25519 key pair: the private key signs certificates, the public one (.pub.pem) is
    given away.
    """
    from sfumato.release.signatures import new_key

    try:
        new_key(file)
    except FileExistsError:
        raise OutputError(
            f"{file} already exists, and a key is never overwritten; choose another file"
        ) from None
    except OSError as error:
        raise OutputError(f"cannot write {file}: {error.strerror}") from None
    tell(
        f"keep {file} secret; give {file.with_suffix('.pub.pem')} to everybody who verifies",
        quiet=quiet,
    )


@command()
def make_vault_key(
    file: Annotated[Path, typer.Argument(help="file for the key, for example pseudonyms.key")],
    quiet: Quiet = False,
) -> None:
    """Make a random key of 256 bits for pseudonyms and vaults."""
    from sfumato.core.keys import new_key_file

    new_key_file(file)
    tell(
        f"keep {escape(str(file))} secret, and keep a copy: without it nobody can open a vault",
        quiet=quiet,
    )
    notes(cannot_promise("modes"), quiet=quiet)


@dataclass(frozen=True)
class PartyEntry:
    """What a study says of a party."""

    address: Annotated[str, CommandOption("where this party listens, host:port")] = "HOST:PORT"
    dataset: Annotated[str, CommandOption("the name of the party's table")] = "DATASET"
    ledger_id: Annotated[
        str | None,
        CommandOption("whose budget pays for studies with noise: the name in its ledger"),
    ] = None


@command("sfumato.parties.keys:new_keys")
def make_party_keys(
    folder: Annotated[Path, CommandOption("folder for the keys", ("--out", "-o"))] = Path(),
    quiet: Quiet = False,
    *,
    party: Keywords,
    entry: PartyEntry,
) -> None:
    """Make a party's certificate and signing key, and print its entry for the study."""
    from sfumato.core.yaml_text import write_yaml
    from sfumato.parties.keys import new_keys

    keys = new_keys(folder, **party)
    fields = {
        "name": party["name"],
        # Each party makes its entry alone; numbers are given when the study is put together.
        "number": 0,
        "address": entry.address,
        "dataset": entry.dataset,
        **keys.entry(),
    }
    if entry.ledger_id is not None:
        fields["ledger_id"] = entry.ledger_id
    documents_to_stdout().write(write_yaml([fields]))
    tell(
        "[dim]add this to the study, under parties (number them 0, 1, 2, …); keep "
        f"{escape(str(keys.private))}, {escape(keys.signing.name)} and {escape(keys.secret.name)} "
        "private[/]",
        quiet=quiet,
    )
    notes(cannot_promise("modes"), quiet=quiet)
