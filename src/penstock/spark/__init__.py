"""Spark: the session, Kafka as source and sink, rows from messages, dead letters, lake tables, and the runner."""
