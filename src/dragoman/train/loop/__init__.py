"""The training loop: batches, optimiser, checkpoints, logs, several processes, and tasks over texts."""
