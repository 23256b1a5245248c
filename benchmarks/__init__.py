"""What is measured, by commands that anyone can repeat: `python -m benchmarks.NAME`."""
