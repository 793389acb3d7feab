"""Staging: metadata events as rows, unmodified."""
