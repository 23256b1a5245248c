"""One module a use case. Each reads its arguments, calls the packages below, and stores the result."""
