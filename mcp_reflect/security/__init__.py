"""Redaction of secrets, detection of injected instructions, fences around untrusted text."""
