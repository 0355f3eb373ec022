"""What attacks by record linkage share: columns compared, costs, the search for the nearest, and learning."""
