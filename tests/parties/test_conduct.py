"""A study from home rules to signatures, all parties in one process."""

from __future__ import annotations

import asyncio
import copy
import datetime
import json
import stat

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import (
    BudgetExceeded,
    Declined,
    Disagreement,
    ParameterError,
    PartyLeft,
    ReleaseRefused,
    SchemaError,
    UnreadableInput,
    WrongMessage,
    WrongStudy,
)
from sfumato.parties.attempt import Attempt, State
from sfumato.parties.channel import Channel, Network, Phase
from sfumato.parties.conduct import (
    Home,
    StudyResult,
    attempt_file,
    conduct,
    estimate_cost,
    repeat_result,
)
from sfumato.parties.study import read_study
from sfumato.release.signatures import digest_of
from tests.parties.studies import (
    AGES,
    MEAN,
    NAMES,
    a_study,
    document,
    keys_in,
    ledger_of,
    spent,
    statuses,
    tables,
    written,
)

DAY = datetime.date(2026, 11, 16)
NOISE = {"epsilon": "0.5", "colluders": 1}
ROUGH = {"mean": {"column": "age", "bounds": ["0", "120"], "scale": 0}}
"""With noise, ages in whole years are fine enough."""


def home_of(folder, keys, *, noisy=False):
    return Home(
        folder / keys.name, keys, ledger_of(folder, keys.name) if noisy else None, today=DAY
    )


def run(folder, study, *, people=None, channels=None, noisy=False, studies=None):
    """Everybody's result or error."""
    homes = [home_of(folder, keys, noisy=noisy) for keys in keys_in(folder)]
    network = Network(len(homes))
    lines = channels or [network.channel(i) for i in range(len(homes))]
    brought = people or tables()

    async def everyone():
        work = [
            conduct((studies or {}).get(i, study), i, brought[i], lines[i], homes[i])
            for i in range(len(homes))
        ]
        return await asyncio.gather(*work, return_exceptions=True)

    return asyncio.run(everyone())


def attempts(folder, study):
    return [Attempt.load(attempt_file(study, home_of(folder, keys))) for keys in keys_in(folder)]


class Failing(Channel):
    """Lines that end when this party is about to speak in a phase for the nth time; or speak
    otherwise than they should.
    """

    def __init__(self, inner, phase, nth=1, change=None):
        super().__init__(inner.number, inner.parties)
        self.inner, self.phase, self.left, self.change = inner, phase, nth, change

    async def _exchange(self, phase, outgoing, lengths, missing):
        if phase is self.phase:
            self.left -= 1
            if self.left == 0 and self.change is None:
                await self.inner.close()
                raise ConnectionResetError
            if self.left == 0:
                outgoing = {to: self.change(to, message) for to, message in outgoing.items()}
        return await self.inner._exchange(phase, outgoing, lengths, missing)

    async def close(self, why=None):
        await self.inner.close(why)


def failing(number, phase, nth=1, change=None):
    network = Network(4)
    lines = [network.channel(i) for i in range(4)]
    lines[number] = Failing(lines[number], phase, nth, change)
    return lines


