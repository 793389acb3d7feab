"""The registry's port as clients of Confluent's API, and of WhereHows' kind, meet it."""

import json
import uuid
from collections.abc import Iterator

import httpx
import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from penstock.config import Settings
from penstock.errors import SchemaNotFound
from penstock.schemas import Schema as AvroSchema
from penstock.schemas import connect_registry

CONFLUENT = "application/vnd.schemaregistry.v1+json"


def record(*fields: dict[str, object], name: str = "Count") -> str:
    return json.dumps({"type": "record", "name": name, "namespace": "front", "fields": list(fields)})


COUNT = {"name": "count", "type": "long"}
NOTE = {"name": "note", "type": "string", "default": ""}
MUST = {"name": "must", "type": "string"}


@pytest.fixture
def http(settings: Settings) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=settings.registry, timeout=30) as client:
        yield client


@pytest.fixture
def confluent(settings: Settings) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": settings.registry}) as client:
        yield client


@pytest.fixture
def subject() -> str:
    return f"front-{uuid.uuid4().hex[:8]}-value"


def refusal(error: pytest.ExceptionInfo[SchemaRegistryError]) -> tuple[int, int]:
    return error.value.http_status_code, error.value.error_code


def test_confluents_client_registers_and_finds_schemas(confluent: SchemaRegistryClient, subject: str) -> None:
    first = confluent.register_schema(subject, Schema(record(COUNT), "AVRO"))
    second = confluent.register_schema(subject, Schema(record(COUNT, NOTE), "AVRO"))
    assert confluent.register_schema(subject, Schema(record(COUNT), "AVRO")) == first
    assert subject in confluent.get_subjects()
    assert confluent.get_versions(subject) == [1, 2]
    assert confluent.lookup_schema(subject, Schema(record(COUNT), "AVRO")).version == 1
    latest = confluent.get_latest_version(subject)
    assert (latest.version, latest.schema_id) == (2, second)
    assert confluent.get_version(subject, -1).version == 2
    assert json.loads(confluent.get_schema(first).schema_str or "") == json.loads(record(COUNT))


def test_confluents_client_learns_of_an_incompatible_schema(confluent: SchemaRegistryClient, subject: str) -> None:
    confluent.register_schema(subject, Schema(record(COUNT), "AVRO"))
    assert confluent.test_compatibility(subject, Schema(record(COUNT, NOTE), "AVRO"))
    assert not confluent.test_compatibility(subject, Schema(record(COUNT, MUST), "AVRO"))
    with pytest.raises(SchemaRegistryError) as error:
        confluent.register_schema(subject, Schema(record(COUNT, MUST), "AVRO"))
    assert refusal(error) == (409, 409)


def test_a_refusal_names_each_reason_with_its_place(http: httpx.Client, subject: str) -> None:
    http.post(f"/subjects/{subject}/versions", json={"schema": record(COUNT)})
    body = {"schema": record({"name": "count", "type": "string"}, MUST)}
    refused = http.post(f"/subjects/{subject}/versions", json=body).json()
    checked = http.post(f"/compatibility/subjects/{subject}/versions/latest?verbose=true", json=body).json()
    assert refused["error_code"] == 409
    assert checked["is_compatible"] is False
    assert len(checked["messages"]) == 2
    for message, kind, path in zip(
        checked["messages"],
        ["TYPE_MISMATCH", "READER_FIELD_MISSING_DEFAULT_VALUE"],
        ["/fields/0/type", "/fields/1"],
        strict=True,
    ):
        assert message.startswith(f"{{errorType:'{kind}', description:'")
        assert path in message
        assert message in refused["message"]


def test_reasons_are_found_across_references(confluent: SchemaRegistryClient, http: httpx.Client, subject: str) -> None:
    confluent.register_schema(subject, Schema(record(COUNT), "AVRO"))
    reference = {"name": "front.Count", "subject": subject, "version": 1}
    inner = {"name": "inner", "type": "front.Count"}
    outer = {"schema": record(inner, name="Outer"), "references": [reference]}
    http.post(f"/subjects/{subject}-outer/versions", json=outer).raise_for_status()
    worse = {"schema": record(inner, MUST, name="Outer"), "references": [reference]}
    checked = http.post(f"/compatibility/subjects/{subject}-outer/versions?verbose=true", json=worse).json()
    assert ["/fields/1" in message for message in checked["messages"]] == [True]


def test_a_compatible_schema_has_no_messages(http: httpx.Client, subject: str) -> None:
    path = f"/compatibility/subjects/{subject}/versions/latest?verbose=true"
    assert http.post(path, json={"schema": record(COUNT)}).json() == {"is_compatible": True, "messages": []}


def test_a_subject_without_a_level_of_its_own_says_so_and_follows_the_global_one(
    confluent: SchemaRegistryClient, subject: str
) -> None:
    with pytest.raises(SchemaRegistryError) as error:
        confluent.get_compatibility(subject)
    assert refusal(error) == (404, 40408)
    assert confluent.get_compatibility() == "BACKWARD"
    confluent.set_compatibility(subject, "NONE")
    assert confluent.get_compatibility(subject) == "NONE"


def test_a_level_that_is_deleted_gives_way_to_the_global_one(http: httpx.Client, subject: str) -> None:
    http.post(f"/subjects/{subject}/versions", json={"schema": record(COUNT)})
    http.put(f"/config/{subject}", json={"compatibility": "NONE"})
    assert http.delete(f"/config/{subject}").json() == {"compatibilityLevel": "NONE"}
    assert http.delete(f"/config/{subject}").json()["error_code"] == 40401
    assert http.get(f"/config/{subject}", params={"defaultToGlobal": "true"}).json() == {
        "compatibilityLevel": "BACKWARD"
    }
    assert http.post(f"/subjects/{subject}/versions", json={"schema": record(COUNT, MUST)}).status_code == 409


