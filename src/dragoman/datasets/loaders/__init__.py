"""One loader a data set."""
