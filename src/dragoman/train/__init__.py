"""Training: recipes, learners, the loop, and what comes out: a part that the light runtime runs."""
