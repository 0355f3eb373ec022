"""Steps that draw synthetic records, from what they learnt of the table."""
