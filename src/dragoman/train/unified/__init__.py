"""Joint training of the unified model (UniMS-RAG, SAFARI): sequences, losses, measures, plan offsets, length bias."""
