"""Help before a release: profiling, recommendation, comparison of candidates and the cost of k."""
