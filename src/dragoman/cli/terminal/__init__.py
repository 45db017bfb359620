"""The terminal: options of an agent, progress, rendering, interrupts, the chat loop."""
