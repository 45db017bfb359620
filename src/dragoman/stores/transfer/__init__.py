"""Copy, back up, restore and check stores, record by record."""
