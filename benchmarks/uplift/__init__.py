"""What memory does for an agent of yours, on tasks of our own: `python -m benchmarks.uplift --agent claude`."""
