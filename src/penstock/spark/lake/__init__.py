"""Lake tables: Parquet and Delta, written exactly once, readable by any tool."""
