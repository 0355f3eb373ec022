"""Data files of the package: each is read here by the check of its kind, and code holds no data."""

from __future__ import annotations

import ast
import itertools
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sfumato.core.data_files import read_data_file

SOURCE = Path(__file__).parents[2] / "src"
FILES = sorted(SOURCE.rglob("data_files/*.json"))


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    assert len(set(keys)) == len(keys), "a key is written twice"
    return dict(pairs)


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_unique_keys)


def is_word_list(words: Any) -> None:
    """Texts without blanks around them, sorted, none twice."""
    assert words
    assert all(isinstance(word, str) and word == word.strip() != "" for word in words)
    assert words == sorted(set(words))


def are_word_lists(lists: dict[str, Any]) -> None:
    for words in lists.values():
        is_word_list(words)


def are_lower_case_lists(lists: dict[str, Any]) -> None:
    are_word_lists(lists)
    assert all(word == word.lower() for words in lists.values() for word in words)


def are_ordered_words(orders: list[list[str]]) -> None:
    """Each from low to high, two words at least; no order is listed twice."""
    assert all(len(words) >= 2 and len(set(words)) == len(words) for words in orders)
    assert len({tuple(words) for words in orders}) == len(orders)


def are_records(fields: dict[str, type | tuple[type, ...]], *key: str) -> Callable[[Any], None]:
    """A check of records with just these fields, no two with the same key."""

    def check(records: list[dict[str, Any]]) -> None:
        for record in records:
            assert list(record) == list(fields)
            for name, kind in fields.items():
                assert isinstance(record[name], kind), f"{name} of {record[key[0]]}"
        assert len({json.dumps([record[name] for name in key]) for record in records}) == len(
            records
        )

    return check


def are_vocabularies(entries: list[dict[str, Any]]) -> None:
    fields: dict[str, Any] = {"concept": str, "least": int, "share": float, "words": list}
    are_records(fields, "concept", "least", "share")(entries)
    for entry in entries:
        is_word_list(entry["words"])
        assert 0 < entry["share"] <= 1


def are_concepts(entries: list[dict[str, Any]]) -> None:
    """Each with a role that proposals know and the authority that protects it."""
    are_records({"concept": str, "subject": str, "role": str, "authority": str}, "concept")(entries)
    assert {entry["role"] for entry in entries} == {"quasi", "sensitive", "quasi+sensitive"}
    assert all(entry["authority"] for entry in entries)


def are_words_of_languages(lists: dict[str, Any]) -> None:
    """Words of ten languages."""
    assert list(lists) == ["en", "de", "fr", "es", "it", "nl", "pt", "pl", "sv", "da"]
    are_lower_case_lists(lists)


def are_senses(lists: dict[str, Any]) -> None:
    """Meanings of words in the order they are tried, each with what decides for it."""
    conditions = {"topic", "beside", "with", "languages", "alone"}
    for word, senses in lists.items():
        assert word == word.lower()
        assert senses
        for sense in senses:
            assert set(sense) - {"concept"} <= conditions
            assert sense["concept"]


def are_abbreviations(topics: dict[str, Any]) -> None:
    """Topic → concept → abbreviations; none of two concepts in one topic."""
    for concepts in topics.values():
        are_lower_case_lists(concepts)
        words = [word for words in concepts.values() for word in words]
        assert len(set(words)) == len(words)


def are_rows(*kinds: type) -> Callable[[Any], None]:
    """A check of rows with cells of these types. A worked table may hold a row twice."""

    def check(rows: list[list[Any]]) -> None:
        assert rows
        for row in rows:
            assert [type(cell) for cell in row] == list(kinds)

    return check


def are_edges(edges: list[list[int]]) -> None:
    are_rows(int, int)(edges)
    assert edges == sorted(edges)
    assert len({tuple(edge) for edge in edges}) == len(edges)
    assert all(one < other for one, other in edges)


def are_ranges(ranges: dict[str, list[Any]]) -> None:
    """First and last of each; no two overlap."""
    assert all(first <= last for first, last in ranges.values())
    limits = sorted(ranges.values())
    assert all(before[1] < after[0] for before, after in itertools.pairwise(limits))


def are_countries(lists: dict[str, Any]) -> None:
    assert list(lists) == ["regions", "sub_regions", "countries"]
    codes = [code for pairs in lists["countries"].values() for pair in pairs for code in pair]
    assert len(set(codes)) == len(codes) == 2 * 249
    assert set(lists["sub_regions"]) <= set(lists["countries"])
    for pairs in lists["countries"].values():
        assert pairs == sorted(pairs)


