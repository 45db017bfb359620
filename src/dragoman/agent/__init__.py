"""The agent (the loop), the refiner, the assistant around them, and how all of it is built from a config."""
