"""Privacy languages: a policy is read, checked, compiled into a recipe, and held against a release."""
