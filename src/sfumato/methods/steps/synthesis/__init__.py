"""Steps that draw records anew, from what they learnt of the table."""
