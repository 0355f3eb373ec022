"""From policies to a release, and from a release back to policies."""
