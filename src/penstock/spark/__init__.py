"""Spark: session, Kafka source and sinks, decoders, dead letters, lake tables, and the query runner."""
