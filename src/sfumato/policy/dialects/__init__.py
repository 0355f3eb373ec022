"""Privacy languages: how each is read and written."""
