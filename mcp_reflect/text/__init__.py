"""Words as numbers and keys: stems, word vectors, and signatures that recognize a text again."""
