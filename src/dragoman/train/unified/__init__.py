"""Training of the unified model: sequences, losses, measures, plan offsets and length bias."""
