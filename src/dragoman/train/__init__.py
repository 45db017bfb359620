"""Training: recipes, learners and the loop; the result is a part that runs without torch."""
