"""Finding lessons: analysed terms, the index, vectors, scores and ranking."""
