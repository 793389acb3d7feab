"""Avro: schemas as a graph of types, checks of records, and binary encoding by fastavro."""
