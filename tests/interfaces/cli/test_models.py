"""Models on the command line: asked about, listed, explained, promised, checked and verified."""

from __future__ import annotations

import json
import math

import polars as pl
import pytest

import sfumato as sf
from sfumato import examples
from sfumato.core import recipe_files as recipes
from sfumato.core import registry
from sfumato.errors import ParameterError
from sfumato.release.sealing import seal_certificate
from tests.release.report.samples import draw_page

ROLES = """
sfumato: 1
columns:
  patient_name: drop
  insurance_number: drop
  email: drop
  age: {role: quasi, kind: numeric, hierarchy: {intervals: {widths: [10, 40]}}}
  sex: {role: quasi, hierarchy: {suppress: {}}}
  zip: {role: quasi, hierarchy: {mask_right: {length: 5}}}
  nationality: {role: quasi, hierarchy: {suppress: {}}}
  marital_status: {role: quasi, hierarchy: {suppress: {}}}
  occupation: {role: quasi, hierarchy: {suppress: {}}}
  admission_date: {role: quasi, kind: date, hierarchy: {dates: {levels: [year]}}}
  diagnosis: {role: sensitive, hierarchy: {suppress: {}}}
  cost: {role: sensitive, kind: numeric}
  ward: sensitive
  length_of_stay: {role: keep, kind: numeric}
meet:
"""
STEPS = """
steps: [{global_recoding: {budget: 0.1}}]
accept:
  diagnosis: [{implies: sex, because: some are of women only}, {implies: occupation, because: some are of children only}]
  ward: {implies: sex, because: one is of women only}
"""


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


def strictly(text):
    """JSON as the standard has it: no NaN, no Infinity."""
    return json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="session")
def stays(tmp_path_factory):
    """A hospital table without missing costs, as a CSV file."""
    file = tmp_path_factory.mktemp("stays") / "stays.csv"
    examples.hospital(rows=400).to_polars().with_columns(pl.col("cost").fill_null(1000)).write_csv(
        file
    )
    return file


def described(folder, *meet, roles=ROLES):
    file = folder / "stays.yaml"
    file.write_text(roles + "\n".join(f"  - {model}" for model in meet) + STEPS)
    return file


# --- asking ---


@pytest.mark.slow
def test_assess_tells_what_is_attained_without_a_threshold(sfumato, stays, tmp_path):
    recipe = described(tmp_path, "k_anonymity: {k: 5}")
    asked = ("l_diversity:diagnosis", "t_closeness:cost,distance=ordered", "k_anonymity")
    done = sfumato(
        "assess",
        stays,
        "-r",
        recipe,
        "--json",
        *(part for text in asked for part in ("--model", text)),
    )
    assert done.code == 0
    told = {entry["asked"]: entry["attained"] for entry in strictly(done.out)["attained"]}
    people = sf.read(stays).with_schema(recipes.load(recipe).schema)
    assert told == dict(zip(asked, (v.attained for v in sf.judge(people, asked)), strict=True))
    assert told["k_anonymity"] == 1 and 0 < told["t_closeness:cost,distance=ordered"] <= 1
    assert [verdict["promise"] for verdict in strictly(done.out)["verdicts"]] == ["5-anonymity"]


def test_a_threshold_makes_it_a_verdict(sfumato, stays):
    done = sfumato(
        "assess", stays, "--quasi", "sex", "--model", "k_anonymity:2", "--model", "l_diversity:ward"
    )
    assert (
        "✓ 2-anonymity" in done.out
        and "l_diversity:ward: attained" in done.out
        and "1-diversity" not in done.out
    )


def test_what_nothing_attains_is_told_and_is_valid_json(sfumato, stays):
    ask = (
        "assess",
        stays,
        "--quasi",
        "age",
        "--quasi",
        "zip",
        "--model",
        "delta_disclosure:diagnosis",
    )
    assert "attained ∞; no delta holds: 400 of 400 records" in sfumato(*ask).out
    assert strictly(sfumato(*ask, "--json").out)["attained"][0]["attained"] is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("k_anonimity", "Did you mean 'k_anonymity'?"),
        ("l_diversity", "sensitive must be given, like l_diversity:sensitive=SENSITIVE"),
        ("l_diversity:diagnoses", "Did you mean 'diagnosis'?"),
        ("l_diversity:ward,kind=recursive", "c must be given for kind recursive"),
        ("k_anonymity:kk=2", "has no parameter 'kk'. Did you mean 'k'?"),
        ("k_anonymity:2,3", "has 1 parameters"),
        ("k_anonymity:k=2,k=3", "k is given twice"),
        ("k_anonymity:many", "k should be a whole number"),
        ("t_closeness:ward,7", "t should be at most 1 for the equal distance"),
        ("population_uniqueness", "share and fraction must be given"),
        ("k_map", "there is no population table"),
    ],
)
def test_a_wrong_question_is_refused(sfumato, stays, text, says):
    done = sfumato("assess", stays, "--quasi", "age", "--model", text)
    assert (done.code, done.out) == (2, "") and says in " ".join(done.err.split())


