"""What attacks are, in words that need no handbook; the technical name comes after."""

from __future__ import annotations

from sfumato.report.wording import humanised

PLAIN = {
    "homogeneity": "A secret is read off because everyone in a crowd shares it",
    "probabilistic_inference": "A secret is guessed from what is most common in a person's crowd",
    "background_knowledge": "A secret becomes sure for who can rule out a few others",
    "skewness": "A secret is much more common in a person's crowd than elsewhere",
    "similarity": "A secret is known roughly because a crowd's secrets are alike",
    "composition": "A secret follows from several releases put together",
    "minimality": "A secret follows from the release being no coarser than it must",
    "downcoding": "Coarse values are made finer again",
    "interval_disclosure": "A changed value still tells nearly what it was",
    "suda": "A few columns are enough to single a record out",
    "individual_risk": "A person of the population is matched to a record",
    "population_uniques": "A record belongs to somebody whom nobody in the population resembles",
    "unique_in_population": "A record that stands alone here stands alone in the population too",
    "log_linear": "A register of the population is matched to the records",
    "transparency": "A person is found by who knows how the release was made",
    "singling_out": "A description is found that fits just one person",
    "linkability": "Two files about one person are brought together through the release",
    "inference": "A person's secret is guessed from the most similar records",
    "membership": "It is found out whether a person is in the table at all",
    "linkage": "A person's own record is found",
    "probabilistic_linkage": "A person's own record is found by weighing what agrees",
    "worst_case_linkage": "A person's own record is found with the best comparison there is",
}
"""A test holds these against the attacks themselves: each has a line."""


def plain_words(attack: str) -> str:
    """What an attack would achieve, then its name; only the name where it is not ours.

    >>> plain_words("singling_out"), plain_words("my_attack")
    ('A description is found that fits just one person (singling out)', 'My attack')
    """
    name = humanised(attack)
    return f"{PLAIN[attack]} ({name})" if attack in PLAIN else name.capitalize()
