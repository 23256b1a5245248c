"""Random mutations of the package, each tried against the tests that reach it: `python -m tests.mutation`."""
