"""Telling others: each change of the catalog as MetadataChangeLog and as PlatformEvents, from the outbox to Kafka."""
