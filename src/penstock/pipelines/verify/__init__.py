"""Verification of a mirror against the database, independent of the code that wrote the mirror."""
