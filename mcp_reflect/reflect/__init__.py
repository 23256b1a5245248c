"""reflect: look back at a run and say what it shows."""
