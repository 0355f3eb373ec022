"""Suppression of cells and columns: which ones, how few, and how they are released."""
