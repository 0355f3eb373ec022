"""The nouns: what a table, a class, a promise, a step, a measure and a release are."""
