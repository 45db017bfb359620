"""The HTTP application: limits, schemas, problems, streams, and OpenAI's chat API."""
