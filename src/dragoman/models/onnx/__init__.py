"""Encoders and scorers on onnxruntime, and the graph rewrites that make them fast."""
