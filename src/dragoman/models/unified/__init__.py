"""The unified model: plans, judges evidence and answers, in torch or in llama.cpp."""