@pytest.mark.parametrize(
    "protocol",
    [
        {"name": "shamir"},
        {"name": "additive"},
        {"name": "shamir", "dropout": "allow"},
        {"name": "encrypted", "server": "hospital_a", "key_holder": "hospital_d"},
    ],
    ids=lambda protocol: f"{protocol['name']} {protocol.get('dropout', '')}".strip(),
)
def test_the_worked_example(tmp_path, protocol):
    if protocol["name"] == "encrypted":
        pytest.importorskip("tenseal")
    study = a_study(tmp_path, protocol=protocol)
    results = run(tmp_path, study)
    for result in results:
        assert result.answer == {"count": 10, "mean": 67.1}
        assert (
            result.certificate["study"]["public_digest"]
            == results[0].certificate["study"]["public_digest"]
        )
        assert set(result.certificate["study"]["signatures"]) == set(NAMES)
        assert statuses(result.certificate, study) == {"holds"}
    assert {attempt.state for attempt in attempts(tmp_path, study)} == {State.CONFIRMED}


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {
            "question": {
                "histogram": {
                    "axis": {"column": "age", "edges": [str(n) for n in range(0, 121, 2)]}
                }
            }
        },
        {"protocol": {"name": "additive"}, "question": {"count": {}}},
    ],
)
def test_the_cost_is_known_beforehand(tmp_path, asked):
    """Within a factor of two: which bits are drawn again is chance, and the rest depends on the
    study.
    """
    study = a_study(tmp_path, **asked)
    cost, seconds = estimate_cost(study)
    measured = run(tmp_path, study)[0].certificate["study"]["cost"]["measured"]
    assert 0.5 * cost.sent <= measured["bytes_sent"] <= 2 * cost.sent
    assert 0.5 * cost.messages <= measured["messages"] <= 2 * cost.messages
    assert seconds > 0


def test_what_is_kept_is_for_the_owner(tmp_path):
    study = a_study(tmp_path)
    run(tmp_path, study)
    for keys in keys_in(tmp_path):
        path = attempt_file(study, home_of(tmp_path, keys))
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nothing_secret_is_in_the_result(tmp_path):
    study = a_study(tmp_path, question=ROUGH, noise=NOISE)
    results = run(tmp_path, study, noisy=True)
    for keys, result, attempt in zip(
        keys_in(tmp_path), results, attempts(tmp_path, study), strict=True
    ):
        text = json.dumps(result.certificate)
        assert keys.secret.read_text().strip() not in text
        assert attempt.input not in text
        assert attempt.name not in text
        assert json.dumps(attempt.noise) not in text


@pytest.mark.parametrize(
    "change",
    [
        lambda said: said["answer"].update(mean=67.2),
        lambda said: said.update(transcript="00" * 32),
        lambda said: said["signatures"].pop("hospital_c"),
        lambda said: said.update(digest="00" * 32),
        lambda said: said.update(session="zz"),
        lambda said: said.update(question={"count": {}}),
        lambda said: said.update(noise={"epsilon": "0.01"}),
        lambda said: said["parties"][0].update(dataset="another"),
        lambda said: said["rules"].update(least_records=1000),
        lambda said: said["cost"]["estimated"].update(messages=1),
    ],
)
def test_a_changed_result_is_noticed(tmp_path, change):
    """By who knows the study, whoever sealed and signed the change."""
    study = a_study(tmp_path)
    certificate = copy.deepcopy(dict(run(tmp_path, study)[1].certificate))
    change(certificate["study"])
    certificate["digest"] = digest_of(certificate)
    keys = keys_in(tmp_path)[1]
    assert "fails" in statuses(StudyResult(certificate).sealed(keys).certificate, study)


def test_a_repeated_answer_is_not_signed(tmp_path):
    study = a_study(tmp_path)
    assert "fails" in statuses(repeat_result(study, {"count": 10}).certificate, study)


def test_an_unsigned_result_stays_open(tmp_path):
    study = a_study(tmp_path)
    certificate = dict(run(tmp_path, study)[1].certificate)
    del certificate["signature"]
    assert statuses(certificate, study) == {"holds", "needs original"}


@pytest.mark.parametrize(
    "phase", [Phase.HELLO, Phase.GATES, Phase.SHARE, Phase.OPEN, Phase.CONFIRM]
)
def test_who_leaves_in_any_phase_leaves_no_result_and_trying_again_answers_the_same(
    tmp_path, phase
):
    study = a_study(tmp_path, question=ROUGH, noise=NOISE)
    broken = run(tmp_path, study, channels=failing(2, phase), noisy=True)
    assert isinstance(broken.pop(2), ConnectionResetError)
    assert all(isinstance(one, PartyLeft) for one in broken)
    noise = [attempt.noise for attempt in attempts(tmp_path, study)]
    known = [attempt.answer for attempt in attempts(tmp_path, study) if attempt.answer is not None]
    again = run(tmp_path, study, noisy=True)
    assert [attempt.noise for attempt in attempts(tmp_path, study)] == noise
    assert all(result.answer == again[0].answer for result in again)
    assert all(answer == again[0].answer for answer in known)
    assert [spent(tmp_path, name) for name in NAMES] == [(0.5, 1)] * 4


