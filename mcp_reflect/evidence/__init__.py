"""What the calls of a session prove: the kinds of proof and their programs, how a run ended, and the ledger."""
