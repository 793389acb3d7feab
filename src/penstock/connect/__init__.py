"""Change data capture with Kafka Connect: connectors and their source databases."""
