"""Memory and layout of the merge loop; other kernels use it, Python has no name of it."""
