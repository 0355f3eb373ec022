"""Tables drawn anew: from trees, from copulas, and from noisy counts with a proof."""
