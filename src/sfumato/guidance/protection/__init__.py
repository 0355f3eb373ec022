"""Protection: from a table to a release and one decision about it, with what would help."""
