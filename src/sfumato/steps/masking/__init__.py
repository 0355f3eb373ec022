"""What masking steps share: blocks of numbers, moments, draws, and what is kept."""
