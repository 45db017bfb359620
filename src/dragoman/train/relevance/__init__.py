"""Relevance labels: methods, candidate pools, the label file and its survey."""
