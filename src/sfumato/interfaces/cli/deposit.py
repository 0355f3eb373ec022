"""``sfumato deposit``: a release with its metadata into a repository."""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from sfumato.core.options import CommandOption
from sfumato.errors import ParameterError
from sfumato.interfaces.cli.command import command
from sfumato.interfaces.cli.console import progress, tell
from sfumato.interfaces.cli.options import Quiet

TOKEN = "SFUMATO_DEPOSIT_TOKEN"  # noqa: S105 (the name of the variable)
ZENODO = "https://zenodo.org"


class Repository(enum.StrEnum):
    """Where releases can be deposited."""

    ZENODO = "zenodo"
    DATAVERSE = "dataverse"


@dataclass(frozen=True, kw_only=True)
class DepositOptions:
    """What the repository should know."""

    to: Annotated[Repository, CommandOption("the kind of repository")]
    title: Annotated[str, CommandOption("the title of the data")]
    creator: Annotated[list[str], CommandOption("a creator, 'Family, Given'; repeat for more")]
    description: Annotated[str, CommandOption("an abstract")] = ""
    publisher: Annotated[str, CommandOption("who publishes it")] = ""
    license: Annotated[str, CommandOption("its licence, like cc-by-4.0")] = ""
    contact: Annotated[str, CommandOption("an e-mail address, for Dataverse")] = ""
    server: Annotated[str, CommandOption("the address; for Zenodo it is known")] = ""
    collection: Annotated[str, CommandOption("of Dataverse: the alias of the collection")] = ""
    restricted: Annotated[
        bool, CommandOption("access on request, not for everybody", ("--restricted",))
    ] = False
    dry_run: Annotated[bool, CommandOption("write the files, send nothing", ("--dry-run",))] = False


@command()
def deposit(
    folder: Annotated[Path, typer.Argument(help="the folder that run wrote, or the shared one")],
    *,
    options: DepositOptions,
    quiet: Quiet = False,
) -> None:
    """Write the metadata of a release (DataCite, DDI, RO-Crate) and upload it as a draft.

    The files go into deposit/ beside share/: release.zip is an RO-Crate with the shared folder as
    it is. A false certificate, a rehearsal, and a release that its decision keeps in a narrower
    circle are refused. The token is read from the variable SFUMATO_DEPOSIT_TOKEN. Nothing is
    published: look at the draft, and publish it there.
    """
    from sfumato.interfaces.cli.verify import shared_folder
    from sfumato.release.deposit import DepositDetails, write_deposit

    details = DepositDetails(
        options.title,
        tuple(options.creator),
        publisher=options.publisher,
        description=options.description,
        license=options.license,
        contact=options.contact,
    )
    token = "" if options.dry_run else _token()
    _require_address(options)
    share = shared_folder(folder)
    target = share.resolve().parent / "deposit"
    with progress("writing the deposit", quiet=quiet):
        certificate = write_deposit(share, target, details, restricted=options.restricted)
    tell(f"metadata and archive are in {escape(str(target))}", quiet=quiet)
    if options.dry_run:
        tell("dry run: nothing was sent", quiet=quiet)
        return
    from sfumato.release.deposit_upload import Server, upload_to_dataverse, upload_to_zenodo

    with progress("uploading", quiet=quiet):
        if options.to is Repository.ZENODO:
            server = Server(options.server or ZENODO, "Authorization", f"Bearer {token}")
            draft = upload_to_zenodo(
                server, target, certificate, details, restricted=options.restricted
            )
        else:
            server = Server(options.server, "X-Dataverse-key", token)
            draft = upload_to_dataverse(
                server,
                target,
                certificate,
                details,
                collection=options.collection,
                restricted=options.restricted,
            )
    tell(f"a draft is at {escape(draft)}; look at it, and publish it there", quiet=quiet)


def _token() -> str:
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        raise ParameterError(f"put the token of your account into {TOKEN}, or give --dry-run")
    return token


def _require_address(options: DepositOptions) -> None:
    """Dataverse has many servers; Zenodo has no collections."""
    needed = (options.server, options.collection, options.contact)
    if options.to is Repository.DATAVERSE and not options.dry_run and not all(needed):
        raise ParameterError("Dataverse needs --server, --collection and --contact")
    if options.to is Repository.ZENODO and (options.collection or options.contact):
        raise ParameterError("--collection and --contact are of Dataverse; leave them out")
