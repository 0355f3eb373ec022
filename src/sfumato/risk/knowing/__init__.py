"""What an intruder can make of a column who knows by what method, and with what parameters, it was masked."""
