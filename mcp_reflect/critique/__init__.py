"""critique: verify a piece of work against evidence, correct it, verify again."""
