"""Runs read off what agents leave behind: session files, message lists, spans, text."""
