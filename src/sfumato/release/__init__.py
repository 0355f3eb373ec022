"""A release: the data to share, what was promised and found, and the folders that hold them."""
