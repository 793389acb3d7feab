"""Messages in Avro: rows by each message's own writer schema, and the types of both sides."""
