"""Global recoding: the generalization lattice and the searches in it."""
