"""The chat on the page: messages, replies as they are written, and the composer."""
