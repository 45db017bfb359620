"""Who may call the server, and how much: callers, keys, ledgers and quotas."""
