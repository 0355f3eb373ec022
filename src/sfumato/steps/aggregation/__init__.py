"""How microaggregation finds its groups: one family of methods a file."""
