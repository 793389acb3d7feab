import json

from penstock.kafka.admin import Admin
from penstock.kafka.configs import topic_settings
from tests.collector_process import EVENT, headers_of, read_topic
from tests.integration.collector.conftest import Served, StartCollector


def test_a_rejected_event_is_kept_with_reason_client_and_time(served: Served) -> None:
    headers = {"user-agent": "shop-ios/4.2", "x-forwarded-for": "203.0.113.9"}
    answer = served.process.post([EVENT, {**EVENT, "User_ID": 42}], headers=headers)
    (letter,) = (letter for letter in served.letters(1) if b"42" in (letter.value() or b""))
    told = headers_of(letter)
    assert json.loads(letter.value() or b"") == {**EVENT, "User_ID": 42}
    assert told.pop("penstock.failed_at") == told.pop("penstock.received_at")
    assert told == {
        "penstock.error.code": "record.invalid",
        "penstock.error.message": "User_ID: 42 is not a string",
        "penstock.pipeline": "collector",
        "penstock.origin": f"{served.topic}/-1/-1",
        "penstock.event_id": answer.json()["events"][1]["id"],
        "penstock.client": "anonymous",
        "penstock.client.address": "203.0.113.9 via 127.0.0.1",
        "penstock.client.agent": "shop-ios/4.2",
    }


def test_a_body_that_is_no_json_is_kept_whole(served: Served) -> None:
    assert served.process.post(b"{broken release").status_code == 400
    (letter,) = (letter for letter in served.letters(1) if letter.value() == b"{broken release")
    assert headers_of(letter)["penstock.error.code"] == "request.not_json"
    assert headers_of(letter)["penstock.client.address"] == "127.0.0.1"


def test_a_line_that_is_no_json_is_kept_by_itself(served: Served) -> None:
    good = json.dumps(EVENT).encode()
    served.process.post(good + b"\nbroken line\n" + good, content_type="application/x-ndjson")
    assert b"broken line" in {letter.value() for letter in served.letters(1)}


def test_nothing_is_kept_unless_the_settings_say_where(start: StartCollector, served: Served, topic: str) -> None:
    process = start()
    assert process.post({}).status_code == 422
    assert process.post(EVENT).status_code == 200
    assert [message.key() for message in read_topic(served.settings, topic, 1)] == [b"u-1"]


def test_the_topic_of_dead_letters_is_made_to_keep_them(served: Served) -> None:
    with Admin(served.settings) as admin:
        kept = {setting.name: setting.value for setting in topic_settings(admin, served.dead_letters)}
    assert kept["retention.ms"] == "-1"
