"""Language models in the embedded llama.cpp server."""
