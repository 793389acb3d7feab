"""The proof of a mirror: its rows against those of the database, read by other ways than those that made it."""
