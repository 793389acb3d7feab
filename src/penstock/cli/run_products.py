"""Conversion of pipeline outputs to catalog datasets."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.catalog.own_datasets import Field, OwnDataset, table_urn, topic_urn
from penstock.cli.catalog_telling import Statements
from penstock.pipelines.products import Product


def statements(products: Sequence[Product]) -> Statements:
    """Return the written topics and tables, with columns, owner and lineage, and the source topics."""
    found: dict[str, dict[str, OwnDataset]] = {}
    for product in products:
        own = found.setdefault(product.pipeline, {})
        for topic in product.topics:
            own.setdefault(topic_urn(topic), OwnDataset(topic_urn(topic)))
        written = _written(product)
        own[written.urn] = written
    return {pipeline: list(own.values()) for pipeline, own in found.items()}


def _written(product: Product) -> OwnDataset:
    urn = (topic_urn if product.target.kind == "topic" else table_urn)(product.target.name)
    fields = None if product.columns is None else [Field(*column) for column in product.columns]
    return OwnDataset(urn, fields, product.owner, [topic_urn(topic) for topic in product.topics])
