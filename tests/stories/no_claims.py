"""What the walk finds and is no claim, reviewed: patterns of sentences, and words with another
meaning, by the reason.
"""

from __future__ import annotations

from tests.stories.product_claims import Found

NO_SENTENCES: dict[str, tuple[str, ...]] = {
    "a word of a status alone; the claim or verdict it belongs to is entered": (
        r"(✓ |✗ )?(it )?(does not )?holds?( |: )?",
        r"(Each mark is a candidate, .* )?Filled: its promises hold[.;] .*",
        r"\{\}\{\} hold \{\} and lose no more than the \{\} records you allow",
        r"optimal|proved|verified|not all verified|not verified|vouched",
        r"at most|at most or at least|at most \{\}|\{\} at most\{\}",
    ),
    "says what is wrong, or refuses": (
        r".*\bdo(es)? not hold\b.*",
        r"\{\} of \{\} promises \{\} not hold",
        "no \\{\\} holds: \\{\\} of \\{\\} records exceed every limit",
        r".*(are not those|is not|are not what is|of the levels that are) certified.*",
        r".*\{\} (and \{\} )?(are )?certified( as (suppressed|left out))?",
        r"it is shown beside a certified ε",
        r"no finite value holds; \{\}",
        r".*no ε is certified.*|No ε is certified\.",
        r".* (break|breaks) it, in the paths of \{\} of \{\} people; .*",
        r"\{\} have a set of at most .*|\{\} sequence\(s\) of at most .* visited by fewer .*",
        (
            r"\{\} (less diverse than|belong to a class of fewer|with fewer than|belong to a group"
            r" that is not) .*"
        ),
        r"\{\} classes hold more people than the population has there.*",
        "\\{\\} holds more than its table, which no promise covers",
        r"\{\} people were removed by the steps, but \{\} are certified as removed",
        r"the values are not of the certified levels: \{\}",
        r"(a column that no step changed is|other cells are) certified (to have|as) lost .*",
        r"\{\} of \{\} \{\} not hold",
        r"the file was changed after it was certified: .*",
        r"measured against \{\} supplied attack\(s\), not guaranteed against others",
        r".*personal levels alone guarantee nothing.*",
        r".*the recipe allows at most \{\}",
        r".*do not claim a risk of at most \{\}\.?",
        r"no local recoding was found that reaches .*",
        r"No candidate reaches the promised class size; .*",
        r"ola infers one node from others, which is wrong for .*",
        r"the search stopped before the best was proved: .*",
        r"the archive (has|holds) .*",
        (
            r"\{\}( of \{\})? (leaves|compared groups) hold (fewer than|records of one"
            r" kind) .*"
        ),
        (
            r"\{of\} hold (fewer than|equal contributions) .*|some cells of the cross table hold"
            r" fewer than .*"
        ),
        r"\{\} columns hold something else than correlations .*",
        r"(measured|attained) \{\}, certified \{\}",
        r"that are certified as suppressed|a table of a database, which no folder holds",
        r"This is the best node that was found, not proved to be the best of .*",
        r"This is not the best node: it .*; the search did not guarantee the optimum\.",
        r"column \{\} holds pseudonyms by \{\}, weaker than .*",
    ),
    "says that something is not known": (
        r".*but states that none is certified",
        r"the certificate does not state which ε is certified",
        r"unknown: .* the promise may or may not hold; .*|not all verified: .*|the bounds satisfy the promise; .*",
        r"whether the tables hold together is unknown: .*",
        r"Each table was audited separately .*",
        r"its tables were audited separately; .* unknown",
    ),
    "what a column, file or process has in it": (
        r".*\bcolumns? (\{\} )?(of (\{\}|it) )?(must )?holds? .*|no column holds .*",
        (
            r"if its first row holds data, .*|the folder that holds share and owner|let the outermost bars include everybody"
        ),
        r"[Tt]he process that holds the data (has )?ended ?.*",
        r"\{\} holds? (no numbers|neither numbers) ?.*|.* or (it )?holds (no numbers|a NUL) ?.*",
        r"\{\} rows, \{\} columns as certified",
        r"1 cell holds|\{\} cells hold",
        r"the names of \{\} (columns|terms) hold numbers that may be values",
        r"holds keys of \{\}, \{\}",
        r".*whose rows it holds .*|.*so none holds the people; .*",
        r"whoever holds the data",
        r"This \{\} holds \{\} \{\}\. Which one\?",
        r"share of cells that (are what their column may )?hold( something)?",
        r".*give --owner with the lock file, which holds .*",
    ),
    "a bound of what may be given, or a question to the user": (
        r"a letter( or _)?, then at most .*",
        r"should have at most \{max_length\} entries",
        r"At most \{\} candidates can be pinned.*",
        r"What must hold, .*|What a risk or an attack may be at most, .*",
        r"limit: .* at most .*|risk at most \{\},",
        r"share of records that are at most \{\} days old",
        r".*At most \{\} records may be lost\.",
        r"an intruder who finds a person's class must not learn .*",
    ),
    "what a command or method is for": (
        (
            r"Exit codes: .*|Judge a released table by a recipe; .*|Privacy policies: check,"
            r" .*|Recompute what a certificate claims: .*"
        ),
        r"each class holds or fails by itself",
        r"the log of the session shows them .*",
        r"the quality model '\{\}'; the recipe searches the least loss, .*",
        (
            "the lattice has \\{\\} nodes, too many to decide which is best: .*|the best of \\{\\} evaluated nodes was chosen"
        ),
        r"\{\} · best guess for the least protected \{\}",
        r"\{\} This rule holds for \{\}\.",
        "\\{\\} is not supported; the prohibition holds without it",
    ),
    "where a file is": (
        r"\{\} was started\. It holds no release yet\.|what it holds",
        r"The workbench has ended\. .*|A copy is kept in the folder .*|The current project is kept\.",
    ),
    "no sentence": (r"\(\?:\(\?P<below>.*",),
}

OTHER_MEANINGS = {
    Found(
        "optimality", "results.checking.rule_violations", "exact"
    ): "percentiles told too exactly",
    Found(
        "optimality", "methods.steps.local.regions", "exact"
    ): "the share of cells released as they are",
    Found(
        "optimality", "methods.steps.synthesis.outcome", "exact"
    ): "marginals of the original values",
    Found(
        "optimality", "methods.steps.synthesis.synthesize", "exact"
    ): "marginals of the original values",
}
