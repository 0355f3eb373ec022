"""Claims in sentences to the user, besides those of promises and ``verify`` themselves."""

from __future__ import annotations

from tests.stories.entries import FORGED, FORGED_PEOPLE, OTHER_ROWS, RELEASED, WRITTEN, said

EVERY_NODE = "tests/methods/steps/recoding/test_optimal.py::test_search_equals_trying_every_node"
SETS_OF_POINTS = "tests/data/paths/test_lkc.py::test_sets_of_points"
THREE_RESULTS = "tests/release/test_verification.py::test_the_result_follows_from_all_claims"
AUDIT_BY_TRYING = (
    "tests/results/tables/test_problem.py::test_the_audit_is_what_trying_all_tables_finds"
)

DECIDED = "tests/release/decision/test_decide.py::"
SENTENCES = (
    # The decision about a release.
    said(
        "release.decision.lines",
        "it is proved that no distance that could be learnt finds more than {} of people",
        "Publication of changed values needs the proved bound, which is of one record of each.",
        f"{DECIDED}test_without_a_proved_bound_nothing_perturbed_is_published",
    ),
    said(
        "methods.attacks.linkage.learned_linkage",
        "people have several records, and what is proved is about one record of each",
        "Where people have several records nothing is proved of them.",
        "tests/release/decision/test_attacks.py::test_a_bound_that_is_proved_of_single_records_is_unknown_of_people",
    ),
    said(
        "release.decision.lines",
        ("not verified: {}", "the written folder was verified against the original"),
        "No tier is granted unless the folder was verified beside the original.",
        f"{DECIDED}test_verification_must_pass_beside_the_original",
    ),
    said(
        "release.decision.checks",
        "the owner's record is not the one that was certified",
        "Another record of the owner than the certified one is found out.",
        "tests/release/decision/test_record.py::test_an_edited_section_is_found_out",
        "tests/release/decision/test_record.py::test_an_edited_record_of_the_owner_is_found_out",
    ),
    said(
        "release.decision.page_blocks",
        "Attack results are kept by the owner. The certificate holds the digest of the owner's"
        " record, so that it cannot be exchanged unnoticed.",
        "No attack figure is shared, and another record is found out.",
        "tests/release/decision/test_record.py::test_attack_figures_stay_with_the_owner",
        "tests/release/decision/test_record.py::test_an_edited_section_is_found_out",
    ),
    said(
        "release.decision.decide",
        "It would hold in a safe room, from which only checked results leave (classes of {}).",
        "All that internal use asks for holds with the classes of a safe room.",
        f"{DECIDED}test_a_safe_room_is_a_note_and_no_tier",
    ),
    said(
        "release.decision.tiers",
        "It stays with the organisation that lawfully holds the original. To be treated as personal"
        " data.",
        "Internal use is granted only where all its terms hold.",
        f"{DECIDED}test_tiers_nest",
        f"{DECIDED}test_a_missing_finding_never_raises_the_tier",
    ),
    said(
        "guidance.profiling.yaml_text",
        "# Columns together were looked at in {} of these rows at most: what they single out,"
        " copies of each other and the step are estimates. `sfumato run` looks for copies again.",
        "No more rows are looked at together than that.",
        "tests/guidance/profiling/test_rows.py::test_the_sample_is_the_same_every_time_and_said",
    ),
    # A release as a whole.
    said(
        "release.report.headline",
        "Every promise holds",
        "No promise of the recipe is broken in the written file.",
        WRITTEN,
        RELEASED,
        "tests/release/report/test_headline.py::test_the_headline_of_random_records",
    ),
    said(
        "release.report.headline",
        "{} holds",
        "Promises about drawn records are about the file only.",
        "tests/release/test_table_release.py::test_a_promise_about_drawn_records_is_of_the_file",
        "tests/release/report/test_headline.py::test_the_headline_of_random_records",
    ),
    said(
        "release.report.headline",
        "every {} holds",
        "No limit and no agreement of the recipe is broken.",
        "tests/release/report/test_headline.py::test_the_headline_of_random_records",
        "tests/methods/attacks/test_synthetic.py::test_leaves_of_one_record_are_refused_although_no_cell_is_copied",
    ),
    said(
        "interfaces.cli.demo",
        (
            ("The promise holds, but the {} still finds people by columns it does not cover."),
            "[bold green]The promise holds, and none of these intruders succeeds.[/]",
        ),
        "The promise of the demo holds, and the intruders that get through are named.",
        RELEASED,
        "tests/interfaces/cli/test_run.py::test_demo",
    ),
    said(
        "release.implied",
        "k = {} holds on the quasi-identifiers;",
        "The class size holds on the quasi-identifiers, also where another column undoes it.",
        "tests/methods/models/test_k_anonymity.py::test_verdict_against_the_definition",
        "tests/release/test_implied.py::test_planted_copies_are_refused_and_noise_is_not",
    ),
    said(
        "release.report.wording",
        "An intruder may know it, but the promises hold with its exact values.",
        "The promises hold although the column is released unchanged.",
        WRITTEN,
        EVERY_NODE,
    ),
    said(
        "release.report.charts",
        "The promised k allows a chance of at most {}.",
        "Nobody is found with more than one chance in k.",
        "tests/methods/models/test_risk_thresholds.py::test_maximum_risk",
    ),
    said(
        "interfaces.scripts",
        "The release is judged on what would be shared; the printed output holds no value of a person.",
        "What a script prints tells no value of a person.",
        "tests/test_fuzz.py::test_run_releases_what_holds_or_refuses_politely",
        "tests/interfaces/test_scripts.py::test_script_notebook_command_and_workbench_make_the_same_release",
    ),
    # Verification.
    said(
        "release.verification",
        (
            "{}: all promises hold ({}); {}",
            ", {} vouched for by {}",
            "vouched for by {}; {}",
        ),
        "Everything was checked and holds, or a trusted key vouches for it.",
        THREE_RESULTS,
        FORGED,
        "tests/release/test_signatures.py::test_no_changed_file_is_verified",
    ),
    said(
        "release.promise_checks",
        "it follows from the steps of the recipe, about {}; no file shows that they ran as written, a signature vouches for it (--key)",
        "A promise about a mechanism follows from the steps of the recipe.",
        "tests/core/test_mechanism.py::test_anything_else_does_not",
        "tests/core/test_mechanism.py::test_a_certificate_that_tells_of_no_mechanism_fails",
        "tests/release/test_private_release.py::test_who_claims_a_smaller_epsilon_is_found_out",
    ),
    said(
        "release.report.sections",
        "{} of {} holds",
        "A promise of many columns is folded into one line where it holds in all of them.",
        "tests/release/report/test_sections.py::test_a_promise_that_fails_in_one_of_many_columns_is_shown_by_itself",
    ),
    said(
        "release.report.sections",
        "It checks that files and certificate belong together, and recomputes from the files alone that each promise holds with the value given here. Whether the data are those of the original, and how much was suppressed, can only be checked with the original: `sfumato verify . --original FILE`.",
        "The command of the page recomputes each promise, class sizes and risks from the files"
        " alone.",
        OTHER_ROWS,
        FORGED,
        FORGED_PEOPLE,
        "tests/release/test_person_checks.py::test_what_plan_and_verdicts_tell_is_held_against_recipe_and_files",
    ),
    said(
        "policy.comply",
        "the owner's record vouches for the policies of {} people",
        "Everybody's own policy is kept in that person's row.",
        "tests/policy/test_methods.py::test_what_each_person_asks_for_is_in_that_persons_row",
        "tests/policy/test_policy.py::test_people_who_get_a_policy_that_others_have_are_noticed",
    ),
    # Promises in their own words.
    said(
        "methods.models.risk_thresholds",
        (
            "at most {} expected re-identifications",
            "at most {} of records at risk above {}",
            "at most {} unique in the population",
        ),
        "The risk does not exceed its threshold.",
        "tests/methods/models/test_expected_reidentifications.py::test_is_the_number_of_classes",
        "tests/methods/models/test_risk_thresholds.py::test_records_at_risk",
        "tests/methods/models/test_population_uniqueness.py::test_zayatz_threshold",
    ),
    said(
        "methods.models.l_diversity",
        (
            "no value of {} stands out in any class; any c above {} would hold",
            "{} where one value of {} stands out too much; l = {} would hold",
        ),
        "Recursive diversity would hold with the l, or any c above the one, that is told.",
        "tests/methods/models/test_l_diversity.py::test_the_largest_l_that_holds_holds_and_no_larger_one",
        "tests/methods/models/test_l_diversity.py::test_any_c_above_the_one_told_would_hold_and_that_one_not",
    ),
    said(
        "data.baskets.disassociated_km",
        "all {} clusters hold: any {} known items can be reconstructed for at least {} people",
        "Who joins the parts of a cluster again finds at least k people.",
        "tests/data/baskets/test_disassociated_km.py::test_some_way_to_put_a_cluster_together_has_k_carriers",
    ),
    said(
        "data.baskets.models",
        "at least {} {} every set of at most {} that occurs",
        "Any m items that somebody has are had by at least k people.",
        "tests/data/baskets/test_models.py::test_km_anonymity",
    ),
    said(
        "data.baskets.models",
        "among all who share at most {} public item(s), at most {} share a private item; {}",
        "Of those who share p public items at most a share h has a private one.",
        "tests/data/baskets/test_models.py::test_coherence",
    ),
    said(
        "data.paths.promises",
        (", and at most {} of them share a sensitive value", "set of at most {} points"),
        "Any m points that somebody has are had by at least k people, with at most the stated share"
        " of a sensitive value.",
        SETS_OF_POINTS,
    ),
    said(
        "data.paths.visits",
        "every sequence of at most {} visits that occurs is shared by at least {} people",
        "Any m visits in their order were gone by at least k people.",
        "tests/data/paths/test_visits.py::test_visits_in_order",
    ),
    said(
        "data.relational.own_crowd",
        "the smallest class holds {} persons",
        "A promise in one of several tables counts persons, not rows.",
        "tests/data/relational/test_steps.py::test_promises_in_a_table_agree_with_counting",
    ),
    # Attacks and memory over releases.
    said(
        "methods.attacks.inference",
        "the {} of {} records is at least {} times as frequent in their class as in the table; at"
        " most {} times",
        "As many values are so much more frequent in their class, and none more than told.",
        "tests/methods/attacks/test_inference.py::test_skewness_against_counting",
    ),
    said(
        "data.relational.attacks",
        "at least, and {} at most,",
        "The number of persons who are alone lies between the two that are told.",
        "tests/data/relational/test_knowledge.py::test_beyond_the_effort_there_are_bounds",
    ),
    said(
        "release.register.joint_disclosure",
        "of {}: at least {} in a joint class, at most {} from all",
        "All releases together leave so many values, and are not farther than told.",
        "tests/methods/formulas/test_joint_classes.py::test_values_of_joint_classes",
        "tests/release/register/test_memory.py::test_it_is_what_counting_over_persons_gives",
    ),
    said(
        "data.relational.dates",
        "All dates of a person ({}) were moved together by a random number of days, {} at most{}.",
        "All dates of a person move by one shift, not farther than told.",
        "tests/data/relational/test_dates.py::test_all_dates_of_a_person_move_by_one_shift",
    ),
    # Noise and budgets.
    said(
        "core.declared",
        "one {} (at most {} of each count)",
        "The stated ε is about all rows of one person that count.",
        "tests/results/queries/test_domains.py::test_at_most_c_rows_of_a_unit_count",
        "tests/results/queries/test_question_plan.py::test_an_audit_notices_surplus_rows",
    ),
    said(
        "methods.steps.synthesis.private_synthesis",
        "one person (at most {} of each count)",
        "The stated ε is about all rows of one person that count.",
        "tests/methods/steps/synthesis/test_private_synthesis.py::test_a_person_has_so_many_rows_and_noise_for_them",
    ),
    said(
        "results.queries.question",
        (
            "at {} its rank is at most {} rows worse than the best of the grid",
            "behind each, the interval that holds the noise at {}",
        ),
        "The noise stays within what is told, as often as is told.",
        "tests/results/queries/test_quantiles.py::test_the_rank_error_holds",
        "tests/results/queries/test_session.py::test_intervals_hold_as_often_as_they_say",
        "tests/results/queries/test_question_plan.py::test_the_proved_loss_is_at_most_the_claimed",
    ),
    # Searches.
    said(
        "release.alternatives",
        (
            "This is the best of {}, proved by the search. It {}. {}",
            (
                "This is the best of {}, proved by evaluating every node. It {}; {} nodes stay within the budget, and {}."
            ),
        ),
        "No node that keeps the promises is better.",
        EVERY_NODE,
        "tests/methods/steps/recoding/test_anytime.py::test_anytime_never_claims_too_much",
        "tests/release/test_alternatives.py::test_every_table_has_something_true_to_say",
    ),
    said(
        "data.lazy.coarse",
        "the combinations of values did not fit into memory, so columns were generalised before counting: the plan is at best the least within levels ≥ {}; lower levels were not tried, and figures of the original describe the table generalised to these levels",
        "No levels above those counted are better.",
        "tests/data/lazy/test_coarse.py::test_alternatives_are_those_within_the_levels",
        "tests/data/lazy/test_coarse.py::test_what_is_found_above_the_levels_is_what_memory_finds_there",
    ),
    said(
        "methods.steps.recoding.search_choice",
        "({} {}; no node has less than {}, so the gap is {} at most)",
        "No node is below the bound that is told.",
        "tests/methods/steps/recoding/test_anytime.py::test_bounds_are_bounds",
        "tests/methods/steps/recoding/test_search_choice.py::test_what_is_proved_beyond_reach_is_the_optimum_without_a_warning",
    ),
    said(
        "release.report.differences",
        "Cells to suppress are chosen greedily over all records, and proved least with method exact; sdcMicro goes key by key and usually suppresses more.",
        "No suppression of cells that keeps the promise costs less than that of method exact.",
        "tests/methods/steps/suppression/test_cell_plan.py::test_exact_is_what_trying_everything_finds",
    ),
    said(
        "methods.formulas.bucket_plans",
        "A class can be as far from the table as a factor of {}; the least t these sizes could meet"
        " is {}.",
        "No way to share the buckets out meets a smaller t.",
        "tests/methods/formulas/test_bucket_plans.py::test_the_plan_is_the_best_of_all_counts",
    ),
    said(
        "guidance.recommendation.recommendation",
        "Of {} candidates that satisfy all promises and limits it has the least {}.",
        "No other candidate that keeps everything loses less.",
        "tests/guidance/recommendation/test_recommend.py::test_the_best_keeps_the_promises_and_loses_least",
        "tests/guidance/recommendation/test_recommend.py::test_random_roles_never_cost_the_class_size",
    ),
    # Results instead of rows.
    said(
        "results.tables.protected_table",
        ("proved the least", "at most {} above the minimum"),
        "No set of suppressed cells that protects the tables costs less, or less than the gap"
        " says.",
        "tests/results/tables/test_exact.py::test_the_least_suppression_is_what_trying_all_sets_finds",
        "tests/results/tables/test_many_tables.py::test_no_published_table_of_many_fails",
    ),
    said(
        "results.tables.protected_table",
        "the audit holds",
        "No sensitive cell can be narrowed down too far by what is published.",
        AUDIT_BY_TRYING,
        "tests/results/tables/test_protected_table.py::test_no_published_table_fails_the_audit_of_a_stranger",
        "tests/results/tables/test_many_tables.py::test_no_published_table_of_many_fails",
    ),
    said(
        "results.checking.check",
        "the table was protected, and its audit holds",
        "A protected table passes only as it was protected, of the records of the session.",
        "tests/results/tables/test_hostile.py::test_a_protected_table_that_was_opened_again",
        "tests/results/tables/test_hostile.py::test_a_protected_table_of_other_records",
        AUDIT_BY_TRYING,
    ),
    said(
        "results.checking.trees",
        "each of {} leaves holds at least {} persons",
        "No leaf of a tree is about fewer persons than the threshold.",
        "tests/results/checking/test_trees.py::test_leaves_are_counted_again",
        "tests/results/checking/test_trees.py::test_leaves_of_random_trees_by_counting",
    ),
    said(
        "results.integral.integral_privacy",
        "{} of {} of {} records: {} sets, {}; {} different results, {} proved {}-integrally"
        " private, {} not shown, {} disproved",
        "A result that is proved comes from k sets of records without a common record.",
        "tests/results/integral/test_algorithms.py::test_sums_tell_what_listing_tells",
        "tests/results/integral/test_algorithms.py::test_trees_of_all_sets",
    ),
    said(
        "parties.study",
        "everybody learns the answer, and that the rules on records and parties hold: {}",
        "Nothing is opened where the rules on records and parties do not hold.",
        "tests/parties/test_conduct.py::test_too_few_records_open_nothing",
        "tests/parties/test_conduct.py::test_too_few_parties_with_a_record_open_nothing",
        "tests/parties/test_fuzz.py::test_dominance_is_that_of_plain_python",
    ),
    said(
        "release.generalisation",
        "{}-minimal with at most {} suppressed",
        "A generalisation is k-minimal only where no node below keeps k within the suppression.",
        "tests/release/test_generalisation.py::test_minimality_is_that_of_the_definition",
        "tests/release/test_generalisation.py::test_forms_are_those_of_matching_every_row",
        "tests/release/test_generalisation.py::test_the_minimal_nodes_of_the_literature",
    ),
    said(
        "release.class_bounds",
        "classes at most",
        "No recoding that keeps the promise has more classes.",
        "tests/methods/formulas/test_class_bounds.py::test_values_and_sizes_are_reached",
        "tests/methods/formulas/test_class_bounds.py::test_entropy_diversity",
        "tests/methods/formulas/test_class_bounds.py::test_recursive_diversity",
        "tests/methods/formulas/test_class_bounds.py::test_alpha_k",
        "tests/methods/formulas/test_class_bounds.py::test_closeness_with_equal_distances",
        "tests/methods/formulas/test_class_bounds.py::test_closeness_by_a_factor",
        "tests/methods/formulas/test_class_bounds.py::test_closeness_with_a_ground",
        "tests/release/test_class_bounds.py::test_no_release_has_more_classes_than_its_bound",
        "tests/release/test_class_bounds.py::test_no_grouping_of_any_small_table_beats_its_bound",
    ),
    said(
        "release.check_outcome",
        "every promise holds",
        "The heading of a comment on a change says so only where every promise of the recipe holds.",
        "tests/interfaces/cli/test_check_outcome.py::test_a_change_is_told_without_a_value",
        "tests/interfaces/cli/test_check_outcome.py::test_the_heading_is_that_of_counting",
    ),
)
