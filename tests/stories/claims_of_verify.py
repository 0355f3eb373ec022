"""Claims that ``verify`` finds to hold, and claims that nothing is better."""

from __future__ import annotations

from tests.stories.entries import FORGED, FORGED_PEOPLE, OTHER_ROWS, WRITTEN, best, check

EDITED_BYTES = "tests/release/test_certificate_fuzz.py::test_one_byte_more_or_less_anywhere"
FLIPPED_BYTE = "tests/release/any_shape/test_release.py::test_a_flipped_byte_is_caught"
EVERY_FIELD = "tests/release/test_every_leaf.py::test_no_field_can_be_edited_beside_the_original"
CHANGED_RESULT = "tests/parties/test_conduct.py::test_a_changed_result_is_noticed"
LIES = "tests/release/test_recipe_checks.py::test_a_lie_that_the_folder_contradicts"

CHECKS = (
    check(
        "release.file_checks",
        "certificate unedited",
        "The certificate is the text that was written.",
        EDITED_BYTES,
        "tests/release/test_certificate_files.py::test_a_mutated_certificate_is_judged_or_refused",
    ),
    check(
        "release.file_checks",
        "signature",
        "Everything in the certificate was signed with the key.",
        "tests/release/test_signatures.py::test_no_changed_file_is_verified",
        "tests/release/test_signatures.py::test_no_place_at_any_depth_is_unsigned",
        "tests/release/test_signatures.py::test_more_in_the_signature_is_no_signature",
    ),
    check(
        "release.file_checks",
        "by file_unedited",
        "The data file is the one that was certified.",
        EDITED_BYTES,
        FLIPPED_BYTE,
    ),
    check(
        "release.file_checks",
        "by rows_and_columns",
        "Every file has the certified rows and columns.",
        OTHER_ROWS,
        FORGED,
        FORGED_PEOPLE,
        "tests/release/any_shape/test_release.py::test_an_edited_file_with_digests_mended_breaks_what_it_breaks",
    ),
    check(
        "release.recipe_checks",
        "by proven_by_data",
        "Every key of several tables names a row.",
        "tests/data/relational/test_released.py::test_keys_that_name_nobody_are_found_out",
        "tests/data/relational/test_from_tables.py::test_owners_are_those_found_one_key_after_the_other",
    ),
    check(
        "release.recipe_checks",
        "direct identifiers gone",
        "No column of a direct identifier is in a file.",
        "tests/test_written_fuzz.py::test_a_direct_identifier_is_dropped_whatever_its_name",
        "tests/data/relational/test_released.py::test_no_key_and_no_listed_value_is_shared",
        FORGED,
        FORGED_PEOPLE,
    ),
    check(
        "release.promise_checks",
        "by promises_kept",
        "A promise holds on the written file, with the certified value.",
        OTHER_ROWS,
        FORGED,
        WRITTEN,
        "tests/release/test_certificate_fuzz.py::test_promises_and_verdicts_that_do_not_belong_together",
    ),
    check(
        "release.table_checks",
        "class sizes and risks",
        "Class sizes and risks are those of the file.",
        "tests/release/test_verify.py::test_a_row_removed_with_digests_mended_breaks_the_class_sizes",
        OTHER_ROWS,
    ),
    check(
        "release.table_checks",
        "labels of recoded columns",
        "Number, width and overlap of labels are those of the file.",
        "tests/release/test_label_facts.py::test_edited_facts_fail",
    ),
    check(
        "release.table_checks",
        "columns match the recipe",
        "The file has the columns of the recipe.",
        LIES,
    ),
    check(
        "release.recipe_checks",
        "by _limit_claim",
        "A limit is kept on the written file, with the certified value.",
        LIES,
        "tests/release/test_certificate_files.py::test_a_limit_left_out_of_the_verdicts_is_noticed",
    ),
    check(
        "release.file_checks",
        "verifier",
        "The checker beside the data is the one of this version.",
        "tests/release/test_certificate_vectors.py::test_a_checker_beside_the_data_is_that_of_this_version",
    ),
    check(
        "release.file_checks",
        "report",
        "Page and pictures are drawn from the certificate.",
        "tests/release/test_recipe_checks.py::test_a_page_that_says_something_else",
        "tests/release/test_recipe_checks.py::test_a_picture_of_something_else",
        "tests/release/test_certificate_words.py::test_a_page_that_somebody_wrote_is_never_said_to_hold",
        "tests/results/tables/test_protected_table.py::test_a_page_of_something_else_is_not_said_to_hold",
    ),
    check(
        "release.manifest",
        "folder",
        "The folder has the certified files and no others.",
        "tests/release/test_certificate_fuzz.py::test_a_folder_that_is_not_what_was_certified",
        "tests/release/test_certificate_files.py::test_the_folder_is_as_it_was_certified",
    ),
    check(
        "release.original_checks",
        ("by made_from_original", "{}, against the original", "suppressed {}"),
        "Recipe and seed make what was released of the original again, as many were left out as"
        " said, and the promises hold beside it.",
        "tests/release/test_replay.py::test_a_changed_release_does_not_verify",
        "tests/core/test_mechanism.py::test_verify_from_the_certificate_and_from_the_original",
        "tests/test_fuzz.py::test_whatever_is_released_can_be_verified",
        "tests/release/any_shape/test_release.py::test_another_order_is_no_replay",
        "tests/release/test_manifest.py::test_only_the_original_tells_of_other_values",
        FORGED_PEOPLE,
    ),
    check(
        "release.decision.checks",
        "decision: what the file shows",
        "The classes of the file are as the decision says, and large enough for its tier.",
        "tests/release/decision/test_record.py::test_the_file_alone_contradicts_some_forgeries",
        "tests/release/decision/test_record.py::test_published_evidence_can_be_decided_by_anybody",
    ),
    check(
        "release.decision.checks",
        "decision follows from terms and evidence",
        "The owner's record is the certified one, and its terms and evidence lead to the decision.",
        "tests/release/decision/test_record.py::test_an_edited_section_is_found_out",
        "tests/release/decision/test_record.py::test_an_edited_record_of_the_owner_is_found_out",
    ),
    check(
        "release.decision.checks",
        "decision: the evidence, against the original",
        "The attacks, tried again by their seed, find what the record says.",
        "tests/release/decision/test_record.py::test_made_up_evidence_is_found_out_by_trying_again",
        "tests/release/decision/test_record.py::test_an_attack_left_out_is_unknown_and_found_out",
    ),
    check(
        "release.original_checks",
        "the original is the committed one",
        "The original is the table of which the release was made.",
        "tests/release/test_verify.py::test_another_original_is_noticed",
        "tests/release/any_shape/test_release.py::test_another_original_is_noticed",
    ),
    check(
        "release.original_checks",
        "released columns beside the labels, against the original",
        "No released column tells a quasi-identifier beyond its label in the ways that were looked"
        " for.",
        "tests/release/test_implied.py::test_planted_copies_are_refused_and_noise_is_not",
        "tests/release/test_implied.py::test_verify_with_the_original_sees_what_the_certificate_does_not_accept",
        "tests/methods/formulas/test_dependence.py::test_implied_linkage_agrees_with_counting_record_by_record",
    ),
    check(
        "release.original_checks",
        "figures of the certificate, against the original",
        "Every section is that of the release made again.",
        EVERY_FIELD,
        "tests/release/test_table_release.py::test_an_edited_certificate_of_drawn_rows_does_not_verify",
        "tests/release/test_original_checks.py::test_a_number_that_only_the_original_tells_is_noticed",
    ),
    check(
        "release.original_checks",
        "attacks{}",
        "Intruders who try again reach what is certified.",
        EVERY_FIELD,
    ),
    check(
        "release.person_checks",
        "columns match the recipe",
        "The tables have the columns of the recipe.",
        "tests/release/test_manifest.py::test_a_column_that_the_recipe_does_not_have",
        FORGED_PEOPLE,
    ),
    check(
        "release.person_checks",
        "counts",
        "The files have as many people as certified.",
        FORGED_PEOPLE,
        "tests/release/any_shape/test_release.py::test_an_edited_file_with_digests_mended_breaks_what_it_breaks",
    ),
    check(
        "results.tables.verification",
        ("additivity", "suppressed cells"),
        "Every published sum fits, and as many cells are suppressed as said.",
        "tests/results/tables/test_protected_table.py::test_a_hundred_edits_are_found",
        "tests/results/tables/test_verification.py::test_a_sum_that_does_not_fit_is_found",
    ),
    check(
        "results.tables.verification",
        "no cell follows from one sum",
        "No sum lacks exactly one cell.",
        "tests/results/tables/test_protected_table.py::test_a_stranger_sees_what_is_wrong",
        "tests/results/tables/test_verification.py::test_a_cell_that_follows_from_a_sum_is_found",
    ),
    check(
        "results.tables.verification",
        "audit",
        "No sensitive cell of the published tables can be narrowed down too far.",
        "tests/results/tables/test_problem.py::test_the_audit_is_what_trying_all_tables_finds",
        "tests/results/tables/test_many_tables.py::test_no_published_table_of_many_fails",
        "tests/results/tables/test_protected_table.py::test_edits_under_a_certificate_that_was_made_to_fit_are_found_by_the_owner",
    ),
    check(
        "results.checking.verification",
        "outputs listed",
        "The released folder has the listed files, as listed, and no others.",
        "tests/results/checking/test_verification.py::test_a_released_folder_is_verified",
        "tests/results/checking/test_verification.py::test_strangers_are_told_and_never_released",
    ),
    check(
        "results.checking.verification",
        ("log", "checks and decisions"),
        "The log begins as it did at the release, and the outputs passed or were approved as it"
        " says.",
        "tests/results/checking/test_seals.py::test_edits_are_noticed",
        "tests/results/checking/test_seals.py::test_a_log_that_is_another_one_after_the_release",
    ),
    check(
        "results.checking.verification",
        "together",
        "What the released outputs tell together was seen by who approved them.",
        "tests/results/checking/test_differences.py::test_random_sessions_tell_of_nobody",
        "tests/results/checking/test_differences.py::test_verify_says_what_review_says",
    ),
    check(
        "parties.verification",
        ("study", "file"),
        "The result is that of the study, as it was signed.",
        CHANGED_RESULT,
        "tests/parties/test_conduct.py::test_who_tells_different_stories_is_found_out",
    ),
    check(
        "parties.verification",
        ("agreed", "signatures"),
        "All parties signed the study, and enough of them the answer.",
        CHANGED_RESULT,
        "tests/parties/test_conduct.py::test_a_forged_signature_is_no_confirmation",
        "tests/parties/test_study.py::test_only_all_signatures_are_enough",
    ),
)

