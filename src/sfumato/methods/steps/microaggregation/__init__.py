"""Groups of records alike that get one value: microaggregation of every family, and
bucketization.
"""
