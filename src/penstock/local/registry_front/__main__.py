"""`python -m penstock.local.registry_front URL PORT`: serve the front for the Apicurio at URL."""

from __future__ import annotations

import argparse

import uvicorn

from penstock.local.registry_front.app import create_app


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(description="Confluent's API in front of Apicurio, on localhost.")
    parser.add_argument("apicurio", help="Apicurio's URL")
    parser.add_argument("port", type=int, help="the port to listen on")
    options = parser.parse_args()
    uvicorn.run(
        create_app(options.apicurio),
        host="127.0.0.1",
        port=options.port,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=200,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=3,
    )


if __name__ == "__main__":
    main()
