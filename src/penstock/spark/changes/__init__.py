"""Sinks for database changes: change log, mirror and history tables in the lake."""
