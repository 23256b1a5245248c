"""Rules over a trace: what can be said of a run without asking a language model."""
