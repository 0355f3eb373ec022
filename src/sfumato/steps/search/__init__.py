"""The generalization lattice and the ways to search it: one algorithm a file."""
