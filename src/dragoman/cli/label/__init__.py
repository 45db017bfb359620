"""`dragoman label`: labels from thumbs, and relevance labels."""
