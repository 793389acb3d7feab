"""Finding things: search, one dataset with its history, owners, lineage and loads."""
