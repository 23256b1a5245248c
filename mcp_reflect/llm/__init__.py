"""Language models: one seam, and the reading of what comes back."""
