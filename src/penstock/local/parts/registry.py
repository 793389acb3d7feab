"""Schema registry for clients: Confluent's API at the root of its port, in front of Apicurio."""

from __future__ import annotations

import sys
from functools import partial
from importlib.metadata import version

from penstock.local.part import Part
from penstock.local.parts.apicurio import url
from penstock.local.ready import answers
from penstock.local.site import Site, StackOptions

FILES: tuple[str, ...] = ()


def wanted(_options: StackOptions) -> bool:
    """Return True: the stack always runs a registry."""
    return True


def parts(site: Site) -> list[Part]:
    """Return the front's server. The front starts together with Apicurio and is ready once Apicurio answers."""
    port = site.settings.ports.registry
    return [
        Part(
            name="registry",
            version=version("penstock"),
            address=f"http://localhost:{port}",
            ports={"ports.registry": port},
            command=(sys.executable, "-P", "-m", "penstock.local.registry_front", url(site), str(port)),
            log=site.log("registry"),
            is_ready=partial(answers, f"http://127.0.0.1:{port}/subjects"),
        )
    ]
