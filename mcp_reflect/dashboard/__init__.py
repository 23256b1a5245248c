"""The page on which a person looks at the bank and decides about lessons."""