@pytest.mark.parametrize("name", registry.family("models"))
def test_every_model_can_be_asked_or_says_what_it_lacks(name):
    more = {
        "stochastic_t_closeness": "mechanism=laplace,scale=2",
        "population_uniqueness": "fraction=0.1",
        "hidden_rules": "rules=illness",
        "k_on_combinations": None,  # a list of lists has no short form
    }
    short = (
        []
        if "sensitive" not in registry.family("models")[name].__dataclass_fields__
        else ["illness"]
    )
    if more.get(name, "") is None:
        with pytest.raises(ParameterError, match="must be given"):
            registry.ask(name)
        return
    question = registry.ask(f"{name}:{','.join([*short, *filter(None, [more.get(name)])])}")
    assert question.left_open and question.model.name == name


def test_questions_keep_names_with_commas_and_equals_signs():
    assert registry.ask('l_diversity:"a, b"').model.sensitive == "a, b"
    assert registry.ask("l_diversity:sensitive=a=b").model.sensitive == "a=b"
    assert registry.ask("l_diversity:5,2").model.sensitive == "5"


@pytest.mark.slow
def test_ten_models_cost_one_group_by(monkeypatch):
    """Rows are packed and grouped once, and a column is counted once, however many models look."""
    from sfumato.core import classes

    people = examples.hospital(rows=500)
    grouped, packed, counted = [], [], []
    in_order, pack_rows, count_values = classes.in_order, classes.pack_rows, classes.count_values
    monkeypatch.setattr(
        classes, "in_order", lambda keys, span: grouped.append(len(keys)) or in_order(keys, span)
    )
    monkeypatch.setattr(classes, "pack_rows", lambda *given: packed.append(1) or pack_rows(*given))
    monkeypatch.setattr(
        classes, "count_values", lambda *given: counted.append(given[1]) or count_values(*given)
    )
    ten = [
        "k_anonymity",
        "l_diversity:diagnosis",
        "l_diversity:diagnosis,kind=entropy",
        "p_sensitive:diagnosis",
        "l_diversity:diagnosis,kind=recursive,c=3",
        "alpha_k_anonymity:diagnosis",
        "t_closeness:diagnosis",
        "delta_disclosure:diagnosis",
        "beta_likeness:diagnosis",
        "beta_likeness:diagnosis,kind=enhanced",
    ]
    found = sf.judge(people, ten)
    assert len(found) == 10 and len(packed) == 1
    assert grouped.count(len(people)) == 2 and counted == [
        "diagnosis"
    ]  # the rows; diagnoses within their classes


# --- listing and explaining ---


def test_list_carries_the_facts(sfumato):
    entries = json.loads(sfumato("list", "models", "--json").out)["models"]
    listed = {entry["name"]: entry for entry in entries if entry["shape"] == "table"}
    assert listed["k_anonymity"]["facts"] == {
        "against": "identity",
        "measure": "boolean",
        "truthful": True,
        "protects": "respondent",
        "setting": "publish",
    }
    assert (listed["k_anonymity"]["monotone"], listed["k_anonymity"]["shrinking"]) == (True, True)
    assert (
        listed["average_risk"]["scope"] == "table"
        and not listed["population_uniqueness"]["monotone"]
    )
    assert "skipped" in listed["delta_disclosure"]["depends"]["monotone"]


def test_explain_says_what_kind_of_promise_it_is(sfumato):
    told = sfumato("explain", "t_closeness").out
    for line in (
        "limits what can be learned about somebody",
        "never breaks it",
        "implies, when strong enough: delta_disclosure",
    ):
        assert line in told
    assert "implies, when strong enough: no other model" in sfumato("explain", "beta_likeness").out
    assert set(json.loads(sfumato("explain", "l_diversity", "--json").out)["implies"]) == {
        "k_anonymity",
        "p_sensitive",
        "l_diversity",
    }


# --- promising, checking, verifying ---

