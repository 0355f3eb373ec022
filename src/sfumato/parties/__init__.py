"""Several parties, one result: sums, statistics and a joint release of tables that nobody shows to
anybody.
"""
