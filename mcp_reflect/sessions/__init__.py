"""Rules over a run: what failed, why, what worked instead; and the readers of transcripts."""
