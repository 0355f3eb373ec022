"""The evidence of a decision, from a written folder: read back, attacked, and verified.

What is judged is the file that was written, not the release in memory. The same folder, original,
terms and seed give the same evidence on every machine: how much is tried follows from work and not
from seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.core.fields import Fields
from sfumato.core.progress import Progress, silent
from sfumato.core.randomness import Seed
from sfumato.core.shape import Shape
from sfumato.core.step import ONE_RECORD, VALUES
from sfumato.errors import ParameterError
from sfumato.release import VERBS
from sfumato.release.decision.attacks import (
    EVERYBODY,
    SAMPLE,
    AttackedRelease,
    find_implied,
    guess_attributes,
    try_attacks,
)
from sfumato.release.decision.earlier_releases import (
    EarlierRelease,
    compose,
    compose_with_register,
)
from sfumato.release.decision.evidence import (
    DecisionEvidence,
    EpsilonEvidence,
    VerificationEvidence,
)
from sfumato.release.decision.file_classes import file_evidence
from sfumato.release.folder import read_release
from sfumato.release.original_checks import MADE_AGAIN
from sfumato.release.replay import NEEDS_REGISTER
from sfumato.release.shared_folder import SharedFolder

if TYPE_CHECKING:
    from sfumato.core.pair import TablePair
    from sfumato.core.table import Table
    from sfumato.release.decision.terms import DecisionTerms
    from sfumato.release.register.store import Register
    from sfumato.release.verification import Verification

SECTION = "decision"
"""Of the certificate: where a decision stands. Its own checks are no evidence for it."""


def collect_evidence(
    folder: Path,
    original: Table,
    *,
    terms: DecisionTerms,
    seed: Seed | int | str = 0,
    earlier: Sequence[EarlierRelease] = (),
    register: Register | None = None,
    everybody: int = EVERYBODY,
    sample: int = SAMPLE,
    recipe_from_table: bool = False,
    verified: bool = True,
    progress: Progress = silent,
) -> DecisionEvidence:
    """The evidence of the release in a folder, which holds share and owner.

    ``earlier`` are earlier releases of the same people; a ``register`` knows its own. Up to
    ``everybody`` people all are tried, of more ``sample``. ``recipe_from_table``: the recipe was
    chosen by looking at this table, which a certified ε does not cover. Without ``verified`` the
    folder is not compared with the original again.
    """
    written = read_release(folder)
    if written.certificate["shape"] != Shape.TABLE:
        raise ParameterError(
            f"{folder} holds a release of shape {written.certificate['shape']}; a decision is"
            " about one table"
        )
    pair = written.beside(original)
    privacy = written.certificate.get("differential_privacy") or {}
    release = AttackedRelease(
        pair,
        steps=written.recipe.steps,
        models=written.recipe.meet,
        terms=terms,
        seed=Seed.of(seed),
        accounted=_is_private(privacy),
        everybody=everybody,
        sample=sample,
    )
    compositions = list(compose(pair, earlier, seed=release.seed))
    if register is not None:
        compositions.append(compose_with_register(pair, register))
    return DecisionEvidence(
        kinds=release.kinds,
        trial=release.trial,
        file=file_evidence(SharedFolder(folder / "share", written.certificate).judged, pair),
        sensitive=release.sensitive,
        attacks=try_attacks(release, progress=progress),
        attributes=guess_attributes(release),
        dependences=find_implied(release),
        earlier=len(compositions),
        compositions=tuple(compositions),
        verification=_verification(folder, original) if verified else None,
        epsilon=_epsilon(privacy, pair, terms, recipe_from_table=recipe_from_table),
    )


def _verification(folder: Path, original: Table) -> VerificationEvidence:
    """What verifying the folder beside the original says, without the decision itself."""
    verification: Verification = VERBS["verify"](
        folder / "share",
        original=original,
        owner=folder / "owner",
        leave_out=frozenset((SECTION,)),
    )
    return verification_evidence(verification)


def verification_evidence(verification: Verification) -> VerificationEvidence:
    """A verification as evidence: the names of claims that fail, and of promises that are open."""
    made_again: bool | None = None
    failing, open_promises = [], []
    for claim in verification.claims:
        if claim.status == "fails":
            failing.append(claim.name)
        # What a register would have to tell is a term of its own.
        elif claim.promise and claim.status == "needs original" and claim.detail != NEEDS_REGISTER:
            open_promises.append(claim.name)
        if claim.name in MADE_AGAIN and claim.status in ("holds", "fails"):
            made_again = claim.status == "holds"
    return VerificationEvidence(True, made_again, tuple(failing), tuple(open_promises))


def _is_private(privacy: Fields) -> bool:
    """Whether an ε is certified that covers whole records: one given other columns does not say
    how well people are hidden by these.
    """
    return bool(privacy.get("certified")) and privacy["neighbours"] != VALUES


def _epsilon(
    privacy: Fields,
    pair: TablePair,
    terms: DecisionTerms,
    *,
    recipe_from_table: bool,
) -> EpsilonEvidence | None:
    """What is certified of ε for whole records; None where nothing is."""
    if not _is_private(privacy):
        return None
    # With neighbours that replace a record the number of records is public.
    people = len(pair.original) if privacy["neighbours"] == "replace" else terms.population or None
    return EpsilonEvidence(
        epsilon=float(privacy["epsilon"]),
        delta=float(privacy["delta"] or 0.0),
        per_person=pair.persons is None or privacy["unit_of_privacy"] != ONE_RECORD,
        public_people=people,
        recipe_from_table=recipe_from_table,
    )