PROMISED = {
    "k, l and t": (
        "k_anonymity: {k: 3}",
        "l_diversity: {sensitive: diagnosis, l: 2}",
        "t_closeness: {sensitive: diagnosis, t: 0.6}",
    ),
    "several sensitive columns": (
        "l_diversity: {sensitive: ward, l: 2, kind: entropy}",
        "t_closeness: {sensitive: cost, t: 0.4, distance: ordered}",
        "t_closeness: {sensitive: cost, t: 0.4, distance: numeric}",
        "t_closeness: {sensitive: diagnosis, t: 0.7, distance: hierarchical}",
    ),
    "together": (
        "l_diversity: {sensitive: [diagnosis, ward], l: 3}",
        "t_closeness: {sensitive: [diagnosis, ward], t: 0.8}",
    ),
    "factors": (
        "t_closeness: {sensitive: ward, t: 9, distance: multiplicative}",
        "delta_disclosure: {sensitive: ward, delta: 2.5}",
        "beta_likeness: {sensitive: ward, beta: 4, kind: enhanced}",
    ),
    "the released reference": ("t_closeness: {sensitive: ward, t: 0.25, reference: released}",),
    "risks": (
        "average_risk: {threshold: 0.1}",
        "records_at_risk: {threshold: 0.2, share: 0.05}",
        "k_on_subsets: {k: 3, size: 2}",
    ),
    "what k-anonymity implies": ("k_anonymity: {k: 3}", "k_concealment: {k: 3}"),
}
WAITING = {
    "several sensitive columns": 1,
    "factors": 2,
    "what k-anonymity implies": 1,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROMISED)
def test_promised_checked_and_verified(name, sfumato, stays, tmp_path):
    recipe, out = described(tmp_path, *PROMISED[name]), tmp_path / "out"
    done = sfumato("run", stays, "-r", recipe, "-o", out, "--json")
    assert done.code == 0, done.err
    assert all(verdict["holds"] for verdict in strictly(done.out)["verdicts"])
    for file in out.rglob("*.json"):
        strictly(file.read_text())
    alone = strictly(sfumato("verify", out / "share", "--json").out)
    promises = {verdict["promise"] for verdict in strictly(done.out)["verdicts"]}
    status = [claim["status"] for claim in alone["claims"] if claim["name"] in promises]
    waiting = WAITING.get(name, 0)
    assert status.count("needs original") == waiting and "fails" not in status
    assert alone["holds"] is (waiting == 0), (
        "what needs the original is not verified from the file alone"
    )
    whole = sfumato("verify", out / "share", "--original", stays, "--json")
    assert whole.code == 0 and {claim["status"] for claim in strictly(whole.out)["claims"]} == {
        "holds"
    }


@pytest.mark.slow
def test_verify_with_the_original_but_without_the_owner_judges_distances(sfumato, stays, tmp_path):
    recipe, out = described(tmp_path, *PROMISED["k, l and t"]), tmp_path / "out"
    assert sfumato("run", stays, "-r", recipe, "-o", out).code == 0
    (out / "owner").rename(tmp_path / "elsewhere")
    claims = strictly(sfumato("verify", out / "share", "--original", stays, "--json").out)["claims"]
    assert {c["name"]: c["status"] for c in claims}[
        "0.6-closeness of diagnosis (equal distance)"
    ] == "holds"


@pytest.mark.slow
def test_check_compares_with_the_original_when_it_is_given(sfumato, stays, tmp_path):
    recipe, out = described(tmp_path, *PROMISED["factors"]), tmp_path / "out"
    assert sfumato("run", stays, "-r", recipe, "-o", out).code == 0
    data = out / "share" / "data.csv"
    certified = strictly((out / "share" / "certificate.json").read_text())["verdicts"]
    with_it = strictly(sfumato("check", data, "-r", recipe, "--original", stays, "--json").out)[
        "verdicts"
    ]
    assert all(
        math.isclose(a["attained"], b["attained"]) for a, b in zip(certified, with_it, strict=True)
    )
    assert "was used as the original; give the original" in sfumato("check", data, "-r", recipe).err


@pytest.mark.slow
def test_a_column_that_is_quasi_too_cannot_be_protected(sfumato, stays, tmp_path):
    roles = ROLES.replace(
        "marital_status: {role: quasi", "marital_status: {role: [quasi, sensitive]"
    )
    recipe = described(tmp_path, "l_diversity: {sensitive: marital_status, l: 2}", roles=roles)
    done = sfumato("run", stays, "-r", recipe, "-o", tmp_path / "out")
    assert done.code == 2 and "'marital_status' is quasi as well as sensitive" in " ".join(
        done.err.split()
    )
    recipe = described(
        tmp_path, "k_anonymity: {k: 3}", "l_diversity: {sensitive: ward, l: 2}", roles=roles
    )
    assert sfumato("run", stays, "-r", recipe, "-o", tmp_path / "out").code == 0


