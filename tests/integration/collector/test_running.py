import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil

from penstock.config import Settings, load_settings
from tests.collector_process import EVENT, CollectorProcess, headers_of, read_topic
from tests.conftest import Running
from tests.integration.collector.conftest import Served, StartCollector

AWAY = load_settings(env={}, options={"bootstrap": "127.0.0.1:9"}).settings


def penstock(directory: Path, settings: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (directory / "penstock.yaml").write_text(settings)
    command = [sys.executable, "-m", "penstock", "collector", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=directory, timeout=60)


def soon(is_so: Callable[[], bool]) -> bool:
    """Whether something becomes true within seconds: librdkafka tells of what ends a producer when it has found out."""
    give_up = time.monotonic() + 10
    while not is_so() and time.monotonic() < give_up:
        time.sleep(0.05)
    return is_so()


def test_health_and_readiness_are_told(served: Served) -> None:
    assert served.process.http.get("/healthz").json() == {"status": "ok"}
    assert served.process.http.get("/readyz").json() == {"status": "ok"}


def test_numbers_are_told_to_prometheus(served: Served) -> None:
    served.process.post([EVENT, {}])
    served.process.post(b"nope")
    told = served.process.metrics()
    topic = f'topic="{served.topic}"'
    assert told[f'penstock_collector_events_total{{status="accepted",{topic}}}'] >= 1
    assert told[f'penstock_collector_events_total{{status="rejected",{topic}}}'] >= 1
    assert told['penstock_collector_rejections_total{reason="record.invalid"}'] >= 1
    assert told['penstock_collector_rejections_total{reason="request.not_json"}'] >= 1
    assert told['penstock_collector_requests_total{status="207"}'] >= 1
    assert told[f"penstock_collector_bytes_total{{{topic}}}"] > 100
    assert told['penstock_collector_request_seconds_bucket{le="+Inf"}'] >= 2


def test_the_documentation_needs_nothing_from_elsewhere(served: Served) -> None:
    page = served.process.http.get("/docs").text
    assert "Penstock collector" in page
    assert not re.search(r"(src|href)=\"(https?:)?//", page)


def test_the_description_has_this_collectors_topics_and_fields(served: Served) -> None:
    api = served.process.http.get("/openapi.json").json()
    assert set(api["components"]["schemas"]["Event"]["required"]) == {"Event_Type", "Event_Version", "User_ID"}
    example = api["paths"]["/events"]["post"]["requestBody"]["content"]["application/json"]["examples"]["one"]["value"]
    assert served.process.post(example).status_code == 200
    assert api["paths"]["/topics/{topic}"]["post"]["parameters"][0]["schema"]["examples"] == [served.topic]


def test_with_kafka_away_the_answer_is_503_with_the_id_to_try_again_with(start: StartCollector) -> None:
    process = start(AWAY, answer_within=1)
    assert process.http.get("/healthz").status_code == 200
    assert process.http.get("/readyz").status_code == 503
    answer = process.post(EVENT, headers={"idempotency-key": "mine"})
    assert answer.status_code == 503
    assert answer.headers["retry-after"]
    assert answer.json()["status"] == "unknown"
    assert answer.json()["id"] == "mine"
    assert answer.json()["error"]["code"] == "kafka.not_acknowledged"


def test_with_kafka_away_memory_stays_within_its_bound(start: StartCollector) -> None:
    process = start(AWAY, answer_within=1, buffer="4 MiB")
    large = [{**EVENT, "Listing_ID": "x" * 10_000}] * 50
    process.post(EVENT)
    before = process.memory()
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: process.post(large), range(200)))
    assert {answer.status_code for answer in answers} == {503}
    codes = {answer.json().get("error", {}).get("code") for answer in answers}
    assert "request.busy" in codes
    assert all("retry-after" in answer.headers for answer in answers)
    assert process.memory() - before < 60_000_000
    assert process.metrics()["penstock_collector_underway_bytes"] <= 4 * 1024 * 1024


def test_a_user_that_may_not_write_is_told_which_right_is_lacking(
    start: StartCollector, secured: Callable[[str], Settings]
) -> None:
    process = start(secured("reader"), answer_within=5)
    answer = process.post(EVENT)
    assert answer.status_code == 503
    assert answer.json()["status"] == "failed"
    assert answer.json()["error"]["code"] == "kafka.not_authorized"
    assert process.http.get("/readyz").status_code == 503
    assert soon(lambda: process.http.get("/healthz").status_code == 503)
    assert process.http.get("/healthz").json()["error"]["code"] == "kafka.not_authorized"
    assert process.stop() == 0


def test_sigterm_lets_what_is_underway_be_answered_and_ends_with_0(
    start: StartCollector, topic: str, stack: Running
) -> None:
    process = start()
    accepted: list[str] = []

    def send_until_refused() -> None:
        with httpx.Client(base_url=process.url) as http:
            try:
                while True:
                    answer = http.post("/events", json=[EVENT] * 20, timeout=30)
                    accepted.extend(
                        result["id"] for result in answer.json()["events"] if result["status"] == "accepted"
                    )
            except httpx.TransportError:
                return

    with ThreadPoolExecutor(4) as pool:
        clients = [pool.submit(send_until_refused) for _ in range(4)]
        time.sleep(2)
        assert process.stop() == 0
        for client in clients:
            client.result()
    assert accepted
    found = [headers_of(message)["penstock.event_id"] for message in read_topic(stack.settings, topic, len(accepted))]
    assert set(accepted) <= set(found)
    assert len(found) == len(set(found))


