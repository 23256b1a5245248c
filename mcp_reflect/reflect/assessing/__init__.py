"""What a text judges of a decision and of how it was carried out, read off its language."""
