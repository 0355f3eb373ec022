"""Advice: from a table and who is to have it to a recipe that holds, with the reasons and what is
not known.
"""