def workers_of(process: CollectorProcess) -> list[psutil.Process]:
    return [child for child in psutil.Process(process.process.pid).children() if is_worker(child)]


def is_worker(process: psutil.Process) -> bool:
    try:
        return "spawn_main" in " ".join(process.cmdline())
    except psutil.Error:
        return False


def test_two_workers_share_the_port_and_their_metrics(start: StartCollector, topic: str, stack: Running) -> None:
    process = start(workers=2)
    assert len(workers_of(process)) == 2
    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(lambda _: httpx.post(f"{process.url}/events", json=EVENT).status_code, range(200)))
    assert set(statuses) == {200}
    assert len(read_topic(stack.settings, topic, 200)) == 200
    time.sleep(2.5)
    name = f'penstock_collector_events_total{{status="accepted",topic="{topic}"}}'
    assert {process.metrics()[name] for _ in range(10)} == {200}
    workers = workers_of(process)
    assert process.stop() == 0
    assert not any(worker.is_running() for worker in workers)


def test_workers_share_the_ids_that_they_took(start: StartCollector, topic: str, stack: Running) -> None:
    process = start(workers=2)

    def send(number: int) -> httpx.Response:
        return httpx.post(f"{process.url}/events", json=EVENT, headers={"idempotency-key": f"key-{number % 5}"})

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(send, range(100)))
    assert {answer.json()["status"] for answer in answers} == {"accepted"}
    assert sum("duplicate" not in answer.json() for answer in answers) == 5
    found = [headers_of(message)["penstock.event_id"] for message in read_topic(stack.settings, topic, 5)]
    assert sorted(found) == [f"key-{number}" for number in range(5)]


def test_a_worker_that_dies_is_replaced(start: StartCollector) -> None:
    process = start(workers=2)
    workers_of(process)[0].kill()
    assert len(workers_of(process)) < 2
    give_up = time.monotonic() + 60
    while len(workers_of(process)) < 2 and time.monotonic() < give_up:
        time.sleep(0.2)
    assert len(workers_of(process)) == 2
    assert httpx.post(f"{process.url}/events", json=EVENT).status_code == 200


def shared_numbers(process: CollectorProcess) -> list[Path]:
    place = Path(tempfile.gettempdir())
    found = (place.glob(f"penstock-collector-*/{worker.pid}.numbers") for worker in workers_of(process))
    return [numbers for each in found for numbers in each]


def test_workers_that_can_share_nothing_any_more_still_answer_in_time(start: StartCollector) -> None:
    process = start(AWAY, workers=2, answer_within=1)
    assert soon(lambda: len(shared_numbers(process)) == 2)
    shutil.rmtree(shared_numbers(process)[0].parent)
    for _ in range(4):
        with_id = httpx.post(f"{process.url}/events", json=EVENT, headers={"idempotency-key": "a"}, timeout=10)
        assert (with_id.status_code, with_id.json()["error"]["code"]) == (503, "request.busy")
        assert with_id.headers["retry-after"]
        without = httpx.post(f"{process.url}/events", json=EVENT, timeout=10)
        assert (without.status_code, without.json()["status"]) == (503, "unknown")
    assert process.stop() == 0


def test_workers_end_with_their_parent(start: StartCollector) -> None:
    process = start(workers=2)
    workers = workers_of(process)
    os.kill(process.process.pid, signal.SIGKILL)
    process.process.wait(10)
    _, alive = psutil.wait_procs(workers, timeout=30)
    assert not alive


def test_wrong_settings_end_with_2_and_name_every_problem(tmp_path: Path) -> None:
    ended = penstock(tmp_path, "collector:\n  workrs: 2\n  topics:\n    events: {schema: nope.avsc, key: 5}\n")
    assert ended.returncode == 2
    assert "penstock.yaml:2: collector.workrs is not a setting (did you mean workers?)" in ended.stderr
    assert "penstock.yaml:4" in ended.stderr


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = penstock(tmp_path, "", "--port", str(port))
    assert ended.returncode == 1
    assert f"port {port} on 127.0.0.1 is in use" in ended.stderr
    assert "--port" in ended.stderr


def test_settings_can_be_checked_without_starting(tmp_path: Path) -> None:
    schema = {"type": "record", "name": "E", "fields": [{"name": "a", "type": "string"}]}
    (tmp_path / "e.avsc").write_text(json.dumps(schema))
    good = "collector: {topic: e, topics: {e: {schema: e.avsc, key: a}}}"
    assert penstock(tmp_path, good, "--check").returncode == 0
    assert penstock(tmp_path, good.replace("key: a", "key: b"), "--check").returncode == 2


def test_a_setting_that_librdkafka_does_not_know_is_told_at_once(tmp_path: Path) -> None:
    ended = penstock(tmp_path, "kafka: {linger.mss: 5}")
    assert ended.returncode == 2
    assert "linger.mss" in ended.stderr
