"""Calibration: probabilities and thresholds from held-out or cross-fitted scores."""