def are_states(lists: dict[str, Any]) -> None:
    assert list(lists) == ["regions", "divisions"]
    codes = [code for states in lists["divisions"].values() for code in states]
    assert len(set(codes)) == len(codes) == 51
    assert {division for divisions in lists["regions"].values() for division in divisions} == set(
        lists["divisions"]
    )


def are_hospital_words(lists: dict[str, Any]) -> None:
    columns = ["chapter", "ward", "name", "share", "age", "spread", "female", "days", "cost"]
    assert lists["diagnoses"]["columns"] == columns
    rows = lists["diagnoses"]["rows"]
    assert all(len(row) == len(columns) for row in rows)
    assert len({row[2] for row in rows}) == len(rows)
    for groups in (lists["occupations"], lists["nationalities"]):
        names = [name for members in groups.values() for name in members]
        assert len(set(names)) == len(names)
    statuses = sum(len(names) for names in lists["marital_statuses"].values())
    assert all(len(band["weights"]) == statuses for band in lists["marital_status_by_age"])
    are_records({"digits": str, "share": int, "foreign": float}, "digits")(lists["districts"])
    known = {"age", "sex", "zip", "nationality", "marital_status", "occupation"}
    assert all(set(patient) <= known for patient in lists["recognisable_patients"])


def are_syllables(lists: dict[str, Any]) -> None:
    assert list(lists) == ["given", "family"]
    endings = [*lists["given"]["endings"].values(), lists["family"]["endings"]]
    for kind, part in itertools.product(lists.values(), ("onsets", "middles")):
        endings.append(kind[part])
    assert all(len(set(syllables)) == len(syllables) for syllables in endings)


def are_releases(lists: dict[str, Any]) -> None:
    assert list(lists) == ["practice", "clinic"]
    for groups in lists.values():
        are_records({"age": str, "diagnoses": list}, "age")(groups)


def are_counts(lists: dict[str, Any]) -> None:
    assert all(len(counts) == len(lists["incomes"]) for counts in lists["blocks"].values())


def are_tables(lists: dict[str, Any]) -> None:
    for rows in lists.values():
        are_rows(str, str, int, str)(rows)


def is_tree(tree: Any) -> None:
    """Nested groups down to lists of leaves, no leaf twice."""
    leaves = list(_leaves(tree))
    assert len(set(leaves)) == len(leaves)


def _leaves(tree: Any) -> Iterator[str]:
    for part in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(part, str):
            yield part
        else:
            yield from _leaves(part)


def are_pairs(pairs: dict[str, list[Any]]) -> None:
    assert all(len(pair) == 2 and isinstance(pair[0], str) for pair in pairs.values())


def are_signs(signs: dict[str, str]) -> None:
    """Commands of LaTeX, and the text for each."""
    assert list(signs) == sorted(signs)
    assert all(command.startswith("\\") for command in signs)
    assert all("\\" not in text for text in signs.values())


def are_options(verbs: dict[str, list[dict[str, Any]]]) -> None:
    """The options of each verb, as tools/command_options.py writes them."""
    assert list(verbs) == sorted(verbs)
    for options in verbs.values():
        names = [option["name"] for option in options]
        assert len(set(names)) == len(names)
        assert all(option["meaning"] for option in options)


def are_parents(parents: dict[str, list[str]]) -> None:
    are_word_lists(parents)
    assert list(parents) == sorted(parents)


def are_small_areas(entries: list[dict[str, Any]]) -> None:
    are_records({"census": int, "source": str, "areas": list}, "census")(entries)
    for entry in entries:
        is_word_list(entry["areas"])
        assert all(len(area) == 3 and area.isdigit() for area in entry["areas"])
    assert [len(entry["areas"]) for entry in entries] == [17, 18]


