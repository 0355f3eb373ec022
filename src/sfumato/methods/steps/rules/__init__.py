"""Steps that keep rules from being found."""
