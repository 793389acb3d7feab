"""Metadata catalog: merges metadata events into one view in PostgreSQL and publishes every change."""
