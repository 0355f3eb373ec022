"""A release of people who are no table: made, judged, written, read back, verified, or refused."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import OutputError, ParameterError, ReleaseRefused, SchemaError, UnreadableInput
from sfumato.release.manifest import manifest_of, sha256_of
from sfumato.release.signatures import digest_of
from tests.release.any_shape.conftest import HELD
from tests.release.any_shape.letters import (
    Company,
    Drawn,
    DropRare,
    Kept,
    Letters,
    LettersLost,
    Listed,
)

ROLES = {"person": "who", "item": "letter", "drop": "name"}
UNATTACKED = sf.AnonymizeOptions(seconds=0)


def people(data, **options):
    return sf.read_data(data, "baskets", ROLES, **options)


@pytest.fixture
def release(data, recipe):
    return sf.run(data, recipe, seed="5")


@pytest.fixture
def written(release, tmp_path):
    return release.write(tmp_path / "out")


def statuses(found):
    return {claim.name: claim.status for claim in found.claims}


def edit(folder, change, *, sealed=True):
    """Change the certificate; ``sealed``: with a digest that fits, as somebody would who knows how
    it is made.
    """
    file = folder / "share" / "certificate.json"
    certificate = json.loads(file.read_text())
    change(certificate)
    if sealed:
        certificate["digest"] = digest_of(certificate)
    file.write_text(json.dumps(certificate))


def rewritten(folder, lines):
    """Other lines in the data file, and a certificate that goes with them."""
    data = folder / "share" / "data.csv"
    data.write_text("\n".join(lines) + "\n")

    def mend(certificate):
        certificate["data"] |= {"sha256": sha256_of(data), "rows": len(lines) - 1}
        certificate["files"] = manifest_of(folder / "share")

    edit(folder, mend)


# Making.


def test_steps_run_and_the_output_is_judged(release):
    assert (
        release.holds
        and release.released.counts() == {"people": 5, "letters": 3}
        and release.suppressed == 1
    )
    assert [v.promise for v in release.verdicts] == ["company of 2"]
    assert [release.attacks_before.value("alone"), release.attacks.value("alone")] == [1.0, 0.6]
    assert [s.attack for s in release.attacks.unknown] == ["blind"]
    assert release.utility.measure("letters_lost").value == pytest.approx(2 / 13)
    assert "1 attack is unknown" in release.headline.text and release.headline.state == "mixed"
    assert re.search(r"✗ alone +100 % +60 %", str(release)) and "blind is unknown" in str(release)
    assert "company of 2" in release._repr_html_() and release.plot() is not None


def test_the_order_is_shuffled_and_who_is_who_is_known(release):
    held = [frozenset(letters) - set("xz") for letters in HELD.values()]
    assert sorted(release.released.origin) == [0, 1, 2, 3, 5] and list(release.released.origin) != [
        0,
        1,
        2,
        3,
        5,
    ]
    assert list(release.released.sets) == [held[who] for who in release.released.origin]


def test_python_and_recipe_make_the_same(data, recipe, release):
    again = sf.anonymize(people(data), meet=Company(2), steps=DropRare(), seed="5")
    assert again.released.sets == release.released.sets
    assert sf.run(data, recipe, seed="6").released.sets != release.released.sets


def test_without_time_nothing_is_attacked(data):
    release = sf.anonymize(people(data), meet=Company(2), steps=DropRare(), options=UNATTACKED)
    assert (
        release.attacks_before is None
        and release.attacks is None
        and "not attacked yet" in release.headline.text
    )
    assert release.plot() is None and "Not attacked yet" in str(release)


def test_what_does_not_hold_is_refused(data):
    with pytest.raises(ReleaseRefused, match="company of 5"):
        sf.anonymize(people(data), meet=Company(5), steps=DropRare(2))
    with pytest.raises(ReleaseRefused, match="left no persons"):
        sf.anonymize(people(data), meet=Company(9), steps=DropRare())
    with pytest.raises(ReleaseRefused, match="100% kept"):
        sf.anonymize(people(data), meet=[Company(2), Kept(1.0)], steps=DropRare())


def test_limits_are_measured_and_an_unknown_attack_keeps_none(data):
    made = {"meet": Company(2), "steps": DropRare(), "options": UNATTACKED}
    release = sf.anonymize(people(data), **made, limits={"alone": 0.7, "letters_lost": 0.2})
    assert [(kept.name, kept.holds) for kept in release.limits] == [
        ("alone", True),
        ("letters_lost", True),
    ]
    with pytest.raises(ReleaseRefused, match=r"alone is 0\.6"):
        sf.anonymize(people(data), **made, limits={"alone": 0.5})
    with pytest.raises(ReleaseRefused, match="blind is unknown"):
        sf.anonymize(people(data), **made, limits={"blind": 1})
    with pytest.raises(ParameterError, match="second does not apply"):
        sf.anonymize(people(data), **made, limits={"second": 1})
    with pytest.raises(
        ParameterError, match="no risk, attack or utility is called 'marketer_risk'"
    ):
        sf.anonymize(people(data), **made, limits={"marketer_risk": 0.5})


def test_a_contract_reports_or_refuses(data):
    made = {"meet": Company(2), "steps": DropRare(), "options": UNATTACKED}
    broken = sf.Agreement(LettersLost(), at_most=0.1)
    assert (
        not sf.anonymize(
            people(data), **(made | {"options": sf.AnonymizeOptions(contract=broken, seconds=0)})
        )
        .contract[0]
        .holds
    )
    with pytest.raises(ReleaseRefused, match=r"letters lost at most 0\.1"):
        sf.anonymize(
            people(data),
            meet=Company(2),
            steps=DropRare(),
            options=sf.AnonymizeOptions(
                contract=sf.Agreement(LettersLost(), at_most=0.1, refuse=True), seconds=0
            ),
        )
    with pytest.raises(ParameterError, match="one number, at_most or at_least"):
        sf.Agreement(LettersLost())
    with pytest.raises(ParameterError, match="one number, at_most or at_least"):
        sf.Agreement(LettersLost(), at_most=1, at_least=0)


def test_a_recipe_needs_promises_and_steps(data):
    with pytest.raises(ParameterError, match="meet is empty"):
        sf.anonymize(people(data), meet=[], steps=DropRare())
    with pytest.raises(ParameterError, match="steps is empty"):
        sf.anonymize(people(data), meet=Company(2), steps=[])


# Reading.


def test_all_that_is_wrong_with_roles_is_told_at_once(data):
    with pytest.raises(SchemaError) as error:
        sf.read_data(data, "baskets", {"person": "who", "place": "letter", "keep": "age"})
    told = str(error.value)
    assert "no column 'age'" in told and "shape: paths" in told and "column 'name'" in told
    with pytest.raises(SchemaError, match="hierarchy, kind or unit, but no role"):
        people(data, columns=sf.ColumnDetails(hierarchies={"lettre": sf.suppress()}))
    with pytest.raises(
        ParameterError, match=r"shape 'basket' is not known here\. Did you mean 'baskets'"
    ):
        sf.read_data(data, "basket", ROLES)


def test_lists_frames_and_files_of_its_own_say_the_same(data, tmp_path):
    lists = pl.DataFrame(
        {"who": [f"id-{name}" for name in HELD], "letter": [list(held) for held in HELD.values()]}
    )
    lists.write_parquet(tmp_path / "l.parquet")
    lists.write_ndjson(tmp_path / "l.jsonl")
    (tmp_path / "own.letters").write_text(
        "\n".join(f"id-{name}:{held}" for name, held in HELD.items())
    )
    roles = {"person": "who", "item": "letter"}
    files = [tmp_path / "l.parquet", tmp_path / "l.jsonl", tmp_path / "own.letters", lists]
    found = [sf.read_data(file, "baskets", roles) for file in files]
    assert all(one.sets == people(data).sets for one in found)
    with pytest.raises(UnreadableInput, match="nested values"):
        sf.read(tmp_path / "l.parquet")
    with pytest.raises(UnreadableInput, match="nested values"):
        sf.read(tmp_path / "l.jsonl")


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "letters"])
def test_a_release_is_written_in_the_format_of_its_source(tmp_path, suffix):
    rows = [(f"id-{name}", letter) for name, held in HELD.items() for letter in held]
    frame, file = (
        pl.DataFrame(rows, schema=["who", "letter"], orient="row"),
        tmp_path / f"l.{suffix}",
    )
    if suffix == "letters":
        file.write_text("\n".join(f"id-{name}:{held}" for name, held in HELD.items()))
    else:
        frame.write_parquet(file) if suffix == "parquet" else frame.write_ndjson(file)
    found = sf.read_data(file, "baskets", {"person": "who", "item": "letter"})
    folder = sf.anonymize(found, meet=Company(2), steps=DropRare(), options=UNATTACKED).write(
        tmp_path / "out"
    )
    assert (folder / "share" / f"data.{'csv' if suffix == 'letters' else suffix}").is_file()
    assert sf.verify(folder / "share", original=file, owner=folder / "owner").holds


def test_the_peoples_own_columns_stand_in_a_file_of_their_own(tmp_path, data, recipe, sfumato):
    beside = tmp_path / "people.csv"
    rows = [
        f"id-{name},{name}@example.org,{city}" for name, city in zip(HELD, "XYXYXY", strict=True)
    ]
    beside.write_text("\n".join(["who,email,city", *rows]) + "\n")
    section = "people:\n  file: people.csv\n  columns: {who: person, email: drop, city: quasi}\n"
    recipe.write_text(recipe.read_text() + section)
    assert sfumato("run", data, "-r", recipe, "-o", tmp_path / "out", "-q")[0] == 0
    share = tmp_path / "out" / "share"
    assert pl.read_csv(share / "people.csv").columns == ["who", "city"]
    assert (
        "example.org"
        not in (share / "people.csv").read_text() + (share / "certificate.json").read_text()
    )
    assert sfumato("verify", share, "--original", data, "--people", beside)[0] == 0
    assert sfumato("verify", share, "--original", data)[0] == 0, (
        "the lock knows where the second file is"
    )
    assert sfumato("check", share / "data.csv", "-r", recipe)[0] == 0
    other = tmp_path / "others.csv"
    other.write_text(beside.read_text().replace(",X", ",Z"))
    code, out, _ = sfumato("verify", share, "--original", data, "--people", other)
    assert code == 1 and "not the committed" in out
    recipe.write_text(recipe.read_text().replace("  file: people.csv\n", ""))
    code, _, err = sfumato("run", data, "-r", recipe, "-o", tmp_path / "more", "-q")
    assert code == 2 and "--people" in err
    assert (
        sfumato("run", data, "-r", recipe, "-o", tmp_path / "more", "--people", beside, "-q")[0]
        == 0
    )


# Writing.


def test_everything_is_written_and_verified(written, data):
    assert {f.name for f in (written / "share").iterdir()} == {
        "data.csv",
        "certificate.json",
        "report.html",
    }
    owner = {"lock.json", "alignment.parquet", "release.json", "report.html"}
    assert {f.name for f in (written / "owner").iterdir()} == owner
    found = sf.verify(written / "share")
    assert found.holds and statuses(found)["suppressed people"] == "needs original"
    again = sf.verify(written / "share", original=data, owner=written / "owner")
    assert again.holds and set(statuses(again).values()) == {"holds"}
    assert any("byte for byte" in claim.detail for claim in again.claims)
    assert sf.verify(written / "share", original=people(data), owner=written / "owner").holds


def test_nothing_that_is_shared_names_anybody_or_tells_a_seed(written):
    lock = json.loads((written / "owner" / "lock.json").read_text())
    shared = "".join(file.read_text() for file in (written / "share").iterdir())
    for name in HELD:
        assert name not in shared
    for secret in (lock["seed"], lock["salt"], lock["input_sha256"]):
        assert secret not in shared
    certificate = json.loads((written / "share" / "certificate.json").read_text())
    assert (
        certificate["counts"] == {"people": 5, "letters": 3} and certificate["shape"] == "baskets"
    )
    assert "before" not in certificate and certificate["suppressed_people"] == 1
    assert [step["step"] for step in certificate["plan"]] == ["drop_rare"]


def test_values_that_a_promise_lists_stay_with_the_owner(data, tmp_path):
    release = sf.anonymize(
        people(data),
        meet=[Company(2), Listed(("x", "z"))],
        steps=DropRare(),
        options=UNATTACKED,
    )
    folder = release.write(tmp_path / "out")
    told = json.loads((folder / "share" / "certificate.json").read_text())["recipe"]["meet"][1]
    assert told == {"listed": {"letters": "stays with the owner"}}
    assert statuses(sf.verify(folder / "share"))["listed"] == "needs original"
    assert sf.verify(folder / "share", original=data, owner=folder / "owner").holds


def test_pages_show_attacks_curves_and_unknowns(written, release, tmp_path):
    public, owner = ((written / place / "report.html").read_text() for place in ("share", "owner"))
    for page in (public, owner):
        assert "company of 2" in page
        assert (
            "Unknown is not a pass" in page
            and "letters known" in page
            and "http" not in page.replace("http-equiv", "")
        )
    assert "How much an intruder must know" in public and "Risk before and after" in owner
    assert "dashed and light" in owner and "dashed and light" not in public
    assert "This page stays with the owner" in owner
    release.write(tmp_path / "drawn", options=sf.WriteOptions(pictures=True))
    drawn = {file.name for file in (tmp_path / "drawn" / "owner" / "pictures").iterdir()}
    assert {"curves.png", "attacks.png", "descriptions.txt"} == drawn
    assert sf.verify(tmp_path / "drawn" / "share").holds


def test_a_signature_is_checked(release, tmp_path, sfumato):
    key = tmp_path / "office.pem"
    sfumato("key", "sign", key)
    folder = release.write(tmp_path / "out", sign=key)
    found = sf.verify(folder / "share", trusted_key=tmp_path / "office.pub.pem")
    assert found.holds and found.signed and statuses(found)["signature"] == "holds"
    edit(folder, lambda c: c.update(created="2001-01-01T00:00:00+00:00"))
    assert statuses(sf.verify(folder / "share"))["signature"] == "fails"


def test_what_is_there_is_not_replaced_without_a_word(release, written):
    with pytest.raises(OutputError, match="already exists"):
        release.write(written)
    release.write(written, force=True)


def test_a_release_that_breaks_a_promise_cannot_be_written(data, tmp_path):
    from sfumato.core.data import Context
    from sfumato.core.randomness import Seed
    from sfumato.release.make import make_release

    found = people(data)
    recipe = sf.Recipe(
        found.source.schemas["data"], (Company(5),), (DropRare(2),), shape=found.shape
    )
    release = make_release(found, recipe, Context(Seed(5), refuse=False))
    with pytest.raises(ReleaseRefused, match="never written"):
        release.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_comes_back_otherwise_is_not_released(release, tmp_path, monkeypatch):
    def forgetful(cls, tables, schemas, source, read=Letters.from_tables.__func__):
        return read(cls, {"data": tables["data"].filter(pl.col("letter") != "a")}, schemas, source)

    monkeypatch.setattr(Letters, "from_tables", classmethod(forgetful))
    with pytest.raises(OutputError, match="other numbers of people"):
        release.write(tmp_path / "out")
    assert list(tmp_path.glob("*out*")) == []


def test_what_is_judged_otherwise_on_the_file_is_not_released(release, tmp_path, monkeypatch):
    from tests.release.any_shape.letters import make_verdict

    def strict(self, evidence):
        return make_verdict(
            self,
            holds=evidence.data.source.name != "data.csv",
            attained=1,
            required=2,
            sentence="on the file",
        )

    monkeypatch.setattr(Company, "judge", strict)
    with pytest.raises(ReleaseRefused, match="on the file"):
        release.write(tmp_path / "out")
    assert list(tmp_path.glob("*out*")) == []


def test_a_format_that_holds_no_lists_is_refused(tmp_path, monkeypatch):
    def as_lists(self, write=Letters.to_tables):
        return {"data": write(self)["data"].group_by("who", maintain_order=True).agg("letter")}

    lists = pl.DataFrame({"who": list(HELD), "letter": [list(held) for held in HELD.values()]})
    found = sf.read_data(lists, "baskets", {"person": "who", "item": "letter"})
    monkeypatch.setattr(Letters, "to_tables", as_lists)
    release = sf.anonymize(found, meet=Company(2), steps=DropRare(), options=UNATTACKED)
    with pytest.raises(OutputError, match="do not fit into CSV"):
        release.write(tmp_path / "out")
    assert sf.verify(release.write(tmp_path / "out", format="jsonl") / "share").holds


KILLED = """
import os, signal, sys
sys.path.insert(0, {root!r})
from tests.release.any_shape import letters
from sfumato.core import registry
from sfumato.core.shape import Shape
import sfumato as sf
sys.modules["sfumato.letters_for_tests"] = letters
registry.SHAPES[Shape.BASKETS] = "sfumato.letters_for_tests"
from sfumato.release import publish as writing
def die(*args, **options):
    os.kill(os.getpid(), signal.SIGKILL)
