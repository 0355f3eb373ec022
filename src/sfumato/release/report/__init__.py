"""Pages and pictures of a release, made from its JSON documents alone."""
