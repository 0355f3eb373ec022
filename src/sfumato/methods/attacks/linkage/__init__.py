"""Record linkage: by distance, by probability, by distances learned from the truth."""