writing.seal = die
sf.run({data!r}, {recipe!r}, seconds=0).write({out!r}, force=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="kills as POSIX has them")
def test_killed_while_writing_the_old_release_stands(written, data, recipe, request):
    before = {file: file.read_bytes() for file in written.rglob("*") if file.is_file()}
    root = str(request.config.rootpath)
    script = KILLED.format(root=root, data=str(data), recipe=str(recipe), out=str(written))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert {file: file.read_bytes() for file in written.rglob("*") if file.is_file()} == before
    assert sf.verify(written / "share").holds
    sf.run(data, recipe, seconds=0).write(written, force=True)
    assert {file.name for file in written.parent.iterdir()} == {
        "out",
        "letters.csv",
        "letters.yaml",
    }


# Verifying.


def test_a_flipped_byte_is_caught(written):
    file = written / "share" / "data.csv"
    content = bytearray(file.read_bytes())
    content[-2] ^= 1
    file.write_bytes(bytes(content))
    found = statuses(sf.verify(written / "share"))
    assert found["data file unedited"] == "fails" and found["folder"] == "fails"


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["verdicts"][0].update(attained=99),
        lambda c: c["counts"].update(people=99),
        lambda c: c.update(suppressed_people=0),
        lambda c: c["data"].update(rows=1),
    ],
)
def test_an_edited_certificate_is_caught(written, change):
    edit(written, change, sealed=False)
    assert statuses(sf.verify(written / "share"))["certificate unedited"] == "fails"


