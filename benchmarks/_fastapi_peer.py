"""The collector's peer: what one writes in an afternoon with FastAPI and aiokafka, answering after acks=all."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaProducer
from fastapi import FastAPI
from pydantic import BaseModel

TOPIC = os.environ.get("PEER_TOPIC", "")
MAX_BATCH_BYTES = 1_000_000
"""With aiokafka's default of 16 kB, batches of 100 events wait for each other for seconds."""


class Event(BaseModel):
    """The product's own event."""

    Event_Type: str
    Event_Version: str
    User_ID: str
    Listing_ID: str | None = None
    Server_Time: str | None = None
    Device_Type: str | None = None


@asynccontextmanager
async def _producing(app: FastAPI) -> AsyncIterator[None]:
    servers = os.environ["PENSTOCK_BOOTSTRAP"]
    producer = AIOKafkaProducer(bootstrap_servers=servers, acks="all", max_batch_size=MAX_BATCH_BYTES)
    await producer.start()
    app.state.producer = producer
    yield
    await producer.stop()


app = FastAPI(lifespan=_producing)


@app.post("/one")
async def one(event: Event) -> dict[str, str]:
    """Take one event."""
    value = event.model_dump_json().encode()
    await app.state.producer.send_and_wait(TOPIC, value, key=event.User_ID.encode())
    return {"status": "accepted"}


@app.post("/many")
async def many(events: list[Event]) -> dict[str, int]:
    """Take a batch of events."""
    producer: AIOKafkaProducer = app.state.producer
    await asyncio.gather(
        *[
            producer.send_and_wait(TOPIC, event.model_dump_json().encode(), key=event.User_ID.encode())
            for event in events
        ]
    )
    return {"accepted": len(events)}
