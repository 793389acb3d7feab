from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.errors import PortInUse
from penstock.local.part import Part
from penstock.local.ports import HOST, check_ports, free_ports, is_free, listens, next_free_ports


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server((HOST, 0)) as server:
        yield server.getsockname()[1]


def part(port: int) -> Part:
    return Part("kafka", "4", "", (), Path("kafka.log"), is_ready=lambda: True, ports={"ports.kafka": port})


def test_a_port_in_use_is_refused_by_its_number_and_its_setting(taken: int) -> None:
    with pytest.raises(PortInUse, match=rf"port {taken} \(setting ports\.kafka\)") as refused:
        check_ports([part(taken)])

    assert "PENSTOCK_PORTS_KAFKA=" in refused.value.hint


def test_a_free_port_is_accepted() -> None:
    check_ports([part(free_ports(1)[0])])


def test_somebody_listens_on_a_taken_port_only(taken: int) -> None:
    assert listens(taken)
    assert not is_free(taken)
    assert not listens(free_ports(1)[0])


def test_free_ports_are_distinct_and_none_of_those_already_given_away() -> None:
    first = free_ports(5)

    assert len(set(first)) == 5
    assert not set(first) & set(free_ports(5, first))


def test_the_further_brokers_take_the_next_free_ports_and_the_first_keeps_its_own(taken: int) -> None:
    one, two, three = next_free_ports(taken - 1, 3, taken=[taken + 1])

    assert one == taken - 1
    assert taken + 1 < two < three
