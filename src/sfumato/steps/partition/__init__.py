"""Classes cut into regions: axes, cells, regions, and the plan of every local method."""
