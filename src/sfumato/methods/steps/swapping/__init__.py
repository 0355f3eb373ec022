"""Values that change places: swapping, shuffling, post-randomisation."""
