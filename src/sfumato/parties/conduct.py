"""A study from the first rule to the signed answer, for one party over any channel.

=====  ==========  =================================================================================
phase  what        fails with
=====  ==========  =================================================================================
0      home        what the owner must mend; the others see only that this party declines
1      hello       WrongStudy, or Disagreement where a party comes back with other rows
2      gates       ReleaseRefused: too few records or parties, nothing was opened
3–5    computing   PartyLeft, WrongMessage; trying again gives the same answer
6      confirming  Disagreement where parties heard different things; else the answer waits for
                   signatures
=====  ==========  =================================================================================

The public digest is a hash of the study, the session, everything that was said to all, and the
answer. Every party signs it. An answer without everybody's signature stays in the attempt file and
is not written.
"""

from __future__ import annotations

import asyncio
import base64
import concurrent.futures
import dataclasses
import datetime
import hashlib
import hmac
import json
import os
import secrets
import struct
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.core import environment
from sfumato.core.fields import Document, Fields
from sfumato.core.keys import derived
from sfumato.core.ledger import Ledger
from sfumato.core.progress import Progress, silent
from sfumato.errors import (
    Declined,
    Disagreement,
    InternalError,
    ParameterError,
    PartyError,
    ReleaseRefused,
    SfumatoError,
    WrongMessage,
    WrongStudy,
)
from sfumato.parties.arithmetic import Arithmetic, at_least
from sfumato.parties.attempt import Attempt, AttemptMeeting, Confirmation, OpenedAnswer, State
from sfumato.parties.channel import LINK, SESSION, Channel, Missing, Network, Phase
from sfumato.parties.control import (
    AnswerStore,
    AskedTogether,
    require_enough,
    require_enough_records,
)
from sfumato.parties.keys import SIGNATURE, Keys, public_half, signature_holds
from sfumato.parties.question import Cost, JointQuestion, JointStatistic, Magnitudes, Meeting
from sfumato.parties.sharing import Draw
from sfumato.parties.study import Study, canonical
from sfumato.release.documents import versions
from sfumato.release.manifest import STUDY, VERSION
from sfumato.release.signatures import digest_of, signed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.core.table import Table

PURPOSE = b"sfumato result 1\n"
HELLO = struct.Struct(">32sB32sIB32s32s")
"""Study, number, nonce, attempt, state, mark of rows and noise, public digest of an answer that
waits for signatures.
"""
NO_DIGEST = bytes(32)
DIGITS = 12
"""Machines may differ in the last digits of a quotient; what was opened is compared in full."""


@dataclasses.dataclass(frozen=True)
class Home:
    """What belongs to the party itself: its keys, the folder of its attempts, its ledger, and the
    day.
    """

    folder: Path
    keys: Keys
    ledger: Path | None = None
    today: datetime.date = dataclasses.field(default_factory=environment.local_day)
    progress: Progress = silent
    draw: Draw = os.urandom


@dataclasses.dataclass(frozen=True)
class StudyResult:
    """A confirmed answer: a certificate of shape ``study``, which lets anybody check who confirmed
    it.
    """

    certificate: Fields

    @property
    def answer(self) -> Fields:
        """What came out."""
        answer: Fields = self.certificate[STUDY]["answer"]
        return answer

    def sealed(self, keys: Keys) -> StudyResult:
        """The result with the signature of the party whose file it is, under all of it: all parties
        sign the answer, nobody else what it cost.
        """
        return StudyResult(signed(self.certificate, keys.signing))


@dataclasses.dataclass(frozen=True)
class PlannedParty:
    """A party that may take part: all its own rules hold, the loss is spent, the noise is drawn."""

    study: Study
    number: int
    people: Table
    home: Home
    asked: AskedTogether
    begun: Attempt | None = None
    mark: bytes = b""
    stored: Fields | None = None
    """The answer of an earlier study to the same question about the same rows: nothing is asked
    then.
    """

    @property
    def attempt(self) -> Attempt:
        """The attempt that is made."""
        if self.begun is None:
            raise InternalError("a question that was answered before is not asked again")
        return self.begun

    @property
    def name(self) -> str:
        """The name of this party."""
        return self.study.parties[self.number].name


