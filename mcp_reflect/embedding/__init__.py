"""From texts to vectors that lie close together where the texts mean the same. Off by default."""
