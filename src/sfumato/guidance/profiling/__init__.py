"""Looking at a table before anything is done to it: column cards, guesses of roles, a proposed
recipe.
"""