def test_false_claims_with_a_fresh_digest_are_caught(written, data):
    edit(written, lambda c: c["verdicts"][0].update(attained=99))
    assert statuses(sf.verify(written / "share"))["company of 2"] == "fails"
    edit(written, lambda c: (c["verdicts"][0].update(attained=3), c["counts"].update(letters=4)))
    assert statuses(sf.verify(written / "share"))["counts"] == "fails"
    edit(written, lambda c: (c["counts"].update(letters=3), c.update(suppressed_people=0)))
    found = sf.verify(written / "share", original=data, owner=written / "owner")
    assert statuses(found)["suppressed people"] == "fails"


def test_an_edited_file_with_digests_mended_breaks_what_it_breaks(written, data):
    lines = (written / "share" / "data.csv").read_text().splitlines()
    rewritten(written, [*lines[:-1], lines[-1][:-1] + "q"])
    found = statuses(sf.verify(written / "share"))
    assert (
        found["data file unedited"] == "holds"
        and found["company of 2"] == found["counts"] == "fails"
    )


def test_another_order_is_no_replay(written, data):
    lines = (written / "share" / "data.csv").read_text().splitlines()
    rewritten(written, [lines[0], *reversed(lines[1:])])
    found = statuses(sf.verify(written / "share", original=data, owner=written / "owner"))
    assert found["people are the recoded original"] == "fails" and found["company of 2"] == "holds"


