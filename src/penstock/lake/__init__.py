"""Spark-free access to the lake: tables, metadata, and SQL queries."""
