"""Local recoding: equal values may part ways. Mondrian, clusters, and the way down from the global
optimum.
"""