async def conduct(
    study: Study, number: int, people: Table, channel: Channel, home: Home
) -> StudyResult:
    """Home rules, hello, gates, computing, confirming. Whatever fails, the lines are closed and the
    others learn that they need not wait.
    """
    try:
        plan = prepare(study, number, people, home)
    except SfumatoError:
        await channel.close(Declined("this party declines", party=number))
        raise
    if plan.stored is not None:
        await channel.close(Declined("this was answered before", party=number))
        return repeat_result(study, plan.stored)
    return await meet(plan, channel)


# Phase 0: at home.


def prepare(study: Study, number: int, people: Table, home: Home) -> PlannedParty:
    """Check everything that can be checked alone, and plan an attempt or take up the one that was
    begun.
    """
    party = study.parties[number]
    study.require_ready(home.today)
    if public_half(home.keys.signing) != party.signing_key:
        raise ParameterError(
            f"{home.keys.signing} is not the signing key of {party.name!r} in the study"
        )
    people.require(study.question.columns)
    if len(people) > study.records_at_most:
        raise ReleaseRefused(
            f"this table alone has more rows than records_at_most, {study.records_at_most:,}, so "
            "sums would not fit; raise it in a new study"
        )
    own = study.question.own_input(people)
    secret = home.keys.owner_secret()
    # keyed, because others see marks of it: without the key nobody can test guesses of rows
    digest = hmac.digest(derived(secret, "party input", party.dataset), own, hashlib.sha256).hex()
    asked_question = _build_question(study, number, people, secret)
    begun = _begun(study, home, digest)
    # an attempt that was begun goes on: it may lack nothing but signatures
    if begun is None:
        answered = AnswerStore(home.folder / party.name)
        if (stored := answered.stored(asked_question)) is not None:
            return PlannedParty(study, number, people, home, asked_question, stored=stored)
        answered.require_new(asked_question, study.control)
    attempt = begun or _new_attempt(study, home, digest)
    # spent before the first share leaves; a later state has spent already
    if attempt.state is State.PLANNED:
        _spend(study, number, home, attempt)
    # other rows or other noise (an attempt has a name of its own) give another mark
    mark = hmac.digest(
        derived(secret, "party mark", study.id), f"{attempt.name} {digest}".encode(), hashlib.sha256
    )
    return PlannedParty(study, number, people, home, asked_question, attempt, mark)


def _build_question(study: Study, number: int, people: Table, secret: bytes) -> AskedTogether:
    """The question as this party remembers it, the rows by hashes that only its owner can
    compute.
    """
    party = study.parties[number]
    key = derived(secret, "party rows", party.dataset)
    names = [study_party.name for study_party in study.parties]
    return AskedTogether.of(
        study.question, names, party.dataset, people, key, noisy=study.noise is not None
    )


def attempt_file(study: Study, home: Home) -> Path:
    """Where the attempt of a study is kept."""
    return home.folder / f"{study.id}.{home.keys.name}.attempt"


def _begun(study: Study, home: Home, digest: str) -> Attempt | None:
    """The attempt that was begun with these rows."""
    path = attempt_file(study, home)
    begun = Attempt.load(path)
    if begun is not None and begun.study != study.digest.hex():
        raise ParameterError(
            f"{path} belongs to another study with the same id; give every study an id of its own"
        )
    if begun is not None and begun.input == digest:
        return begun
    # before anything was opened, rows may change: a new attempt is begun
    if begun is not None and begun.state >= State.OPENING:
        raise ReleaseRefused(
            "the rule 'differencing' refuses: the rows changed after the answer was opened, and "
            "two answers would reveal how; restore them, or agree on a new study"
        )
    return None


