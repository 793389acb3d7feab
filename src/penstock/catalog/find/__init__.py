"""Queries on the catalog: search, and a dataset with its history, owners, lineage and loads."""
