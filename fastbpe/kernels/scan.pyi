"""Reached from Python through split.pyi: split_ends, split_carefully."""
