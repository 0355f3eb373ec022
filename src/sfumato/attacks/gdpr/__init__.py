"""Singling out, linkability, inference and membership, each against a control."""
