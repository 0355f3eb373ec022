"""Several candidate releases of one table, run alike, attacked alike, measured alike."""
