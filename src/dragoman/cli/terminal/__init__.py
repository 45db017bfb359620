"""Terminal support: agent options, progress bars, rendering, interrupts and the chat loop."""
