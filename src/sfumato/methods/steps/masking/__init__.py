"""Noise, coding, rounding, sampling and shifts of dates."""
