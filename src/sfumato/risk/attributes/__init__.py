"""What the attacks on sensitive columns share."""
