"""Schemas: registry clients, wire formats, Avro codecs, evolution."""
