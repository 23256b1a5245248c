"""Programs that a person runs by hand: real hosts and frameworks, each in an environment of its own."""
