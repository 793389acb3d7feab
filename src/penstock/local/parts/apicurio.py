"""Apicurio, the registry behind the registry front. It stores schemas in PostgreSQL."""

from __future__ import annotations

from functools import partial

import httpx

from penstock.config.database_url import LOCAL_ROLE
from penstock.errors import PartFailed
from penstock.local.java import java_command, small_jvm
from penstock.local.part import Part
from penstock.local.parts.postgres import role_password
from penstock.local.process import environment
from penstock.local.ready import answers
from penstock.local.site import Site, StackOptions

FILES: tuple[str, ...] = ("apicurio",)
VERSION = "3.3.3"


def wanted(_options: StackOptions) -> bool:
    """Return True: the stack always runs a registry."""
    return True


def parts(site: Site) -> list[Part]:
    """Return the server, on ports known only to the registry front."""
    return [
        Part(
            name="apicurio",
            version=VERSION,
            address=url(site),
            command=java_command(str(site.jars.home("apicurio") / "quarkus-run.jar"), options=small_jvm(384)),
            env=_environment(site),
            log=site.log("apicurio"),
            needs=("postgres",),
            is_ready=partial(answers, f"http://127.0.0.1:{site.apicurio_health_port}/health/ready"),
            settle=partial(_check_compatibility_by_default, site),
        )
    ]


def url(site: Site) -> str:
    """Return the URL of Apicurio itself."""
    return f"http://127.0.0.1:{site.apicurio_port}"


def _environment(site: Site) -> dict[str, str]:
    database = f"jdbc:postgresql://localhost:{site.settings.ports.postgres}/registry"
    return dict(
        environment(
            QUARKUS_HTTP_HOST="127.0.0.1",
            QUARKUS_HTTP_PORT=site.apicurio_port,
            QUARKUS_MANAGEMENT_HOST="127.0.0.1",
            QUARKUS_MANAGEMENT_PORT=site.apicurio_health_port,
            QUARKUS_HTTP_ACCESS_LOG_ENABLED="false",
            APICURIO_STORAGE_KIND="sql",
            APICURIO_STORAGE_SQL_KIND="postgresql",
            APICURIO_DATASOURCE_URL=database,
            APICURIO_DATASOURCE_USERNAME=LOCAL_ROLE,
            APICURIO_DATASOURCE_PASSWORD=role_password(site),
            APICURIO_DATASOURCE_JDBC_INITIAL_SIZE=2,
            APICURIO_DATASOURCE_JDBC_MIN_SIZE=2,
            APICURIO_DATASOURCE_JDBC_MAX_SIZE=20,
        )
    )


def _check_compatibility_by_default(site: Site) -> None:
    """Set Confluent's default compatibility once. Later changes by the user are kept."""
    done = site.data / "registry.initialised"
    if done.exists():
        return
    try:
        answer = httpx.put(
            f"{url(site)}/apis/ccompat/v7/config", json={"compatibility": "BACKWARD"}, timeout=30, trust_env=False
        )
        answer.raise_for_status()
    except httpx.HTTPError as error:
        raise PartFailed(
            f"apicurio does not take its default compatibility: {error}", hint=f"its log is {site.log('apicurio')}"
        ) from error
    done.touch()
