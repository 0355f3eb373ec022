"""Claims of what a recipe can name: promises, and steps that certify an ε."""

from __future__ import annotations

from tests.stories.entries import NEIGHBOURS, RELEASED, WRITTEN, promise, step

TABLE_PROMISES = (
    promise(
        "table",
        "k_anonymity",
        "Every class of released quasi-identifiers has at least k persons.",
        "tests/methods/models/test_k_anonymity.py::test_verdict_against_the_definition",
        WRITTEN,
        RELEASED,
    ),
    promise(
        "table",
        "p_sensitive",
        "Every class has at least k persons and p different sensitive values.",
        "tests/methods/models/test_p_sensitive.py::test_large_classes_with_enough_values",
    ),
    promise(
        "table",
        "l_diversity",
        "In every class the sensitive values are l-diverse: distinct, by entropy, or recursively.",
        "tests/methods/models/test_l_diversity.py::test_distinct_counts_values",
        "tests/methods/models/test_l_diversity.py::test_entropy_is_that_of_the_definition",
        "tests/methods/models/test_l_diversity.py::test_recursive_is_that_of_the_definition",
        WRITTEN,
    ),
    promise(
        "table",
        "alpha_k_anonymity",
        "Every class has at least k persons, and no protected value more than a share α of it.",
        "tests/methods/models/test_alpha_k.py::test_shares_of_protected_values",
    ),
    promise(
        "table",
        "t_closeness",
        "In every class the sensitive values are distributed as in the table, up to a distance t.",
        "tests/methods/models/test_t_closeness.py::test_is_the_least_work_of_moving_one_distribution_to_the_other",
        "tests/methods/models/test_t_closeness.py::test_multiplicative_is_the_largest_ratio",
        "tests/methods/models/test_suppression_slack.py::test_bounds_hold_for_every_original",
    ),
    promise(
        "table",
        "delta_disclosure",
        "In no class is a sensitive value more frequent or rarer than in the table by a factor of"
        " e^δ.",
        "tests/methods/models/test_delta_disclosure.py::test_changes_are_those_of_the_definition",
    ),
    promise(
        "table",
        "beta_likeness",
        "In no class does a sensitive value gain more than β over its share of the table.",
        "tests/methods/models/test_beta_likeness.py::test_gains_are_those_of_the_definition",
        "tests/methods/models/test_beta_likeness.py::test_the_smallest_beta_that_holds_holds_and_no_smaller_one",
    ),
    promise(
        "table",
        "stochastic_t_closeness",
        "The sensitive column passed the stated random mechanism, and its distributions by class"
        " are within t.",
        "tests/methods/models/test_stochastic_t_closeness.py::test_matrix_mixtures",
        "tests/methods/models/test_stochastic_t_closeness.py::test_laplace_supremum_is_exact",
        "tests/core/test_mechanism.py::test_random_recipes_keep_it_exactly_when_the_mechanism_comes_last",
        "tests/core/test_mechanism.py::test_a_recipe_that_does_nothing_keeps_no_promise",
    ),
    promise(
        "table",
        "k_map",
        "Every released record matches at least k persons of the population.",
        "tests/methods/models/test_k_map.py::test_matches_of_a_released_table",
        "tests/methods/models/test_k_map.py::test_least_population_refutes_a_smaller_one",
    ),
    promise(
        "table",
        "delta_presence",
        "The chance that somebody of the population is in the table lies within the stated bounds.",
        "tests/methods/models/test_population.py::test_chances_of_presence",
    ),
    promise(
        "table",
        "k_on_subsets",
        "Any so many quasi-identifiers together are shared by at least k persons.",
        "tests/methods/models/test_subsets.py::test_subsets_are_their_definition",
    ),
    promise(
        "table",
        "k_on_combinations",
        "Each named combination of quasi-identifiers is shared by at least k persons.",
        "tests/methods/models/test_subsets.py::test_named_combinations",
    ),
    promise(
        "table",
        "maximum_risk",
        "Nobody's chance to be found by the quasi-identifiers exceeds the threshold.",
        "tests/methods/models/test_risk_thresholds.py::test_maximum_risk",
    ),
    promise(
        "table",
        "average_risk",
        "The mean chance to be found by the quasi-identifiers does not exceed the threshold.",
        "tests/methods/models/test_risk_thresholds.py::test_average_risk",
    ),
    promise(
        "table",
        "records_at_risk",
        "At most the stated share of records has a risk above the threshold.",
        "tests/methods/models/test_risk_thresholds.py::test_records_at_risk",
    ),
    promise(
        "table",
        "expected_reidentifications",
        "Who guesses in every class finds at most so many persons on average.",
        "tests/methods/models/test_expected_reidentifications.py::test_is_the_number_of_classes",
        "tests/methods/models/test_expected_reidentifications.py::test_weights_estimate_the_population",
    ),
    promise(
        "table",
        "population_uniqueness",
        "At most the stated share of records is estimated to be unique in the population.",
        "tests/methods/models/test_population_uniqueness.py::test_zayatz_threshold",
    ),
    promise(
        "table",
        "one_k_anonymity",
        "Every original record is consistent with at least k released ones.",
        "tests/methods/models/test_concealment.py::test_counts_of_the_consistency_graph",
    ),
    promise(
        "table",
        "k_one_anonymity",
        "Every released record is consistent with at least k original ones.",
        "tests/methods/models/test_concealment.py::test_counts_of_the_consistency_graph",
    ),
    promise(
        "table",
        "k_k_anonymity",
        "Every record is consistent with at least k on the other side, both ways.",
        "tests/methods/models/test_concealment.py::test_counts_of_the_consistency_graph",
    ),
    promise(
        "table",
        "k_concealment",
        "Every original record is matched to at least k released ones by whole assignments.",
        "tests/methods/models/test_concealment.py::test_matches_lie_in_perfect_matchings",
    ),
    promise(
        "table",
        "k_confusion",
        "To the attacks of the recipe every released record has at least k likely originals.",
        "tests/methods/models/test_confusion.py::test_counts_likely_originals",
    ),
    promise(
        "table",
        "hidden_rules",
        "No listed rule reaches its support and confidence in the release.",
        "tests/methods/models/test_hidden_rules.py::test_as_the_definition_says",
    ),
)

