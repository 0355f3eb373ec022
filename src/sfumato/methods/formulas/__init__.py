"""Mathematics that several families need: pure functions of numbers and counts."""
