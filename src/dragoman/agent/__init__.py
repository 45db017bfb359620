"""The agent (the loop), the refiner, the assistant around them, and the code that builds them from a config."""