OTHER_PROMISES = (
    promise(
        "baskets",
        "km_anonymity",
        "Any m items that somebody has are had by at least k people.",
        "tests/data/baskets/test_models.py::test_km_anonymity",
        "tests/data/baskets/test_written.py::test_what_is_written_keeps_the_promise_and_can_be_checked",
    ),
    promise(
        "baskets",
        "basket_k_anonymity",
        "Every whole basket is that of at least k people.",
        "tests/data/baskets/test_models.py::test_whole_baskets",
    ),
    promise(
        "baskets",
        "hkp_coherence",
        "Who knows p public items finds at least k people, of whom at most a share h has a private"
        " one.",
        "tests/data/baskets/test_models.py::test_coherence",
    ),
    promise(
        "baskets",
        "rho_uncertainty",
        "No known items make a private item as sure as ρ.",
        "tests/data/baskets/test_models.py::test_rho_uncertainty",
    ),
    promise(
        "baskets",
        "k_anonymity",
        "Every class of the people's own columns has at least k people.",
        "tests/data/baskets/test_models.py::test_own_columns_and_items_together",
    ),
    promise(
        "baskets",
        "k_km_anonymity",
        "Own columns and any m items together are shared by at least k people.",
        "tests/data/baskets/test_models.py::test_own_columns_and_items_together",
    ),
    promise(
        "baskets",
        "disassociated_km",
        "Any m items can be put together again so that at least k people have them.",
        "tests/data/baskets/test_disassociated_km.py::test_some_way_to_put_a_cluster_together_has_k_carriers",
        "tests/data/baskets/test_disassociation.py::test_baskets_taken_apart_and_put_together",
    ),
    promise(
        "baskets",
        "hidden_rules",
        "No listed rule reaches its support and confidence among the released baskets.",
        "tests/data/baskets/test_rules.py::test_judged_as_the_definition_says",
    ),
    promise(
        "paths",
        "lkc_privacy",
        "Any L points of somebody are had by at least K people, of whom at most a share C has one"
        " sensitive value.",
        "tests/data/paths/test_lkc.py::test_sets_of_points",
    ),
    promise(
        "paths",
        "km_anonymity",
        "Any m points that somebody has are had by at least k people.",
        "tests/data/paths/test_lkc.py::test_sets_of_points",
    ),
    promise(
        "paths",
        "km_visits",
        "Any m visits in their order were gone by at least k people.",
        "tests/data/paths/test_visits.py::test_visits_in_order",
    ),
    promise(
        "paths",
        "k_windows",
        "What somebody did within a window of time was done by at least k people.",
        "tests/data/paths/test_windows.py::test_windows",
    ),
    promise(
        "graph",
        "k_degree",
        "Every number of ties is that of at least k people.",
        "tests/data/graphs/test_knowledge.py::test_k_degree",
    ),
    promise(
        "graph",
        "k_neighbourhood",
        "Every neighbourhood looks like that of at least k people.",
        "tests/data/graphs/test_knowledge.py::test_k_neighbourhood",
    ),
    promise(
        "graph",
        "k_neighbour_sets",
        "Every set of neighbours is that of at least k people.",
        "tests/data/graphs/test_knowledge.py::test_k_neighbour_sets",
    ),
    promise(
        "graph",
        "h_refinement_k",
        "After so many rounds of refinement everybody looks like at least k people.",
        "tests/data/graphs/test_knowledge.py::test_h_refinement",
        "tests/data/graphs/test_knowledge.py::test_refinement_of_arcs",
    ),
    promise(
        "tables",
        "persons_k_anonymity",
        "Whoever knows the stated facts of a person, over all tables, finds at least k persons.",
        "tests/data/relational/test_models.py::test_unknown_is_not_a_pass",
        "tests/data/relational/test_persons.py::test_the_persons_who_stay_keep_the_promise_and_are_the_most_that_can",
    ),
    promise(
        "tables",
        "persons_l_diversity",
        "Among the persons whom the stated facts fit, sensitive values are l-diverse.",
        "tests/data/relational/test_models.py::test_diversity_is_that_of_counting_crowds",
        "tests/data/relational/test_persons.py::test_several_promises_hold_together",
    ),
    promise(
        "tables",
        "persons_t_closeness",
        "Among the persons whom the stated facts fit, sensitive values are as frequent as among"
        " all, up to t.",
        "tests/data/relational/test_models.py::test_closeness_is_that_of_counting_crowds",
        "tests/data/relational/test_person_distances.py::test_order_and_scale_as_the_definition_says",
    ),
)

