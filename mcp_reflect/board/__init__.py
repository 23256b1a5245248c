"""The board: one page on which a person sees what was learned, and, where it is served, decides about it."""
