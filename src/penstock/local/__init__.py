"""Local processes for the real systems: Kafka, registry, PostgreSQL, Connect and S3."""
