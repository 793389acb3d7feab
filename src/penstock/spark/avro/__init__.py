"""Avro messages: decoding with each message's writer schema, and type conversion in both directions."""
