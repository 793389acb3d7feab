"""JSON messages: shapes, strict decoding, and the reasons for rejected messages."""
