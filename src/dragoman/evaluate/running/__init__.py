"""Running an experiment: data sets, batches, the run folder and its manifest."""
