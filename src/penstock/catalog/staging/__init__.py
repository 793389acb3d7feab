"""Staging: what events said, row by row, as it came."""
