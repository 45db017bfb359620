"""One reader a format: `read(content, name)` turns a file's bytes into a `Document`."""
