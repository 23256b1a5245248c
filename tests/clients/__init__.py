"""Clients of a server in a process of its own, and writers that stand a kill: tests and benchmarks share them."""
