"""Training of bi- and cross-encoders: pairs, negatives, losses and their tasks."""
