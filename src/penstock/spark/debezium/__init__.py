"""Decoder for Debezium change events: JSON or Avro envelopes to typed rows."""
