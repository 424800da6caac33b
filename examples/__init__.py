"""Scripts that reproduce four published walk-throughs, and one that makes the batches of a training."""
