"""The kinds of data a release is made of: tables in memory, lazy tables of an engine, baskets,
paths, graphs and related tables.
"""
