"""Dead letters: find rejected records, and replay them after a fix."""
