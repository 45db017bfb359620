"""Access control of the server: callers, keys, ledgers and quotas."""
