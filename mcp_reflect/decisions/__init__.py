"""An agent's decision about a component: its checks, its figures side by side, and what a reader said of it."""
