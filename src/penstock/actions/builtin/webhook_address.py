"""Addresses forbidden for webhooks: cloud metadata services, which return secrets, and addresses of no host."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_IPV4_BITS = 32
_SECRETS_OF_MACHINES = frozenset(
    map(
        ipaddress.ip_address,
        ("100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:42::42", "fd20:ce::254"),
    )
)
"""Metadata services outside the link-local range: Alibaba's, Azure's, Oracle's, and by IPv6 Scaleway's and Google's."""

_SECRETS_OF_AWS = ipaddress.IPv6Network("fd00:ec2::/32")
"""AWS's services for its machines by IPv6: metadata, credentials of pods, and others."""

_IPV4_AT_END = tuple(map(ipaddress.IPv6Network, ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")))
_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")
_6TO4 = ipaddress.IPv6Network("2002::/16")
_TEREDO = ipaddress.IPv6Network("2001::/32")
_ISATAP = (0x00005EFE, 0x02005EFE)


def address_problem(text: str) -> str | None:
    """Return why a webhook must not connect to this IP address; None if allowed, or if the text is no IP address."""
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    forbidden = any(map(_is_forbidden, (address, *_embedded(address))))
    return f"{address}, which is no address for a webhook" if forbidden else None


def _is_forbidden(address: Address) -> bool:
    is_nobody = address.is_link_local or address.is_multicast or address.is_unspecified
    return is_nobody or address in _SECRETS_OF_MACHINES or address in _SECRETS_OF_AWS


def _embedded(address: Address) -> Iterator[Address]:
    """Yield the IPv4 addresses to which a network may translate an IPv6 address."""
    if isinstance(address, ipaddress.IPv4Address):
        return
    bits = int(address)
    if any(address in network for network in _IPV4_AT_END) and bits > 1:
        yield _ipv4(bits)
    if address in _LOCAL_NAT64:
        # The operator's prefix has 48, 56, 64 or 96 bits; bits 64 to 71 are always left out (RFC 6052).
        whole = bits.to_bytes(16)
        used = whole[:8] + whole[9:]
        yield from (_ipv4(int.from_bytes(used[start : start + 4])) for start in (6, 7, 8, 11))
    if address in _6TO4:
        yield _ipv4(bits >> (128 - 16 - _IPV4_BITS))
    if address in _TEREDO:
        yield _ipv4(~bits)
    if (bits >> _IPV4_BITS) & 0xFFFFFFFF in _ISATAP:
        yield _ipv4(bits)


def _ipv4(bits: int) -> ipaddress.IPv4Address:
    return ipaddress.IPv4Address(bits & 0xFFFFFFFF)
