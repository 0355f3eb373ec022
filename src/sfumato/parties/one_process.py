"""All parties in one process: to try a question before it is asked for real, and to test."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.core.fields import Document, Fields
from sfumato.core.progress import Progress, silent
from sfumato.errors import ParameterError, ReleaseRefused
from sfumato.parties.channel import Network
from sfumato.parties.control import Rules, require_enough
from sfumato.parties.kinds import question_from
from sfumato.parties.noise import JointNoise
from sfumato.parties.protocols import Shamir, summation, usual_degree
from sfumato.parties.question import Cost, JointQuestion, JointStatistic, Meeting

if TYPE_CHECKING:
    from sfumato.core.table import Table


@dataclasses.dataclass(frozen=True, eq=False)
class JointAnswer:
    """An answer of several parties: ``value`` by name, what it cost each of them, and the digest of
    all that was said to everybody.

    ``estimated`` is what the question itself was known to cost beforehand; rules and guards of
    small counts come on top.
    """

    value: Fields
    protocol: str
    cost: Cost
    estimated: Cost
    digest: str

    def __getitem__(self, name: str) -> Any:
        """One value of the answer."""
        return self.value[name]


def together(
    tables: Sequence[Table],
    question: JointQuestion | Fields,
    *,
    protocol: str = "shamir",
    noise: JointNoise | Fields | None = None,
    rules: Rules | Fields | None = None,
    records_at_most: int | None = None,
    progress: Progress = silent,
    **options: Any,
) -> JointAnswer:
    """Let parties with these tables compute an answer as they would for real, all in this process.

    What the protocol opens, refuses and costs is what it would be between machines; what one
    process sees is everything, so this is for trying and testing. ``options`` are those of
    the protocol: ``degree`` and ``dropout`` of Shamir's, ``server`` and ``key_holder`` of the
    encrypted one. ``records_at_most`` is what a study says of all records together; here by default
    ten times their number.

    >>> import polars as pl, sfumato as sf
    >>> ages = [[71, 64, 80], [55, 62], [90, 77, 68, 59], [45]]
    >>> hospitals = [sf.read(pl.DataFrame({"age": some})) for some in ages]
    >>> together(hospitals, {"mean": {"column": "age", "bounds": ["0", "120"]}}).value
    {'count': 10, 'mean': 67.1}
    """
    joint_question = question_from(question)
    joint_noise = JointNoise(**noise) if isinstance(noise, Mapping) else noise
    if isinstance(rules, Mapping):
        joint_rules = Rules(**rules)
    else:
        joint_rules = rules or Rules()
    _require_study(tables, joint_question, protocol, joint_noise, joint_rules)
    network = Network(len(tables))
    # a margin, as a study would have one: the exact number would be public
    if records_at_most is None:
        record_limit = 10 * max(1, sum(map(len, tables)))
    else:
        record_limit = records_at_most
    meetings = [
        _meeting(
            network,
            number,
            joint_question,
            protocol,
            joint_noise,
            joint_rules,
            record_limit,
            options,
        )
        for number in range(len(tables))
    ]
    meetings[0].progress = progress
    answers = _run(_everybody(joint_question, tables, meetings, joint_rules))
    first = meetings[0].channel
    estimated = joint_question.cost(len(tables), meetings[0].sums, record_limit)
    cost = Cost(first.messages, first.sent, rounds=meetings[0].round)
    return JointAnswer(answers[0], protocol, cost, estimated, first.public.hexdigest())


def _require_study(
    tables: Sequence[Table],
    question: JointQuestion,
    protocol: str,
    noise: JointNoise | None,
    rules: Rules,
) -> None:
    if len(tables) < rules.least_parties:
        raise ReleaseRefused(
            f"the rule 'two_parties' refuses: there are {len(tables)} parties, and the least is "
            f"{rules.least_parties}; with two, each could compute the other's part"
        )
    if protocol not in question.protocols:
        raise ParameterError(
            f"question {question.name!r} can be answered by {', '.join(question.protocols)}, not "
            f"by {protocol!r}"
        )
    if noise is not None and not isinstance(question, JointStatistic):
        raise ParameterError(f"noise inside is for statistics, not for {question.name!r}")


def _meeting(
    network: Network,
    number: int,
    question: JointQuestion,
    protocol: str,
    noise: JointNoise | None,
    rules: Rules,
    records: int,
    options: Fields,
) -> Meeting:
    # a joint release brings its own arithmetic, and adds by the usual shares
    sums = Shamir() if protocol == "joint" else summation(protocol, **options)
    meeting = Meeting(
        network.channel(number), sums, usual_degree(network.parties), records, rules.least_records
    )
    if noise is not None and isinstance(question, JointStatistic):
        noise.prepare(meeting, question, noise.drawn(question, network.parties))
    return meeting


async def _everybody(
    question: JointQuestion, tables: Sequence[Table], meetings: Sequence[Meeting], rules: Rules
) -> list[Document]:
    async def run_party(people: Table, meeting: Meeting) -> Document:
        try:
            people.require(question.columns)
            await require_enough(question, people, meeting, rules)
            return await question.compute(people, meeting)
        # the others must not wait for a party that failed
        finally:
            await meeting.channel.close()

    ended = await asyncio.gather(*map(run_party, tables, meetings), return_exceptions=True)
    # who left because of somebody else's error says less than that error
    errors = sorted(
        (e for e in ended if isinstance(e, BaseException)), key=lambda e: hasattr(e, "party")
    )
    if errors:
        raise errors[0]
    return [answer for answer in ended if isinstance(answer, dict)]


def _run(work: Coroutine[Any, Any, list[Document]]) -> list[Document]:
    """Run to the end, also where an event loop is running already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    ended: list[Any] = []

    def run() -> None:
        try:
            ended.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001  raised again where it belongs
            # whatever it is, it is raised again in the thread that asked
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(ended[0], BaseException):
        raise ended[0]
    answers: list[Document] = ended[0]
    return answers
