"""What the walk finds and is no claim, reviewed: patterns of sentences, and words with another
meaning, by the reason.
"""

from __future__ import annotations

from tests.stories.product_claims import Found

NO_SENTENCES: dict[str, tuple[str, ...]] = {
    "a word of a status alone; the claim or verdict it belongs to is entered": (
        r"(✓ |✗ )?(it )?(does not )?holds?( |: )?",
        r"optimal|proved|verified|not all verified|not verified|vouched",
        r"at most|at most or at least|at most \{\}",
    ),
    "says what is wrong, or refuses": (
        r".*\bdo(es)? not hold\b.*",
        r"\{\} of \{\} promises \{\} not hold",
        r"no \{\} holds: \{\} of \{\} records are beyond any",
        r".*(are not those|is not|are not what is|of the levels that are) certified.*",
        r".*\{\} (and \{\} )?(are )?certified( as (suppressed|left out))?",
        r"it is told beside a certified ε",
        r"no finite value holds; \{\}",
        r".*no ε is certified.*|No ε is certified\.",
        r".* (break|breaks) it, and \{\} of \{\} people have one; .*",
        r"\{\} have a set of at most .*|\{\} sequence\(s\) of at most .* visited by fewer .*",
        (
            r"\{\} (less diverse than|stand in a class of fewer|with fewer than|stand in a crowd"
            r" that is not) .*"
        ),
        r"\{\} released group\(s\) of items hold a private one .*",
        r"\{\} classes hold more people than the population has there.*",
        r"\{\} holds more than its table, which no promise is about",
        r"\{\}: a symbolic link, device or pipe, which a release never holds",
        r"the file was changed after it was certified: .*",
        r"measured against \{\} supplied attack\(s\), no guarantee against others",
        r"values of \{\} were changed, not generalised: a class does not hold .*",
        r".*personal levels alone guarantee nothing.*",
        r".*the recipe allows at most \{\}",
        r".*do not claim a risk of at most \{\}\.?",
        r"no local recoding was found that keeps .*",
        r"No candidate keeps the promised class size; .*",
        r"ola concludes from one node to others, which is wrong for .*",
        r"the search stopped before the best was proved: .*",
        r"swap_data: nothing of \{\} changed: .*",
        r"none: whoever can write here can make a folder that holds; .*",
        r"the archive (has|holds) .*",
        (
            r"\{\}( of \{\})? (leaves|groups that are compared) hold (fewer than|records of one"
            r" kind) .*"
        ),
        (
            r"\{of\} hold (fewer than|equal contributions) .*|some cells of the cross table hold"
            r" fewer than .*"
        ),
        r"\{\} columns hold something else than correlations .*",
        r"(measured|attained) \{\}, certified \{\}",
        r"that are certified as suppressed|a table of a database, which no folder holds",
        r"\{\} of whom a promise did not hold \{\} left out of all tables, .*",
        r"This is the best node that was found, not proved to be the best of .*",
        r"This is not the best node: it .*; the search did not promise the optimum\.",
        r"column \{\} holds pseudonyms by \{\}, weaker than .*",
    ),
    "says that something is not known": (
        (
            r"a step (accounts for one|tells of an ε), and the certificate does not say what holds"
            r" of the whole"
        ),
        r".*which says that none is certified",
        r"the certificate does not say which one is certified",
        r"not known: .*|not all verified: .*|the bounds keep the promise; .*",
        r".*(how near that is to the least|is not known)",
        r"whether the tables hold together is unknown: .*",
        r"Each table was audited by itself .*",
        r"its tables were audited each by itself; .* unknown",
        r"unknown to lone respondents: .*",
        r"how many persons a leaf holds is told by the tree, and was not counted",
    ),
    "what a column, file or process has in it": (
        r".*\bcolumns? (\{\} )?(of (\{\}|it) )?(must )?holds? .*|no column holds .*",
        (
            r"if its first row holds data, .*|the folder that holds share and owner|let the"
            r" outermost bars hold everybody"
        ),
        (
            r"another program holds (it|the table)|[Tt]he process that holds the data (died|has"
            r" ended) ?.*"
        ),
        r"\{\} holds? (no numbers|neither numbers) ?.*|.* or (it )?holds (no numbers|a NUL) ?.*",
        r"1 cell holds|\{\} cells hold",
        r"the names of \{\} (columns|terms) hold numbers that may be values",
        r"holds keys of \{\}, \{\}",
        r".*whose rows they hold .*|.*the column that holds its keys.*",
        r".*[Ii]t holds values[:,] keep it\.?",
        r"the hierarchy of column \{\}, which the archive does not hold",
        r"whoever holds the data",
        r"This \{\} holds \{\} \{\}\. Which one\?",
        r"share of cells that (are what their column may )?hold( something)?",
        r".*give --owner with the lock file, which holds .*",
        r".*swap_across: the release holds values of the second table.*",
    ),
    "a bound of what may be given, or a question to the user": (
        r"a letter( or _)?, then at most .*",
        r"should have at most \{max_length\} entries",
        r"At most \{\} candidates can be pinned.*",
        r"What must hold, .*|What a risk or an attack may be at most, .*",
        r"limit: .* at most .*|risk at most \{\},",
        r"share of records that are at most \{\} days old",
        r".*At most \{\} records may be lost\.",
        r"Hold the release against it",
        r"where: COLUMN OPERATOR VALUE, .*",
        r"who finds somebody's class shall not learn .*",
    ),
    "what a command or method is for": (
        r"Save the table as Parquet if it is not, and let an engine hold it: .*",
        (
            r"Exit codes: .*|Judge a released table by a recipe; .*|Privacy policies: check,"
            r" .*|Recompute what a certificate claims: .*"
        ),
        r"each class holds or fails by itself",
        (
            r"this is about the step by itself: what holds of the whole recipe is said under"
            r" differential_privacy"
        ),
        r"the log of the session shows them .*",
        r"the quality model '\{\}'; the least loss, .*",
        (
            r"the lattice has \{\} nodes, too many to decide which is best: .*|the best of \{\}"
            r" looked at was taken"
        ),
        r"\{\} · best guess for the least protected \{\}",
        r"\{\} This rule holds for \{\}\.",
        r"\{\} is not read; the prohibition holds without it",
        r"only the name of the underlying policy is kept; .*",
    ),
    "where a file is": (
        r"\{\} was started\. It holds no release yet\.|what it holds",
        r"The workbench has ended\. .*|A copy is kept in the folder .*|This one is kept as it is\.",
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