def _new_attempt(study: Study, home: Home, digest: str) -> Attempt:
    """An attempt with its noise, on the disk."""
    noise: Mapping[int, NDArray[np.int64]] = {}
    if study.noise is not None and isinstance(study.question, JointStatistic):
        noise = study.noise.drawn(study.question, len(study.parties))
    return Attempt.begin(
        attempt_file(study, home), study.digest.hex(), study.question_key, digest, noise
    )


def _spend(study: Study, number: int, home: Home, attempt: Attempt) -> None:
    """Write the loss into this party's ledger, once for every attempt with noise of its own."""
    if study.noise is None:
        return
    if home.ledger is None:
        raise ParameterError(
            "this study adds noise and spends a budget; name the ledger of the dataset (--ledger)"
        )
    ledger = Ledger.at(home.ledger)
    terms, dataset = ledger.terms, study.parties[number].ledger_id
    if terms.dataset != dataset:
        raise ParameterError(
            f"the study spends the budget of {dataset!r}, and {home.ledger} is the ledger of"
            f" {terms.dataset!r}"
        )
    if terms.relation.neighbours != study.noise.neighbours or terms.relation.protects != "row":
        raise ParameterError(
            f"{home.ledger} protects {terms.relation.words}; the noise of the study protects one"
            f" row, neighbours {study.noise.neighbours}"
        )
    # by attempt: the same noise under fresh shares costs nothing again
    key = f"{attempt.question}:{attempt.name}"
    with ledger.hold() as book:
        if key not in book.spent_on:
            book.spend({key: (f"study {study.id}: {study.question.name}", study.noise.loss)})


# Phases 1 to 6: with the others.


async def meet(plan: PlannedParty, channel: Channel) -> StudyResult:
    """Answer the study together with the others; the lines are closed at the end, whatever it
    is.
    """
    started = time.monotonic()
    try:
        waiting = await _hello(plan, channel)
        if not waiting:
            await _compute_answer(plan, channel)
        signatures = await _confirm_answer(plan, channel)
    # others learn what is wrong with a party; of other errors only that we leave
    except PartyError as error:
        await channel.close(error)
        raise
    except BaseException:
        await channel.close()
        raise
    cost = {
        "messages": channel.messages,
        "bytes_sent": channel.sent,
        "seconds": round(time.monotonic() - started, 3),
    }
    plan.attempt.note(Confirmation(signatures, cost))
    await channel.close()
    return result_of(plan.study, plan.attempt).sealed(plan.home.keys)


async def _hello(plan: PlannedParty, channel: Channel) -> bool:
    """Agree on the session; whether all have the same answer already and only signatures are
    missing.
    """
    study, attempt = plan.study, plan.attempt
    plan.home.progress(0.0, "waiting for the others")
    public = bytes.fromhex(attempt.public) or NO_DIGEST
    greeting_sent = HELLO.pack(
        study.digest,
        plan.number,
        secrets.token_bytes(32),
        attempt.number,
        attempt.state,
        plan.mark,
        public,
    )
    heard = await channel.broadcast(Phase.HELLO, greeting_sent, HELLO.size)
    greetings = {sender: HELLO.unpack(message) for sender, message in heard.items()}
    for sender, greeting in greetings.items():
        # first: what else a greeting says makes sense only for the same study
        if not hmac.compare_digest(greeting[0], study.digest):
            raise WrongStudy(
                f"party {sender} reads another study than this party; compare the files, nothing "
                "was sent",
                party=sender,
            )
        if greeting[1] != sender:
            raise WrongMessage(sender, Phase.HELLO.name.lower())
    _require_same_marks(plan, greetings)
    # the same at every party, and never used before
    number = 1 + max(greeting[3] for greeting in greetings.values())
    # with everybody's nonce: nobody can bring back the messages of an earlier session
    nonces = b"".join(greetings[sender][2] for sender in sorted(greetings))
    channel.session = hashlib.sha256(study.digest + nonces + number.to_bytes(4, "big")).digest()[
        :SESSION
    ]
    marks = {str(sender): greeting[5].hex() for sender, greeting in greetings.items()}
    attempt.note(AttemptMeeting(number, marks))
    # where all hold the same opened answer nothing is computed again
    return public != NO_DIGEST and {greeting[6] for greeting in greetings.values()} == {public}


