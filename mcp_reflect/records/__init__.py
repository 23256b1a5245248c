"""Frozen values that cross an edge between rooms. They hold data and no behaviour of their own."""