@pytest.mark.parametrize(
    ("phase", "nth"), [(Phase.OPEN, 2), (Phase.CONFIRM, 1)]
)  # the first opening is that of the guards
def test_where_it_is_allowed_the_rest_finishes_without_who_left(tmp_path, phase, nth):
    study = a_study(tmp_path, protocol={"name": "shamir", "dropout": "allow"})
    results = run(tmp_path, study, channels=failing(2, phase, nth))
    assert isinstance(results.pop(2), ConnectionResetError)
    for result in results:
        assert result.answer == {"count": 10, "mean": 67.1}
        assert set(result.certificate["study"]["signatures"]) == set(NAMES) - {"hospital_c"}
        assert statuses(result.certificate, study) == {"holds"}
    again = run(tmp_path, study)
    assert all(set(result.certificate["study"]["signatures"]) == set(NAMES) for result in again)


def test_signatures_are_asked_for_alone_when_all_know_the_answer(tmp_path):
    study = a_study(tmp_path)
    run(tmp_path, study, channels=failing(2, Phase.CONFIRM))
    before = attempts(tmp_path, study)
    assert {attempt.state for attempt in before} == {State.OPENED}
    network = Network(4, keep=True)
    again = run(tmp_path, study, channels=[network.channel(i) for i in range(4)])
    assert {phase for view in network.views for phase, _, _ in view} == {Phase.HELLO, Phase.CONFIRM}
    assert {result.certificate["study"]["public_digest"] for result in again} == {before[0].public}


def test_other_rows_are_refused_once_the_answer_may_be_known(tmp_path):
    study = a_study(tmp_path)
    run(tmp_path, study, channels=failing(2, Phase.CONFIRM))
    changed = tables()
    changed[1] = sf.read(pl.DataFrame({"age": [55, 63]}))
    results = run(tmp_path, study, people=changed)
    assert isinstance(results[1], ReleaseRefused)
    assert "differencing" in str(results[1])
    assert all(isinstance(results[i], Declined) for i in (0, 2, 3))


def test_other_rows_under_a_forgotten_attempt_are_refused_by_the_others(tmp_path):
    study = a_study(tmp_path)
    run(tmp_path, study, channels=failing(2, Phase.CONFIRM))
    attempt_file(study, home_of(tmp_path, keys_in(tmp_path)[1])).unlink()
    (tmp_path / NAMES[1] / NAMES[1] / "answered.jsonl").unlink()
    results = run(tmp_path, study)
    assert all(isinstance(one, Disagreement | PartyLeft) for one in results)
    assert any("differencing" in str(one) for one in results)


def test_other_rows_before_anything_was_opened_are_a_new_attempt_and_spend_again(tmp_path):
    study = a_study(tmp_path, question=ROUGH, noise=NOISE)
    run(tmp_path, study, channels=failing(2, Phase.SHARE), noisy=True)
    changed = tables()
    changed[1] = sf.read(pl.DataFrame({"age": [55, 63]}))
    assert all(result.answer for result in run(tmp_path, study, people=changed, noisy=True))
    assert [spent(tmp_path, name) for name in NAMES] == [(0.5, 1), (1.0, 2), (0.5, 1), (0.5, 1)]


