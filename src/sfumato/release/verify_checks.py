"""All checks of ``verify``: the one table, from the sections of a certificate to the functions that
hold them to account.

A check gets the certificate, the shared folder and what is at hand of the original, and returns one
claim, several, or none where it has nothing to say. A section that is added to the document gets
its entry here, in the order in which claims are told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sfumato.core.fields import Fields
from sfumato.core.parameters import Members
from sfumato.core.shape import is_shape
from sfumato.release import (
    file_checks,
    original_checks,
    person_checks,
    promise_checks,
    recipe_checks,
    table_checks,
)
from sfumato.release.decision.checks import decision_of_file, decision_of_owner
from sfumato.release.manifest import Claim
from sfumato.release.replay import Original
from sfumato.release.shared_folder import SharedFolder

Check = Callable[[Fields, SharedFolder, Original], Claim | Iterable[Claim] | None]

DATA_FILES: tuple[Check, ...] = (
    file_checks.data_files_unedited,
    file_checks.rows_and_columns,
    file_checks.nothing_beside_tables,
    file_checks.listed_files_judged,
)
CHECKS: dict[str, tuple[Check, ...]] = {
    # of every certificate
    "digest": (file_checks.certificate_unedited, file_checks.signature),
    "files": (file_checks.folder_as_listed, file_checks.verifier_of_version),
    # of the released files alone
    "data": DATA_FILES,
    "tables": DATA_FILES,
    "counts": (
        person_checks.people_counted,
        person_checks.columns_of_recipe,
        person_checks.numbers_of_recipe,
        person_checks.dropped_columns,
        person_checks.levels_of_plan,
    ),
    "recipe": (
        recipe_checks.recipe_readable,
        recipe_checks.direct_identifiers_gone,
        recipe_checks.proven_by_data,
    ),
    "plan": (recipe_checks.steps_in_plan, promise_checks.epsilon),
    "suppressed_people": (person_checks.people_gone,),
    "suppressed_records": (table_checks.records_gone,),
    "roles": (
        table_checks.columns_of_recipe,
        table_checks.numbers_of_recipe,
        table_checks.levels_of_plan,
    ),
    "contract": (recipe_checks.contract_kept,),
    "attacks": (recipe_checks.attack_numbers, original_checks.attacks_against_original),
    "story": (table_checks.pictures_of_recipe,),
    "utility": (table_checks.utility_of_file,),
    "implied": (table_checks.implied_of_recipe,),
    "decision": (decision_of_file, decision_of_owner),
    "classes": (
        table_checks.class_sizes,
        table_checks.default_readers,
        table_checks.labels_of_file,
    ),
    "verdicts": (promise_checks.promises_kept, original_checks.promises_against_original),
    "limits": (recipe_checks.limits_kept, original_checks.limits_against_original),
    # beside the original
    "input_commitment": (
        file_checks.report_page,
        original_checks.input_committed,
        original_checks.made_from_original,
        original_checks.suppressed_count,
        original_checks.fields_against_original,
        original_checks.order_against_original,
        original_checks.implied_against_original,
    ),
}
ELSEWHERE = Members(
    "sfumato",
    {
        "aggregates": "results.tables.verification:CHECKS",
        "outputs": "results.checking.verification:CHECKS",
        "study": "parties.verification:CHECKS",
    },
)
"""Sections of results that hold no records: where their checks are."""
CANNOT_BE_CHECKED = {
    "created": "a moment",
    "decision.dated": "a moment",
    "versions.*": "what was installed; other versions may give the same",
    "attacks.seconds": "how long it took",
    "recipe.steps.*.seconds": "a time budget, which the lock replaces by the effort it allowed",
    "*.form.defused": "says nothing where no cell could be run; elsewhere the file tells it",
    "data.table.*": "a table of a database, which no folder holds",
}
"""Fields that nobody can compute again, as patterns of their paths, and why."""
WITHOUT_CHECK = {
    "sfumato_certificate": "decides how the document is read",
    "shape": "decides how the document is read",
    "created": "nobody can compute it again",
    "versions": "nobody can compute it again",
    "signature": "checked with the digest, since a trusted key asks for it",
    "people": "the second file of data, checked with it",
    "labels": "checked with the classes, since they may be left out",
    "missing_rule": "checked with the roles",
    "dropped_columns": "checked with the roles, or with the counts of people",
    "differential_privacy": (
        "checked with the plan, since a step may account for an ε that nobody states"
    ),
    "shuffled": "the release that is made again depends on it",
    "rehearsal": "nobody can compute it again",
    "sampled": "the release that is made again depends on it",
    "synthetic": "checked with the input, since rows may be nobody's and nobody says so",
}
"""Sections without a check of their own, and why."""


def checks_for(certificate: Fields) -> list[tuple[str, Check]]:
    """The checks of a certificate, by the sections it has."""
    checks = [
        (section, check)
        for section in CHECKS
        if section in certificate
        for check in CHECKS[section]
    ]
    for section in ELSEWHERE:
        if section in certificate:
            checks += [(section, check) for check in ELSEWHERE[section]]
    return checks


def takes_original(shape: str) -> bool:
    """Whether a certificate of this kind is about records, which an original can be compared
    with.
    """
    return is_shape(shape)
