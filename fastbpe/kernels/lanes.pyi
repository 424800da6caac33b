"""Reached from Python through split.pyi: split_ends, with tables that have lanes."""