def _require_same_marks(plan: PlannedParty, greetings: Mapping[int, tuple[Any, ...]]) -> None:
    """Once an answer may be known, nobody may come with other rows or other noise."""
    # nothing was opened yet, so other rows give nothing away
    if max(greeting[4] for greeting in greetings.values()) < State.OPENING:
        return
    for sender, greeting in greetings.items():
        # a party that we have not met before cannot have changed
        if plan.attempt.marks.get(str(sender), greeting[5].hex()) != greeting[5].hex():
            raise Disagreement(
                f"the rule 'differencing' refuses: party {sender} has other rows or other noise "
                "than when the answer was opened; it must restore them, or all agree on a new "
                "study",
                party=sender,
            )


async def _compute_answer(plan: PlannedParty, channel: Channel) -> None:
    """The answer, in the attempt file; an earlier one must be the same."""
    study, attempt, question = plan.study, plan.attempt, plan.study.question
    meeting = Meeting(
        channel=channel,
        sums=study.sums,
        degree=study.degree,
        records_at_most=study.records_at_most,
        least_records=study.control.least_records,
        draw=plan.home.draw,
        progress=plan.home.progress,
    )
    if study.noise is not None and isinstance(question, JointStatistic):
        study.noise.prepare(meeting, question, attempt.noise_by_round)
    plan.home.progress(0.05, "checking the rules together")
    await require_enough(question, plan.people, meeting, study.control)
    plan.home.progress(0.1, "computing together")
    attempt.reach(State.SHARED)
    # just before the first share of an opening leaves, this is written down
    channel.before_opening = lambda _: _opening(plan)
    answer = plain_data(await question.compute(plan.people, meeting))
    channel.before_opening = None
    # in the digits that are signed
    if attempt.answer is not None and round_numbers(attempt.answer) != round_numbers(answer):
        raise Disagreement(
            "the answer differs from that of the attempt before: rows or noise of a party changed"
        )
    # once: a second attempt would find its own answer
    if attempt.answer is None:
        AnswerStore(plan.home.folder / plan.name).record(plan.asked, answer, study.id)
    transcript = channel.public.hexdigest()
    public = public_digest(study, channel.session.hex(), transcript, answer)
    attempt.note(OpenedAnswer(answer, channel.session.hex(), transcript, public.hex()))


def _opening(plan: PlannedParty) -> None:
    """From now on others may know the answer, even if we never hear it: later questions are
    compared with it.
    """
    study = plan.study
    AnswerStore(plan.home.folder / plan.name).opening(plan.asked, study.control, study.id)
    plan.attempt.reach(State.OPENING)


async def _confirm_answer(plan: PlannedParty, channel: Channel) -> dict[str, str]:
    """Everybody's signature under the same public digest."""
    study, public = plan.study, bytes.fromhex(plan.attempt.public)
    plan.home.progress(0.95, "confirming")
    confirmation = public + plan.home.keys.sign(PURPOSE + public)
    missing: Missing = "allow" if study.protocol.dropout == "allow" else "refuse"
    # the confirming broadcast would enter the chain, and differs where parties disagree
    own_chain = list(channel.chain)
    heard = await channel.broadcast(
        Phase.CONFIRM, confirmation, len(public) + SIGNATURE, missing=missing
    )
    # before signatures: that answers differ says more than that a signature does not fit
    if any(message[: len(public)] != public for message in heard.values()):
        raise await _disagreement(channel, own_chain)
    for sender, message in heard.items():
        if not signature_holds(
            study.parties[sender].signing_key, message[len(public) :], PURPOSE + public
        ):
            raise WrongMessage(sender, Phase.CONFIRM.name.lower())
    if len(heard) < fewest_signatures(study):
        raise PartyError("too few parties confirmed the answer; it is not written, try again")
    return {
        study.parties[sender].name: base64.b64encode(message[len(public) :]).decode()
        for sender, message in heard.items()
    }


