"""Results instead of rows: tables of counts and sums, what in them must not be revealed, and what
is published instead.
"""
