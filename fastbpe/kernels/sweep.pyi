"""Finding the hot pairs; the merge loop uses it, Python has no name of it."""
