"""Memory over releases: what was released of whom, to whom, and what all of it tells together."""
