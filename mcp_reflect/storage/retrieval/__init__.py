"""Finding lessons: analyzed terms, the index, vectors, scores and ranking."""
