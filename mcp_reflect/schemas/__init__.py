"""What callers may send: pydantic schemas, which are also the input schemas of the tools."""
