"""Names of columns that exist only within a query. No table can have them, so no user's column is ever overwritten.

Delta refuses names with parentheses, and those of captured columns are replaced when changes are decoded.
"""

from __future__ import annotations


def internal(name: str) -> str:
    """Return the name of an internal column."""
    return f"({name})"