async def _disagreement(channel: Channel, own_chain: Sequence[bytes]) -> Disagreement:
    """Who heard something else than we did, and from which broadcast on: all know now that somebody
    did, and compare.
    """
    own = b"".join(own_chain)
    # every party has had as many broadcasts, so the lengths are the same
    heard = await channel.broadcast(Phase.CONFIRM, own, len(own), missing="allow")
    other_party, other_chain = next(
        ((i, message) for i, message in heard.items() if message != own), (None, own)
    )
    if other_party is None:
        return Disagreement(
            "all parties received the same messages, but the answers differ: the parties run "
            "different versions; nothing is written"
        )
    # each link contains all before it: the first that differs is where it began
    first = next(
        i for i in range(len(own_chain)) if own_chain[i] != other_chain[LINK * i : LINK * (i + 1)]
    )
    return Disagreement(
        f"party {other_party} received something else than this party from broadcast {first + 1} "
        f"of {len(own_chain)} on: a party sent different messages; the answer is not written",
        party=other_party,
    )


def fewest_signatures(study: Study) -> int:
    """All; where some may leave, so many as can open the answer."""
    if study.protocol.dropout == "allow":
        return study.degree + 1
    return len(study.parties)


# What it costs, before it is asked.

SECONDS_A_BYTE, SECONDS_A_MESSAGE = 1e-7, 0.002
"""On an ordinary machine, encryption included; a far line adds its own."""
GUARDED = 16


def estimate_cost(study: Study) -> tuple[Cost, float]:
    """What a study costs every party, about and at most, from the hello to the signatures, and
    about how many seconds.

    Lengths and order of messages depend on the study alone, so the rules are tried out here on
    numbers that satisfy them, and counted.
    """
    n = len(study.parties)
    with concurrent.futures.ThreadPoolExecutor(
        1
    ) as apart:  # there may be an event loop in this thread
        rules = apart.submit(asyncio.run, _rehearse(study)).result()
    question_cost = study.question.cost(n, study.sums, study.records_at_most)
    around = Cost(2 * (n - 1), (n - 1) * (HELLO.size + 32 + SIGNATURE), rounds=2)
    parts = (rules, question_cost, around)
    total = Cost(
        sum(part.messages for part in parts),
        sum(part.sent for part in parts),
        question_cost.products,
        sum(part.rounds for part in parts),
    )
    return total, total.messages * SECONDS_A_MESSAGE + total.sent * SECONDS_A_BYTE


async def _rehearse(study: Study) -> Cost:
    """The rules, and the guards of small counts, among parties in this process."""
    question, noisy = study.question, study.noise is not None
    network = Network(len(study.parties))
    # amounts that no rule refuses
    if noisy or not _may_dominate(question):
        amounts = None
    else:
        amounts = Magnitudes(1000, (1, 1))
    if isinstance(question, JointStatistic) and not noisy:
        cells = question.cells
    else:
        cells = 0

    async def rehearse_party(number: int) -> Cost:
        channel = network.channel(number)
        meeting = Meeting(channel, study.sums, study.degree)
        await require_enough_records(study.control.least_records, amounts, meeting, study.control)
        sent = channel.sent
        if cells:
            # a few cells are tried out, and what they cost is taken times the number of cells
            counts = np.full(min(cells, GUARDED), study.control.least_records)
            await at_least(
                Arithmetic(channel, study.degree, os.urandom), counts, study.control.least_records
            )
        guards = (channel.sent - sent) * cells // max(1, min(cells, GUARDED))
        return Cost(
            channel.messages, sent + guards, rounds=channel.messages // (network.parties - 1)
        )

    every = await asyncio.gather(*(rehearse_party(number) for number in range(network.parties)))
    return max(every, key=lambda cost: cost.sent)