ACCOUNTED_STEPS = (
    step(
        "table",
        "insensitive_microaggregation",
        "Its columns are released with the stated ε.",
        "tests/methods/steps/microaggregation/test_insensitive.py::test_audit_an_estimate_of_epsilon_from_below_never_exceeds_the_claim",
        "tests/methods/steps/microaggregation/test_noisy_means.py::test_g39_one_record_moves_all_means_together_by_range_over_k",
        NEIGHBOURS,
    ),
    step(
        "table",
        "laplace_noise",
        "Its columns are released with the stated ε for the values of one record, given all other"
        " columns.",
        "tests/methods/steps/masking/test_laplace_noise.py::test_no_two_values_differ_by_more_than_epsilon",
        "tests/methods/steps/masking/test_laplace_noise.py::test_audit_an_estimate_of_epsilon_from_below_never_exceeds_the_claim",
        "tests/methods/steps/masking/test_laplace_noise.py::test_values_of_one_record_change_nothing_else_that_is_shared",
        "tests/methods/steps/masking/test_laplace_noise.py::test_an_edited_certificate_fails",
    ),
    step(
        "table",
        "randomized_response",
        "Its columns are released with the stated ε for the values of one record, given all other"
        " columns; no channel with this ε has less distortion than the stated one less the gap.",
        "tests/methods/formulas/test_optimal_channels.py::test_every_outcome_keeps_epsilon_in_whole_numbers",
        "tests/methods/formulas/test_optimal_channels.py::test_is_the_least_distortion_of_the_definition",
        "tests/methods/formulas/test_optimal_channels.py::test_no_channel_is_below_the_bound",
        "tests/methods/steps/swapping/test_randomized_response.py::test_audit_an_estimate_of_epsilon_from_below_never_exceeds_the_claim",
        "tests/methods/steps/swapping/test_randomized_response.py::test_audit_of_an_estimated_prior",
        "tests/methods/steps/swapping/test_randomized_response.py::test_the_value_of_one_record_changes_nothing_else_that_is_shared",
    ),
    step(
        "table",
        "safe_k_anonymization",
        "All columns are released with the stated ε and δ.",
        "tests/methods/steps/test_safe_k_anonymization.py::test_audit_an_estimate_of_epsilon_from_below_never_exceeds_the_claim",
        NEIGHBOURS,
    ),
    step(
        "table",
        "synthesize_privately",
        "The drawn table has the stated ε and δ.",
        "tests/methods/steps/synthesis/test_mst.py::test_audit_of_the_whole_synthesiser",
        "tests/methods/steps/synthesis/test_noisy_counts.py::test_one_row_moves_one_count_and_a_score_by_its_weight",
        NEIGHBOURS,
    ),
    step(
        "graph",
        "private_degrees",
        "The drawn graph has the stated ε for one tie.",
        "tests/data/graphs/test_private_degrees.py::test_a_tie_changes_the_sorted_degrees_by_two",
        "tests/data/graphs/test_private_degrees.py::test_audit_of_private_degrees_never_exceeds_the_claim",
        "tests/data/graphs/test_private_degrees.py::test_noise_has_the_spread_it_should_have",
        "tests/data/table/test_fixed_form.py::test_a_row_that_is_no_tie_changes_nothing",
    ),
)
