"""The ways in: the Python verbs, the command line, the workbench, scripts, accessors, tests, SQL
and ARX projects.
"""
