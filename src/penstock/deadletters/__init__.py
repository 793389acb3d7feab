"""Dead letters: what was refused and kept, found again, and replayed after a fix."""
