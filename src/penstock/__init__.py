"""Penstock carries events, database changes and metadata through Kafka."""