def _may_dominate(question: JointQuestion) -> bool:
    # a class of its own says what may dominate
    return type(question).magnitudes is not JointQuestion.magnitudes


# The answer, its digest, and the document about it.


def plain_data(value: object) -> Any:
    """An answer as plain data."""
    if isinstance(value, Mapping):
        return {str(key): plain_data(below) for key, below in value.items()}
    if isinstance(value, list | tuple):
        return [plain_data(part) for part in value]
    if hasattr(value, "tolist"):
        return plain_data(value.tolist())
    return value


def round_numbers(value: object) -> Any:
    """Plain data with numbers to twelve digits, as text."""
    if isinstance(value, Mapping):
        return {key: round_numbers(below) for key, below in value.items()}
    if isinstance(value, list):
        return [round_numbers(part) for part in value]
    if not isinstance(value, float):
        return value
    return f"{value:.{DIGITS}g}"


def public_digest(study: Study, session: str, transcript: str, answer: Fields) -> bytes:
    """What all sign: study, session, everything that was said to all, and the answer."""
    # each part is hashed alone first, so that no byte can move from one to the next
    parts = (
        study.digest,
        bytes.fromhex(session),
        bytes.fromhex(transcript),
        canonical(round_numbers(study.question.common(answer))),
    )
    return hashlib.sha256(
        PURPOSE + b"".join(hashlib.sha256(part).digest() for part in parts)
    ).digest()


def result_of(study: Study, attempt: Attempt) -> StudyResult:
    """The result of a confirmed attempt."""
    if attempt.state is not State.CONFIRMED or attempt.answer is None:
        raise ParameterError(
            "the answer is not confirmed by all parties; run the study again together"
        )
    return _result(
        {
            "answer": attempt.answer,
            **state_study(study),
            "cost": {"estimated": estimated_cost(study), "measured": dict(attempt.cost)},
            "session": attempt.session,
            "transcript": attempt.transcript,
            "public_digest": attempt.public,
            "signatures": dict(attempt.signatures),
        }
    )


def repeat_result(study: Study, answer: Fields) -> StudyResult:
    """An answer that an earlier study gave; its signatures are in the result of that one."""
    section = {"answer": answer, "digest": study.digest.hex(), "asked_before": study.question_key}
    return _result(section)


def _result(section: Fields) -> StudyResult:
    """The certificate of a study, which is unique: there are no files beside it."""
    document = {
        "sfumato_certificate": VERSION,
        "shape": STUDY,
        "created": environment.timestamp(),
        "versions": versions(),
        STUDY: section,
        "files": {},
    }
    document = json.loads(json.dumps(document, default=str))  # lists for tuples, text for days
    return StudyResult({**document, "digest": digest_of(document)})


def estimated_cost(study: Study) -> Document:
    """What a study costs every party, about and at most, as a certificate tells it."""
    cost, seconds = estimate_cost(study)
    return {"messages": cost.messages, "bytes_sent": cost.sent, "seconds": round(seconds, 3)}


def state_study(study: Study) -> Document:
    """What a certificate says that follows from the study alone; whoever has the study can say it
    too, and compare.
    """
    parties = [
        {
            "name": p.name,
            "dataset": p.dataset,
            "certificate_sha256": p.certificate_sha256,
            "signing_key": p.signing_key,
        }
        for p in study.parties
    ]
    return {
        "digest": study.digest.hex(),
        "id": study.id,
        "question": study.document["question"],
        "parties": parties,
        "protocol": dataclasses.asdict(study.protocol),
        "rules": dataclasses.asdict(study.control),
        "noise": (
            None
            if study.noise is None
            else {**study.document["noise"], "loss": study.noise.loss.to_dict()}
        ),
    }