CHECKS: dict[str, Callable[[Any], None]] = {
    "data/examples/conditions": are_rows(str, int, str, str),
    "data/examples/disease_tree": is_tree,
    "data/examples/faggioli": are_rows(str, str, str, str, str, str, str, int),
    "data/examples/faggioli_blocks": are_counts,
    "data/examples/hospital_words": are_hospital_words,
    "data/examples/john": are_releases,
    "data/examples/karate": are_edges,
    "data/examples/name_syllables": are_syllables,
    "data/examples/patients": are_rows(int, str, str, str),
    "data/examples/salaries_and_diseases": are_records(
        {"zip": str, "age": int, "salary": int, "disease": str, "heart_disease": str}, "zip"
    ),
    "data/examples/special_uniques": are_rows(str, str, str, str),
    "data/examples/students": are_rows(str, int, str),
    "data/examples/torra": are_tables,
    "data/examples/weighted_keys": are_rows(str, str, str, float),
    "data/table/code_names": are_lower_case_lists,
    "guidance/profiling/design_terms": are_lower_case_lists,
    "guidance/profiling/direct_terms": are_lower_case_lists,
    "guidance/profiling/abbreviations": are_abbreviations,
    "guidance/profiling/concepts": are_concepts,
    "guidance/profiling/given_names": is_word_list,
    "guidance/profiling/modifiers": is_word_list,
    "guidance/profiling/people_of_topics": are_lower_case_lists,
    "guidance/profiling/safe_harbor_kinds": are_records(
        {"letter": str, "title": str, "concepts": list}, "letter"
    ),
    "guidance/profiling/senses": are_senses,
    "guidance/profiling/national_numbers": are_records(
        {"country": str, "lengths": list, "module": str}, "module"
    ),
    "guidance/profiling/ordered_words": are_ordered_words,
    "guidance/profiling/quasi_terms": are_lower_case_lists,
    "guidance/profiling/sensitive_terms": are_lower_case_lists,
    "guidance/profiling/stems": are_lower_case_lists,
    "guidance/profiling/value_words": are_vocabularies,
    "guidance/profiling/word_lists": are_lower_case_lists,
    "guidance/profiling/words_alone": are_lower_case_lists,
    **{
        f"guidance/profiling/words_{entry['concept']}": are_words_of_languages
        for entry in read_data_file("sfumato.guidance.profiling", "concepts")
    },
    "methods/formulas/published_thresholds": are_records(
        {"name": str, "risk": (float, type(None)), "k": int, "source": str, "seen": str},
        "name",
        "k",
    ),
    "interfaces/cli/latex_signs": are_signs,
    "interfaces/cli/verb_options": are_options,
    "methods/hierarchies/countries": are_countries,
    "methods/hierarchies/icd10_chapters": are_ranges,
    "methods/hierarchies/isced_groups": are_word_lists,
    "methods/hierarchies/isco08_groups": are_word_lists,
    "methods/hierarchies/nace_sections": are_ranges,
    "methods/hierarchies/nuts_countries": is_word_list,
    "methods/hierarchies/us_states": are_states,
    "policy/dialects/class_parents": are_parents,
    "policy/dialects/lpl_lists": are_pairs,
    "policy/model_names": are_pairs,
    "policy/small_areas": are_small_areas,
}
"""Package and file → the check of its kind."""


def _key(path: Path) -> str:
    return (path.parents[1].relative_to(SOURCE / "sfumato") / path.stem).as_posix()


@pytest.mark.parametrize("path", FILES, ids=_key)
def test_data_file_follows_its_schema(path):
    CHECKS[_key(path)](read(path))


def test_every_check_has_its_file():
    assert sorted(CHECKS) == sorted(map(_key, FILES))


@pytest.mark.parametrize("key", CHECKS)
def test_data_file_is_found_as_a_resource(key):
    *folders, name = key.split("/")
    package = ".".join(["sfumato", *folders])
    path = SOURCE.joinpath("sfumato", *folders, "data_files", f"{name}.json")
    assert read_data_file(package, name) == read(path)
    assert read_data_file(package, name) is read_data_file(package, name)


def test_data_files_are_in_the_wheel(tmp_path):
    hatchling = pytest.importorskip("hatchling.builders.wheel")
    builder = hatchling.WheelBuilder(str(SOURCE.parent))
    [wheel] = builder.build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {path.relative_to(SOURCE).as_posix() for path in FILES} <= names


LARGEST_LITERAL = 64
"""Texts and numbers that a literal may hold: a table of more belongs into a data file."""

TABLES_OF_CODE = {
    "src/sfumato/methods/hierarchies/public_classification.py": "schemes with their functions",
}
"""Larger literals that are code: what they hold are functions or rules of this program."""


def _literals(node: ast.AST) -> Iterator[ast.AST]:
    """The outermost lists, dicts, sets and tuples that hold more than names."""
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
        return
    if isinstance(node, (ast.List, ast.Dict, ast.Set, ast.Tuple)):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _literals(child)


def test_no_large_tables_in_code():
    large = []
    for path in sorted((SOURCE / "sfumato").rglob("*.py")):
        name = path.relative_to(SOURCE.parent).as_posix()
        if path.name == "__init__.py" or name in TABLES_OF_CODE:
            continue
        for literal in _literals(ast.parse(path.read_text(encoding="utf-8"))):
            constants = sum(isinstance(node, ast.Constant) for node in ast.walk(literal))
            calls = sum(isinstance(node, ast.Call) for node in ast.walk(literal))
            if constants > LARGEST_LITERAL and calls == 0:
                large.append(f"{name}:{literal.lineno} ({constants})")
    assert not large, f"move these tables into data files: {large}"