def test_another_original_is_noticed(written, data, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text(data.read_text().replace("Emiliano,id-Emiliano,z", "Emiliano,id-Emiliano,a"))
    found = statuses(sf.verify(written / "share", original=other, owner=written / "owner"))
    assert (
        found["the original is the committed one"]
        == found["people are the recoded original"]
        == "fails"
    )


def test_limits_are_measured_again_and_lies_about_them_caught(data, tmp_path):
    made = {
        "meet": Company(2),
        "steps": DropRare(),
        "limits": {"alone": 0.9},
        "options": UNATTACKED,
    }
    folder = sf.anonymize(people(data), **made).write(tmp_path / "out")
    owner = folder / "owner"
    assert statuses(sf.verify(folder / "share"))["alone"] == "needs original"
    assert (
        statuses(sf.verify(folder / "share", original=data, owner=owner))[
            "alone, against the original"
        ]
        == "holds"
    )
    edit(folder, lambda c: c["limits"][0].update(value=0.1))
    assert (
        statuses(sf.verify(folder / "share", original=data, owner=owner))[
            "alone, against the original"
        ]
        == "fails"
    )


def test_a_promise_about_the_original_needs_it(data, tmp_path):
    folder = sf.anonymize(
        people(data), meet=Kept(0.5), steps=DropRare(2), options=UNATTACKED
    ).write(tmp_path / "out")
    found = sf.verify(folder / "share")
    assert not found.holds and statuses(found)["50% kept"] == "needs original"
    assert sf.verify(folder / "share", original=data, owner=folder / "owner").holds


def test_certificates_that_are_none_are_refused(written):
    certificate = written / "share" / "certificate.json"
    edit(written, lambda c: c.update(shape="cloud"))
    with pytest.raises(UnreadableInput, match="a shape that this sfumato does not know"):
        sf.verify(written / "share")
    edit(written, lambda c: (c.update(shape="baskets"), c.pop("counts")))
    with pytest.raises(UnreadableInput, match="lacks counts"):
        sf.verify(written / "share")
    edit(
        written,
        lambda c: (
            c.update(counts={"people": 5, "letters": 3}),
            c["data"].update(file="../../letters.csv"),
        ),
    )
    with pytest.raises(UnreadableInput, match="data file of its own folder"):
        sf.verify(written / "share")
    certificate.unlink()
    with pytest.raises(UnreadableInput, match=r"holds no certificate\.json"):
        sf.verify(written / "share")


# Differential privacy.


def test_an_epsilon_is_certified_and_nothing_else_is_told_of_the_original(data, tmp_path):
    release = sf.anonymize(
        people(data, text=True), meet=Company(2), steps=[Drawn(epsilon=1.0), DropRare()]
    )
    folder = release.write(tmp_path / "out")
    certificate = json.loads((folder / "share" / "certificate.json").read_text())
    assert (
        certificate["differential_privacy"]["certified"]
        and certificate["differential_privacy"]["epsilon"] == 1.0
    )
    assert (
        "attacks" not in certificate
        and "utility" not in certificate
        and certificate["suppressed_people"] is None
    )
    assert "attacks" in json.loads((folder / "owner" / "release.json").read_text())
    assert "ε = 1" in (folder / "share" / "report.html").read_text()
    found = statuses(sf.verify(folder / "share", original=data, owner=folder / "owner"))
    assert (
        found["people are the recoded original"] == "needs original"
        and found["suppressed people"] == "holds"
    )


def test_a_limit_or_a_look_before_breaks_a_certified_epsilon(data):
    made = {"meet": Company(2), "options": UNATTACKED}
    release = sf.anonymize(
        people(data, text=True), **made, steps=[Drawn(epsilon=1.0), DropRare()], limits={"alone": 1}
    )
    assert any("limit on alone compares" in warning for warning in release.warnings)
    release = sf.anonymize(
        people(data, text=True), **made, steps=[DropRare(), Drawn(epsilon=1.0), DropRare()]
    )
    assert any("reads data" in warning for warning in release.warnings)


# Verbs.


def test_verbs_take_people_of_a_shape(data, recipe, release):
    found = people(data)
    assert [v.attained for v in sf.judge(found, ["company:2", Company(1)])] == [1, 1]
    assert [v.holds for v in sf.judge(found, ["company:2", Company(1)])] == [False, True]
    assessed = sf.assess(found, Company(2))
    assert assessed.attacks.value("alone") == 1.0 and not assessed.verdicts[0]
    assert (
        re.search(r"people +6\nletters +5", str(assessed))
        and "company of 2" in assessed._repr_html_()
    )
    assert assessed.to_dict()["counts"] == {"people": 6, "letters": 5}
    assert sf.attack(found, release.released, only="alone").value("alone") == 0.6
    assert sf.evaluate(found, release.released).measure("letters_lost").value == pytest.approx(
        2 / 13
    )
    assert sf.evaluate(release, metrics="letters_lost").counted == "people"
    assert sf.run(found, recipe, seconds=0).holds


def test_what_serves_another_shape_is_refused_by_name(data, release):
    found = people(data)
    with pytest.raises(ParameterError, match="data of shape baskets; this takes one table only"):
        sf.read(found)
    with pytest.raises(ParameterError, match="this takes one table only"):
        sf.compare(found, {})
    with pytest.raises(
        ParameterError,
        match="'k_anonymity' is not a known model for shape: baskets; it serves table",
    ):
        sf.judge(found, "k_anonymity:2")
    with pytest.raises(
        ParameterError,
        match="attack 'singling_out' does not exist for data of shape baskets; it serves table",
    ):
        sf.attack(found, release.released, only="singling_out")
    with pytest.raises(
        ParameterError,
        match="metric 'loss' does not exist for data of shape baskets; it serves table",
    ):
        sf.evaluate(found, release.released, "loss")


def test_a_check_of_released_data(written, data, recipe):
    assert all(sf.check(written / "share" / "data.csv", recipe))
    with pytest.raises(ReleaseRefused, match="still holds direct identifiers: name"):
        sf.check(data, recipe)
    bare = data.with_name("bare.csv")
    pl.read_csv(data).drop("name").write_csv(bare)
    assert [v.holds for v in sf.check(bare, recipe)] == [False]
    recipe.write_text(recipe.read_text().replace("company: {k: 2}", "kept: {share: 0.5}"))
    with pytest.raises(ReleaseRefused, match="50% kept is unknown"):
        sf.check(bare, recipe)
    assert all(sf.check(bare, recipe, original=data))


TOLD = (UnreadableInput, ParameterError, SchemaError)
"""What is said of a certificate that is none; anything else would be our bug."""


def _places(document, so_far=()):
    """Every place in a document, by the keys that lead there."""
    inside = (
        document.items()
        if isinstance(document, dict)
        else enumerate(document)
        if isinstance(document, list)
        else ()
    )
    for key, value in inside:
        yield (*so_far, key)
        yield from _places(value, (*so_far, key))


@pytest.mark.parametrize("other", [None, "x", -1, [1], {"a": 1}])
def test_whatever_stands_in_a_certificate_ends_in_a_claim_or_a_sentence(written, other):
    file = written / "share" / "certificate.json"
    text = file.read_text()
    for place in list(_places(json.loads(text)))[::3]:
        certificate = json.loads(text)
        part = certificate
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = other
        certificate["digest"] = digest_of(certificate)
        file.write_text(json.dumps(certificate))
        with contextlib.suppress(*TOLD):
            sf.verify(written / "share")
