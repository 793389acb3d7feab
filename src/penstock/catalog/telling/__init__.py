"""Publishing of changes to Kafka as MetadataChangeLog and PlatformEvents, through an outbox."""
