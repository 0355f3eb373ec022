"""SPECIAL usage policies: concepts, and whether one lies within another."""
