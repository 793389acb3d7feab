"""Streaming queries: start position, batch path, saved position, restarts, and status."""
