"""Cuts through hierarchies and ordered domains: top-down, bottom-up, K-Optimize."""
