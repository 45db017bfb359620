"""Users' data: facts, dialogues, sources and uploads."""
