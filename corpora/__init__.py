"""Recipes: how to get a corpus, prepare it and train on it. Run them from the root of the repository."""
