"""How pseudonyms are made, one method a file."""