OPTIMALITY = (
    best(
        (
            ("methods.steps.recoding.classical", "optimal"),
            ("methods.steps.recoding.global_recoding", "optimal"),
        ),
        "The node that is taken is the best of all that keep the promises.",
        "tests/methods/steps/recoding/test_optimal.py::test_search_equals_trying_every_node",
        "tests/methods/models/test_reached_by_search.py::test_the_optimum_is_that_of_trying_every_node",
    ),
    best(
        (
            ("methods.steps.recoding.anytime", "proved_optimal"),
            ("methods.steps.recoding.anytime", "lower_bound"),
        ),
        "Where a stopped search says so, no node is better, or none is below its bound.",
        "tests/methods/steps/recoding/test_anytime.py::test_anytime_never_claims_too_much",
        "tests/methods/steps/recoding/test_anytime.py::test_bounds_are_bounds",
    ),
    best(
        (
            ("methods.steps.taxonomy.k_optimize", "proved_optimal"),
            ("methods.steps.taxonomy.k_optimize", "lower_bound"),
        ),
        "No set of cuts costs less than the bound, and where it says so none less than what was"
        " taken.",
        "tests/methods/steps/taxonomy/test_k_optimize.py::test_the_optimum_is_that_of_trying_every_set",
        "tests/methods/steps/taxonomy/test_k_optimize.py::test_a_search_that_is_stopped_never_claims_too_much",
    ),
    best(
        (
            ("methods.steps.suppression.cell_plan", "exact"),
            ("methods.steps.suppression.cell_plan", "lower_bound"),
        ),
        "No suppression of cells that keeps the promise costs less.",
        "tests/methods/steps/suppression/test_cell_plan.py::test_exact_is_what_trying_everything_finds",
        "tests/methods/steps/suppression/test_cell_plan.py::test_exact_is_valid_and_never_dearer_than_greedy",
    ),
    best(
        (("methods.steps.microaggregation.methods", "optimal"),),
        "No groups of at least k records have a smaller error.",
        "tests/methods/steps/microaggregation/test_microaggregation.py::test_optimal_is_the_best_of_all_partitions",
    ),
    best(
        (
            ("methods.steps.rules.hide_rules", "exact"),
            ("methods.formulas.rule_hiding", "exact"),
            ("methods.formulas.rule_hiding", "optimal"),
        ),
        "No way to hide the rules has fewer side effects.",
        "tests/methods/formulas/test_rule_hiding.py::test_exact_is_the_best_of_all_ways",
        "tests/methods/formulas/test_rule_hiding.py::test_exact_is_the_best_for_itemsets",
        "tests/methods/steps/rules/test_hide_rules.py::test_exact_never_has_more_side_effects",
    ),
    best(
        (("data.baskets.recoding", "optimal"),),
        "No cut of the item hierarchy that keeps the promise loses less.",
        "tests/data/baskets/test_cuts.py::test_no_cut_is_cheaper_than_the_optimal_one",
        "tests/data/baskets/test_single_leaves.py::test_optimal_cuts_of_random_trees",
    ),
    best(
        (("results.tables.protected_table", "exact"), ("results.tables.published_tables", "exact")),
        "No set of suppressed cells that protects the tables costs less.",
        "tests/results/tables/test_exact.py::test_the_least_suppression_is_what_trying_all_sets_finds",
        "tests/results/tables/test_table.py::test_the_heuristic_costs_no_less_than_the_least",
    ),
    best(
        (("results.tables.table_files", "exact"),),
        "The intervals told to the owner are the tightest that can be found.",
        "tests/results/tables/test_problem.py::test_the_audit_is_what_trying_all_tables_finds",
        "tests/results/tables/test_protected_table.py::test_intervals_are_as_wide_as_they_must_be",
    ),
    best(
        (("results.integral.integral_privacy", "exact"),),
        "All sets of records were tried.",
        "tests/results/integral/test_subset_sums.py::test_subsets_are_counted",
        "tests/results/integral/test_algorithms.py::test_sums_tell_what_listing_tells",
    ),
)
