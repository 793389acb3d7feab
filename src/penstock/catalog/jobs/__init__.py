"""Metadata jobs: which topics are read, by which processors, into which tables; kept in the database."""