def test_a_new_study_with_the_same_question_is_answered_from_what_was_kept(tmp_path):
    run(tmp_path, a_study(tmp_path))
    second = a_study(tmp_path, id="f" * 32)
    results = run(tmp_path, second)
    assert [result.answer for result in results] == [{"count": 10, "mean": 67.1}] * 4
    assert all("asked_before" in result.certificate["study"] for result in results)


def test_too_few_records_open_nothing(tmp_path):
    study = a_study(tmp_path, control={"least_records": 11})
    results = run(tmp_path, study)
    assert all(isinstance(one, ReleaseRefused) for one in results)
    assert all(
        attempt.state is State.PLANNED and attempt.answer is None
        for attempt in attempts(tmp_path, study)
    )


def test_too_few_parties_with_a_record_open_nothing(tmp_path):
    people = tables()
    everyone = [age for ages in AGES for age in ages]
    people[0] = sf.read(pl.DataFrame({"age": everyone}))
    people[1:] = [sf.read(pl.DataFrame({"age": pl.Series([], dtype=pl.Int64)}))] * 3
    study = a_study(tmp_path, control={"least_own": 0})
    assert all(isinstance(one, ReleaseRefused) for one in run(tmp_path, study, people=people))


def test_an_overspent_budget_declines_at_home(tmp_path):
    study = a_study(tmp_path, question=ROUGH, noise={"epsilon": "3", "colluders": 1})
    results = run(tmp_path, study, noisy=True)
    assert all(isinstance(one, BudgetExceeded) for one in results)


def test_who_declines_at_home_gives_the_others_no_reason(tmp_path):
    study = a_study(tmp_path, question=ROUGH, noise=NOISE)
    ledger_of(tmp_path, NAMES[1], epsilon=0.25)
    results = run(tmp_path, study, noisy=True)
    assert isinstance(results.pop(1), BudgetExceeded)
    assert all(isinstance(one, Declined) and "budget" not in str(one) for one in results)
    assert spent(tmp_path, NAMES[1]) == (0.0, 0)


@pytest.mark.parametrize(
    "what", ["no ledger", "another dataset", "unsigned", "too late", "columns", "keys"]
)
def test_what_does_not_fit_at_home_is_said_at_home(tmp_path, what):
    plain = document(
        tmp_path, question=ROUGH, noise=NOISE, valid={"from": "2026-01-01", "until": "2026-12-31"}
    )
    study = read_study(written(tmp_path, plain, signers=NAMES[:3] if what == "unsigned" else None))
    keys = keys_in(tmp_path)
    home = home_of(tmp_path, keys[1], noisy=True)
    people = tables()[1]
    if what == "no ledger":
        home = home_of(tmp_path, keys[1])
    if what == "another dataset":
        home = Home(home.folder, home.keys, ledger_of(tmp_path, NAMES[0]), today=DAY)
    if what == "too late":
        home = Home(home.folder, home.keys, home.ledger, today=datetime.date(2027, 1, 1))
    if what == "columns":
        people = sf.read(pl.DataFrame({"years": [1]}))
    if what == "keys":
        home = Home(home.folder, keys[2], home.ledger, today=DAY)
    with pytest.raises(SchemaError if what == "columns" else ParameterError):
        asyncio.run(conduct(study, 1, people, Network(4).channel(1), home))
    if what not in ("no ledger", "another dataset"):
        assert spent(tmp_path, NAMES[1]) == (0.0, 0)


def test_another_study_is_refused_by_name(tmp_path):
    study = a_study(tmp_path)
    other = read_study(
        written(tmp_path, document(tmp_path, records_at_most=999), name="other.yaml")
    )
    results = run(tmp_path, study, studies={2: other})
    assert all(isinstance(one, WrongStudy | PartyLeft) for one in results)
    assert isinstance(results[0], WrongStudy)
    assert all(attempt.answer is None for attempt in attempts(tmp_path, study))


