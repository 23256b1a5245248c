"""Frozen values that cross package borders: runs, lessons, reflections, critiques, searches."""
