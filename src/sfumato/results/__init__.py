"""Results instead of rows: tables of counts and sums, outputs of researchers, answers under a
budget, integral privacy.
"""