def test_another_study_with_the_same_id_does_not_take_up_the_attempt(tmp_path):
    run(tmp_path, a_study(tmp_path), channels=failing(2, Phase.SHARE))
    other = read_study(
        written(tmp_path, document(tmp_path, records_at_most=999), name="other.yaml")
    )
    assert all(
        isinstance(one, ParameterError) and "same id" in str(one) for one in run(tmp_path, other)
    )


def test_who_tells_different_stories_is_found_out(tmp_path):
    """One party opens other numbers to one of the others: the digests differ, and no result is
    written.
    """

    def lie(to, message):
        return bytes([message[0] ^ (to == 3), *message[1:]])

    study = a_study(tmp_path, protocol={"name": "additive"})
    results = run(tmp_path, study, channels=failing(1, Phase.OPEN, 2, lie))
    assert all(isinstance(one, Disagreement | PartyLeft) for one in results)
    assert any("from broadcast" in str(one) for one in results if isinstance(one, Disagreement))


def test_a_forged_signature_is_no_confirmation(tmp_path):
    study = a_study(tmp_path)
    results = run(
        tmp_path,
        study,
        channels=failing(1, Phase.CONFIRM, 1, lambda _, message: message[:-1] + b"\0"),
    )
    assert all(
        isinstance(one, WrongMessage | PartyLeft) for one in (results[0], results[2], results[3])
    )


def test_a_damaged_attempt_file_is_not_forgotten(tmp_path):
    study = a_study(tmp_path)
    run(tmp_path, study, channels=failing(2, Phase.SHARE))
    attempt_file(study, home_of(tmp_path, keys_in(tmp_path)[0])).write_text("{")
    assert isinstance(run(tmp_path, study)[0], UnreadableInput)


def test_the_question_key_does_not_depend_on_id_and_limits(tmp_path):
    one, other = a_study(tmp_path), a_study(tmp_path, id="e" * 32, limits={"connect": 5})
    assert one.question_key == other.question_key
    assert one.digest != other.digest
    third = a_study(tmp_path, question={"count": {}})
    assert third.question_key != one.question_key
    assert one.document["question"] == MEAN


RELEASE = {
    "attributes": {
        "age": {"role": "quasi", "between": [20, 69], "hierarchy": {"intervals": [10]}},
        "sex": {"role": "quasi", "domain": ["x", "y"]},
    },
    "k": 2,
    "budget": "0.1",
}


@pytest.mark.parametrize("assemble", [{}, {"assemble": "pieces", "collector": 1}])
def test_a_joint_release_is_signed_by_all_and_given_to_whom_it_is_for(tmp_path, assemble):
    people = [
        sf.read(pl.DataFrame({"age": ages, "sex": list(sexes)}))
        for ages, sexes in (
            ([23, 24, 47], "xyx"),
            ([68, 21, 44], "yxx"),
            ([46, 61, 25], "yyy"),
            ([42, 63, 67], "yxy"),
        )
    ]
    study = a_study(
        tmp_path, question={"release": {**RELEASE, **assemble}}, protocol={"name": "joint"}
    )
    results = run(tmp_path, study, people=people)
    assert len({result.certificate["study"]["public_digest"] for result in results}) == 1
    holders = [number for number, result in enumerate(results) if result.answer.get("counts")]
    assert holders == ([1] if assemble else [0, 1, 2, 3])
    for result in results:
        assert statuses(result.certificate, study) == {"holds"}


def test_an_answer_that_others_may_know_is_not_undone_by_a_new_study(tmp_path):
    """Party 2 leaves when all have spoken their part of the opening: nobody has an answer, but
    somebody may have had one.
    """
    run(tmp_path, a_study(tmp_path), channels=failing(2, Phase.OPEN, nth=2))
    changed = tables()
    changed[1] = sf.read(pl.DataFrame({"age": [55, 63]}))
    results = run(tmp_path, a_study(tmp_path, id="e" * 32), people=changed)
    assert isinstance(results[1], ReleaseRefused)
    assert "differencing" in str(results[1])
