"""Names of columns that exist only within a query. No table can contain such names, so no user column is overwritten.

Delta rejects names with parentheses, and the decoder of changes replaces parentheses in the names of captured columns.
"""

from __future__ import annotations


def internal(name: str) -> str:
    """Return the name of an internal column."""
    return f"({name})"
