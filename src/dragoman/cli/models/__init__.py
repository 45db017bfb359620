"""`dragoman models`: list, download and locate model weights, and distil an encoder."""
