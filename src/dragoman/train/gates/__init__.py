"""Training of gates: their inputs, tasks, vocabulary and teacher."""
