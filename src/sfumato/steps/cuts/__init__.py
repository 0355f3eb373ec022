"""Cuts through hierarchies and ordered domains, and what they cost."""