@pytest.mark.slow
def test_missing_values_as_wildcards_beside_a_sensitive_promise(sfumato, stays, tmp_path):
    roles = ROLES.replace("occupation: {role: quasi", "occupation: {role: quasi, missing: wildcard")
    recipe = described(
        tmp_path, "k_anonymity: {k: 3}", "l_diversity: {sensitive: ward, l: 2}", roles=roles
    )
    out = tmp_path / "out"
    assert sfumato("run", stays, "-r", recipe, "-o", out).code == 0
    verdicts = strictly((out / "share" / "certificate.json").read_text())["verdicts"]
    assert [v["missing_rule"] for v in verdicts] == ["wildcard", "category"]
    assert sfumato("verify", out / "share", "--original", stays).code == 0


@pytest.mark.slow
def test_a_population_is_found_from_the_recipe(sfumato, stays, tmp_path, monkeypatch):
    (tmp_path / "sub" / "everyone").mkdir(parents=True)
    people = pl.read_csv(stays, infer_schema=False)
    pl.concat([people] * 3).write_csv(tmp_path / "sub" / "everyone" / "people.csv")
    named = "population: everyone/people.csv"
    recipe = described(
        tmp_path / "sub",
        f"k_map: {{k: 6, {named}}}",
        f"delta_presence: {{low: 0, high: 0.5, {named}}}",
    )
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out"
    done = sfumato("run", stays, "-r", recipe, "-o", out, "--json")
    assert done.code == 0 and strictly(done.out)["verdicts"][1]["attained"] == pytest.approx(1 / 3)
    assert sfumato("check", out / "share" / "data.csv", "-r", recipe).code == 0
    told = strictly((out / "share" / "certificate.json").read_text())["recipe"]["meet"][0]["k_map"][
        "population"
    ]
    assert told == "people.csv"  # where it lies stays with the owner
    whole = sfumato("verify", out / "share", "--original", stays, "--json")
    assert whole.code == 0 and {claim["status"] for claim in strictly(whole.out)["claims"]} == {
        "holds"
    }
    certificate = strictly((out / "share" / "certificate.json").read_text())
    for promise in certificate["recipe"]["meet"]:
        next(iter(promise.values()))["population"] = "others/people.csv"
    (out / "share" / "report.html").write_text(draw_page(certificate), encoding="utf-8")
    seal_certificate(out / "share", certificate, None)
    forged = sfumato("verify", out / "share", "--original", stays, "--json")
    assert forged.code == 1 and "gives other figures: recipe" in forged.out
    (tmp_path / "sub" / "everyone" / "people.csv").unlink()
    assert sfumato("run", stays, "-r", recipe, "-o", tmp_path / "again").code == 5


def test_persons_with_several_rows(tmp_path):
    """A class counts persons: its records may be more, its diversity is never above its persons."""
    visits = examples.visits(rows=800)
    promises = [
        sf.KAnonymity(3),
        registry.ask("l_diversity:diagnosis,2").model,
        registry.ask("t_closeness:diagnosis,0.8").model,
    ]
    release = sf.anonymize(visits, promises, [sf.GlobalRecoding(budget=0.2)], seed=1)
    table = release.released.to_polars()
    persons = table.group_by(visits.schema.quasi).agg(
        pl.col("patient").n_unique(), pl.col("diagnosis").n_unique()
    )
    assert release.holds and persons["patient"].min() >= 3 and persons["diagnosis"].min() >= 2
    again = sf.judge(release.released, promises[:2])
    assert again[0].attained == persons["patient"].min()
    assert (
        again[1].attained
        == persons.select(pl.min_horizontal("patient", "diagnosis")).to_series().min()
    )


def test_suppression_that_moves_the_reference_is_followed_to_the_end():
    """Judged all at once, every class is farther than 0.1 from the table; without the third the
    others are the table.
    """
    counts = {("a", "x"): 10, ("a", "y"): 10, ("b", "x"): 10, ("b", "y"): 10, ("c", "y"): 12}
    rows = [pair for pair, number in counts.items() for _ in range(number)]
    people = sf.read(pl.DataFrame(rows, schema=["block", "secret"], orient="row"))
    people = people.with_roles(quasi="block", sensitive="secret")
    promise = registry.ask("t_closeness:secret,0.1,reference=released").model
    assert len(sf.judge(people, [promise])[0].failing) == 3
    release = sf.anonymize(people, [promise], [sf.GlobalRecoding(budget=0.25)], seed=1)
    assert set(release.data["block"]) == {"a", "b"} and release.suppressed == 12
    assert release.verdicts[0].attained == 0 and release.verdicts[0].holds
    with pytest.raises(sf.errors.Unsatisfiable):
        sf.anonymize(people, [promise], [sf.GlobalRecoding(budget=0.2)], seed=1)
