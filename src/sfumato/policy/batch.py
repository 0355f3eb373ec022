"""Every release that policies allow, in one go: who gets what, for which purpose."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core import environment
from sfumato.core.blocks import Block, ListBlock, Paragraph, TableBlock
from sfumato.core.exchange import refuse_existing
from sfumato.core.progress import Progress, silent
from sfumato.core.words import count_of
from sfumato.errors import ReleaseRefused, Unsatisfiable
from sfumato.policy.compile import Use, authorise, compile_policies
from sfumato.policy.documents import Tree
from sfumato.policy.enforce import enforce
from sfumato.release.written_files import write_json

if TYPE_CHECKING:
    import datetime

    from sfumato.core.table import Table
    from sfumato.policy.people import Policies

FILE = "uses.json"
CONTROLLER = "the controller"
NOT_ALLOWED = "not allowed"
NO_RELEASE = "no release"
TOGETHER = (
    "These releases are about the same people: recipients who put theirs together can learn more "
    "than each promises. Ask sfumato register before more than one leaves the house."
)


@dataclasses.dataclass(frozen=True)
class UseOutcome:
    """What came of one purpose for one recipient (None: the controller itself).

    ``state`` is ``released``, ``not allowed`` (a policy says so) or ``no release`` (the policies
    allow it, but what they promise could not be kept); ``reason`` says why.
    """

    purpose: str
    recipient: str | None
    state: str
    reason: str = ""
    folder: str = ""
    columns: tuple[str, ...] = ()
    records: int = 0
    promises: tuple[str, ...] = ()

    @property
    def cell(self) -> str:
        """The outcome in a few words."""
        if self.state != "released":
            return self.state
        columns = count_of(len(self.columns), "column")
        return f"{columns} of {count_of(self.records, 'record')}"

    def to_dict(self) -> Tree:
        """The outcome as plain data."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class WhoGetsWhat:
    """Every use that some policy names, and what came of it."""

    outcomes: tuple[UseOutcome, ...]

    @property
    def complete(self) -> bool:
        """Whether every use that is allowed has its release."""
        return all(outcome.state != NO_RELEASE for outcome in self.outcomes)

    def blocks(self) -> list[Block]:
        """The matrix of purposes and recipients, the folders, and every reason."""
        recipients = list(dict.fromkeys(o.recipient or CONTROLLER for o in self.outcomes))
        cells = {(o.purpose, o.recipient or CONTROLLER): o.cell for o in self.outcomes}
        purposes = dict.fromkeys(outcome.purpose for outcome in self.outcomes)
        rows = tuple(
            (purpose, *(cells.get((purpose, name), "–") for name in recipients))
            for purpose in purposes
        )
        blocks: list[Block] = [TableBlock(("purpose", *recipients), rows, "Who gets what")]
        released = [o for o in self.outcomes if o.state == "released"]
        lines = [
            f"{o.folder}: {o.purpose}, {o.recipient or CONTROLLER}; {', '.join(o.promises)}"
            for o in released
        ]
        lines += [
            f"{o.state}: {o.purpose}, {o.recipient or CONTROLLER}: {o.reason}"
            for o in self.outcomes
            if o.state != "released"
        ]
        blocks.append(ListBlock(tuple(lines)))
        if len(released) > 1:
            blocks.append(Paragraph(TOGETHER))
        return blocks

    def to_dict(self) -> Tree:
        """The matrix as plain data."""
        return {"sfumato_uses": 1, "uses": [outcome.to_dict() for outcome in self.outcomes]}


def named_uses(policies: Policies) -> list[tuple[str, str | None]]:
    """Every purpose with every recipient that some policy names for it, in the order of the
    policies; a purpose without recipients is a use of the controller itself.
    """
    recipients: dict[str, dict[str, str]] = {}
    for policy in policies.all:
        for purpose in policy.purposes:
            names = recipients.setdefault(purpose.name, {})
            for recipient in purpose.recipients:
                # Names differ in case only where somebody typed them again.
                names.setdefault(recipient.name.casefold(), recipient.name)
    uses: list[tuple[str, str | None]] = []
    for purpose_name, named in recipients.items():
        uses += [(purpose_name, name) for name in named.values()] or [(purpose_name, None)]
    return uses


