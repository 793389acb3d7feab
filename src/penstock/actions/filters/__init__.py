"""Event filters: DataHub's filters, with additional operators."""

from penstock.actions.filters.compile import compile_filter

__all__ = ["compile_filter"]
