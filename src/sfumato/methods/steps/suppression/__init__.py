"""Suppression of records, columns and cells, greedy and exact."""
