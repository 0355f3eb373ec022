"""What steps share that exchange values between records or change them at random."""
