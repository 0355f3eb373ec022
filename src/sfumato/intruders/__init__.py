"""Named intruders: what each knows, and what each tries on a release before someone else does."""
