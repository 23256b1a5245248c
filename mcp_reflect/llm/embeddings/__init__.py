"""Embedders: texts in, vectors out; and the index of vectors in memory."""
