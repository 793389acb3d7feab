"""Which events go on: DataHub's filters, and more words for them."""

from penstock.actions.filters.compile import compile_filter

__all__ = ["compile_filter"]
