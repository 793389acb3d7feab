"""Avro itself: schemas as a graph of types, records checked against them, bytes written and read by fastavro."""
