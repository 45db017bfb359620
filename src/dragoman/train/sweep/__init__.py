"""Sweeps: many trainings of one recipe with other values."""
