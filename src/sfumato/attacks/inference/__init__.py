"""What the crowd a person stands in tells about its sensitive values."""
