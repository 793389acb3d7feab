from __future__ import annotations

from io import BytesIO

from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.schemas.avro.fast import READ_OPTIONS, public_read_data, read_data
from penstock.schemas.avro.misfit import first_misfit
from penstock.schemas.avro.plain import write_plainly
from penstock.schemas.avro.prepared import prepare
from tests.unit.schemas.strategies import record_schemas, same, values


@given(st.data())
def test_where_fastavros_inner_reader_is_missing_the_public_one_reads_the_same(data: st.DataObject) -> None:
    schema = data.draw(record_schemas())
    prepared = prepare(schema.type)
    value = data.draw(values(schema))
    assume(first_misfit(value, schema.type) is None)
    message = write_plainly(value, schema.type)
    named = {"writer": prepared.named, "reader": {}}
    inner, public = (
        read(BytesIO(message), prepared.node, named, None, READ_OPTIONS) for read in (read_data, public_read_data)
    )
    assert same(inner, public)
