"""What a recipe can name for tables: models, steps, attacks, utility metrics and hierarchies, and
the formulas they share.
"""