def test_a_subject_is_deleted_softly_and_then_for_good(confluent: SchemaRegistryClient, subject: str) -> None:
    confluent.register_schema(subject, Schema(record(COUNT), "AVRO"))
    with pytest.raises(SchemaRegistryError) as error:
        confluent.delete_version(subject, 1, permanent=True)
    assert refusal(error) == (404, 40407)
    assert confluent.delete_subject(subject) == [1]
    assert subject not in confluent.get_subjects()
    assert subject in confluent.get_subjects(deleted=True)
    assert confluent.delete_subject(subject, permanent=True) == [1]
    with pytest.raises(SchemaRegistryError) as error:
        confluent.get_versions(subject)
    assert refusal(error) == (404, 40401)


@pytest.mark.parametrize("path", ["/subjects", "/subjects/", "/config", "/config/", "/mode/", "/schemas/types"])
def test_a_trailing_slash_makes_no_difference_and_the_content_type_is_confluents(http: httpx.Client, path: str) -> None:
    answer = http.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, CONFLUENT)


def test_a_client_that_asks_for_plain_json_gets_it(http: httpx.Client) -> None:
    assert http.get("/subjects", headers={"Accept": "application/json"}).headers["content-type"] == "application/json"


def test_the_addresses_of_the_readme_answer(http: httpx.Client, subject: str) -> None:
    schema_id = http.post(f"/subjects/{subject}/versions", json={"schema": record(COUNT)}).json()["id"]
    version = http.get(f"/subjects/{subject}/versions/1").json()
    assert (version["subject"], version["version"], version["id"]) == (subject, 1, schema_id)
    assert json.loads(http.get(f"/schemas/ids/{schema_id}").json()["schema"]) == json.loads(record(COUNT))
    assert {"subject": subject, "version": 1} in http.get(f"/schemas/ids/{schema_id}/versions").json()
    assert subject in http.get(f"/schemas/ids/{schema_id}/subjects").json()


def test_a_subject_may_have_a_slash_and_a_space(confluent: SchemaRegistryClient, subject: str) -> None:
    odd = f"{subject}/odd name"
    confluent.register_schema(odd, Schema(record(COUNT), "AVRO"))
    assert confluent.get_latest_version(odd).version == 1


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/subjects/none-value/versions", 40401),
        ("/subjects/none-value/versions/1", 40401),
        ("/subjects/none-value/versions/newest", 42202),
        ("/schemas/ids/987654321", 40403),
        ("/nothing/here", 404),
    ],
)
def test_what_is_not_there_is_told_with_confluents_codes(http: httpx.Client, path: str, code: int) -> None:
    answer = http.get(path)
    assert answer.json().keys() == {"error_code", "message"}
    assert answer.json()["error_code"] == code


def test_a_body_without_a_content_type_is_taken_as_json(http: httpx.Client, subject: str) -> None:
    body = json.dumps({"schema": record(COUNT)}).encode()
    assert http.post(f"/subjects/{subject}/versions", content=body).status_code == 200


def test_apicurios_own_api_passes_through(http: httpx.Client, subject: str) -> None:
    http.post(f"/subjects/{subject}/versions", json={"schema": record(COUNT)})
    answer = http.get(f"/apis/registry/v2/groups/default/artifacts/{subject}")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json() == json.loads(record(COUNT))


def test_a_fresh_schema_is_found_by_its_fingerprint_as_bare_text(http: httpx.Client, subject: str) -> None:
    text = record(COUNT, name=f"Fresh{uuid.uuid4().hex[:8]}")
    fingerprint = AvroSchema.from_text(text).fingerprint
    assert http.get(f"/schemas/id={fingerprint}").status_code == 404
    http.post(f"/subjects/{subject}/versions", json={"schema": text})
    answer = http.get(f"/schemas/id={fingerprint}", headers={"Response-Type": "PLAIN_STRING"})
    assert json.loads(answer.text) == json.loads(text)
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert http.get(f"/schemas/id={fingerprint.upper()}").headers["content-type"] == "application/json"


def test_a_schema_is_found_by_its_number_as_bare_text(http: httpx.Client, subject: str) -> None:
    schema_id = http.post(f"/subjects/{subject}/versions", json={"schema": record(COUNT)}).json()["id"]
    assert http.get(f"/schemas/id={schema_id}").json() == json.loads(record(COUNT))
    assert http.get("/schemas/id=987654321").json()["error_code"] == 40403


def test_penstocks_own_client_of_the_by_id_kind_is_served(
    settings: Settings, confluent: SchemaRegistryClient, subject: str
) -> None:
    number = confluent.register_schema(subject, Schema(record(COUNT, NOTE), "AVRO"))
    registry = connect_registry(settings.model_copy(update={"registry_api": "by-id"}))
    schema = registry.by_id(number)
    assert registry.by_id(schema.fingerprint) == schema
    with pytest.raises(SchemaNotFound):
        registry.by_id("0" * 32)


def test_a_bare_schema_has_its_references_written_out(
    confluent: SchemaRegistryClient, http: httpx.Client, subject: str
) -> None:
    confluent.register_schema(subject, Schema(record(COUNT), "AVRO"))
    outer = record({"name": "inner", "type": "front.Count"}, name="Outer")
    reference = SchemaReference("front.Count", subject, 1)
    schema_id = confluent.register_schema(f"{subject}-outer", Schema(outer, "AVRO", [reference]))
    whole = AvroSchema.from_text(http.get(f"/schemas/id={schema_id}").text)
    assert http.get(f"/schemas/id={whole.fingerprint}").status_code == 200