def enforce_all(
    policies: Policies,
    dataset: Table,
    folder: str | Path,
    *,
    by: str | None = None,
    today: datetime.date | None = None,
    ended: datetime.date | None = None,
    progress: Progress = silent,
    **options: Any,
) -> WhoGetsWhat:
    """Make every release that the policies allow, each in a folder of its own below ``folder``,
    with ``uses.json``: what came of every use.

    All uses are compiled before the first release is made, so that a broken policy leaves nothing
    behind; a use whose promises cannot be kept leaves the others as they are. Each release draws
    from a seed of its own: with the same one, rows of two releases could be told to belong
    together. The other options are those of :func:`sfumato.policy.compile.compile_policies`.
    """
    target = Path(folder)
    refuse_existing(target, force=None)
    day = today or environment.now().date()
    table = policies.assigned(dataset, by) if policies.groups and by is not None else dataset
    uses = [Use(purpose, recipient, day, ended) for purpose, recipient in named_uses(policies)]
    asked = [(use, _why_not(policies, use)) for use in uses]
    if all(reason for _, reason in asked):
        reasons = sorted({reason for _, reason in asked})
        raise ReleaseRefused("; ".join(reasons) or "the policies name no purpose; add one")
    days: dict[str, Any] = {"today": day, "ended": ended}
    for use, reason in asked:
        if not reason:
            _compiled_or_none(policies, table, use, {**days, **options})
    outcomes = []
    for number, (use, reason) in enumerate(asked, 1):
        if reason:
            outcomes.append(UseOutcome(use.purpose, use.recipient, NOT_ALLOWED, reason))
            continue
        name = f"{number:02d}-{_slug(use.purpose)}-{_slug(use.recipient or 'controller')}"
        try:
            enforced = enforce(
                policies,
                table,
                purpose=use.purpose,
                recipient=use.recipient,
                progress=progress,
                **days,
                **options,
            )
        except (ReleaseRefused, Unsatisfiable) as error:
            outcomes.append(UseOutcome(use.purpose, use.recipient, NO_RELEASE, str(error)))
            continue
        enforced.write(target / name)
        release = enforced.release
        outcomes.append(
            UseOutcome(
                use.purpose,
                use.recipient,
                "released",
                folder=name,
                columns=tuple(release.released_columns),
                records=release.released.records,
                promises=tuple(verdict.promise for verdict in release.verdicts),
            )
        )
    found = WhoGetsWhat(tuple(outcomes))
    target.mkdir(parents=True, exist_ok=True)
    write_json(target / FILE, found.to_dict())
    return found


def _why_not(policies: Policies, use: Use) -> str:
    """Why the policies do not allow a use; empty where they do. Whoever has an own policy that
    refuses is left out; where all do, there is nobody.
    """
    everybody = [authorise(policy, use) for policy in policies.everybody]
    reasons = [permission.reason for permission in everybody if not permission.allowed]
    own = [authorise(policy, use) for policy in policies.groups.values()]
    if not reasons and own and not any(permission.allowed for permission in own):
        reasons = sorted({permission.reason for permission in own})
    return "; ".join(reasons)


def _compiled_or_none(policies: Policies, table: Table, use: Use, options: dict[str, Any]) -> None:
    """Compile a use, so that what is wrong with policies, table or options is raised now; that its
    promises cannot be kept is for the release to say.
    """
    try:
        compile_policies(policies, table, purpose=use.purpose, recipient=use.recipient, **options)
    except (ReleaseRefused, Unsatisfiable):
        return


def _slug(name: str) -> str:
    """A name as part of a folder's name: letters, digits and hyphens.

    >>> _slug("../Health research (EU)"), _slug("…")
    ('health-research-eu', 'use')
    """
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:40] or "use"
