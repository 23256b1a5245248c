"""What callers may send: the shapes, and the door that reads them or says what is wrong.

The shapes are the tools' input schemas too, so what is promised and what is checked cannot differ.
"""
