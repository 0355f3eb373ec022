"""What steps that release microdata under differential privacy share."""
