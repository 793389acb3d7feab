"""Lake tables: Parquet and Delta, written exactly once, read by anybody."""
