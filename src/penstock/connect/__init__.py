"""Change capture by Kafka Connect: connectors, and the databases that they read."""
