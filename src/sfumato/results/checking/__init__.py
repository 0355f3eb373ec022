"""Results that researchers made themselves: what each is, who stands behind it, and whether it may
leave.
"""
