"""Models in torch, which loads on first use."""
