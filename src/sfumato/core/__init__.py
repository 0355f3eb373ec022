"""The nouns: what a table, a class, a promise, a means, a measure and a release are."""
