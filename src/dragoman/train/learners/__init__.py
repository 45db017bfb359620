"""One learner a file: what it makes of labelled turns."""
