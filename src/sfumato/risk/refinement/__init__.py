"""What follows from a release being as fine as its promise allows."""
