"""Adapters for other frameworks, each in a module of its own that imports the framework:

- `dragoman.integrations.langchain`: a retriever and a chat model;
- `dragoman.integrations.langgraph`: a `BaseStore` on Dragoman's store;
- `dragoman.integrations.llama_index`: a retriever and a chat engine;
- `dragoman.integrations.haystack`: a retriever and an agent as components;
- `dragoman.integrations.dspy`: a retriever;
- `dragoman.integrations.notebook`: progress bars for notebooks and scripts.
"""
