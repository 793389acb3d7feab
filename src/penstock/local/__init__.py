"""The real systems as local processes: Kafka, registry, PostgreSQL, Connect, S3."""
