"""Pseudonyms in the place of identifiers, one way to make them a function."""
