"""Metadata jobs, stored in the database: each topic with its processor and table."""
