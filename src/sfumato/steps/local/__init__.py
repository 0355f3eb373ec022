"""Local recoding from the global optimum: cover, borrow, absorb, narrow."""
