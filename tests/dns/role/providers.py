# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The DNS providers that the role writes to, each seen in the same way: with one empty zone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import boto3
from moto.server import ThreadedMotoServer

from ansible_collections.postroom.email.tests.fakes.dns_providers.cloudflare import (
    TOKEN as CLOUDFLARE_TOKEN,
)
from ansible_collections.postroom.email.tests.fakes.dns_providers.cloudflare import Cloudflare
from ansible_collections.postroom.email.tests.fakes.dns_providers.hetzner import (
    TOKEN as HETZNER_TOKEN,
)
from ansible_collections.postroom.email.tests.fakes.dns_providers.hetzner import Hetzner
from ansible_collections.postroom.email.tests.fakes.dns_providers.playing import played
from ansible_collections.postroom.email.tests.support import bind, powerdns
from ansible_collections.postroom.email.tests.support.certificates import Authority
from ansible_collections.postroom.email.tests.support.recorder import recording

AWS_SECRET = "aws-Kd83vXe0Rt62Lw9q"


class Lookup(Protocol):
    """Returns the records of a name and a type, each as zone-file text, sorted."""

    def __call__(self, name: str, kind: str, /) -> tuple[str, ...]:
        """Look."""


class Put(Protocol):
    """Puts records there, each as zone-file text, as somebody else would."""

    def __call__(self, name: str, kind: str, /, *values: str) -> None:
        """Write."""


class Provider(NamedTuple):
    """One provider with a zone.

    :param variables: of the role, to reach it
    :param settings: of the environment that the role runs in
    :param secret: what must never be printed
    :param take_writes: tells the requests that could change something, since the last call; None
        where they are not seen
    :param answers: whether it answers questions at the name servers in ``variables``
    """

    zone: str
    variables: dict[str, Any]
    settings: dict[str, str]
    secret: str
    lookup: Lookup
    put: Put
    take_writes: Callable[[], list[str]] | None = None
    answers: bool = False


@contextmanager
def rfc2136(zone: str, folder: Path) -> Iterator[Provider]:
    """Run BIND, which takes signed updates."""
    key = bind.new_key("mail")
    with bind.running(folder, {zone: ""}, keys=[key]) as server:

        def put(name: str, kind: str, *values: str) -> None:
            server.change(zone, add=[f"{name}. 600 {kind} {value}" for value in values])

        variables = {
            "dns_update_server": str(server),
            "dns_tsig_name": key.name,
            "dns_tsig_secret": key.secret,
            "dns_nameservers": [str(server)],
            "dns_resolvers": [str(server)],
        }
        yield Provider(zone, variables, {}, key.secret, server.lookup, put, answers=True)


@contextmanager
def powerdns_api(zone: str, folder: Path) -> Iterator[Provider]:
    """Run PowerDNS, with somebody before its API who writes down what passes."""
    with powerdns.running(folder, {zone: ""}) as server, recording(server.api_url) as recorder:

        def put(name: str, kind: str, *values: str) -> None:
            records = [{"content": value, "disabled": False} for value in values]
            change = {"name": f"{name}.", "type": kind, "ttl": 600, "changetype": "REPLACE"}
            server.call("PATCH", f"/zones/{zone}.", {"rrsets": [{**change, "records": records}]})

        variables = {
            "dns_powerdns_url": f"{recorder.url}/",
            "dns_powerdns_api_key": server.api_key,
            "dns_nameservers": [str(server)],
            "dns_resolvers": [str(server)],
        }
        yield Provider(
            zone, variables, {}, server.api_key, server.lookup, put,
            lambda: [f"{e.method} {e.path}" for e in recorder.take_writes()], answers=True,
        )  # fmt: skip


@contextmanager
def route53(zone: str, folder: Path) -> Iterator[Provider]:
    """Play AWS by moto."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    address, port = server.get_host_and_port()
    url = f"http://{address}:{port}"
    settings = {
        "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
        "AWS_SECRET_ACCESS_KEY": AWS_SECRET,
        "AWS_ENDPOINT_URL_ROUTE_53": url,
        # Nothing of this machine's own accounts.
        "AWS_CONFIG_FILE": str(folder / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "none"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    keys = {"aws_access_key_id": "AKIAIOSFODNN7EXAMPLE", "aws_secret_access_key": AWS_SECRET}
    client = boto3.client("route53", region_name="us-east-1", endpoint_url=url, **keys)
    made = client.create_hosted_zone(Name=zone, CallerReference="once")["HostedZone"]["Id"]

    def put(name: str, kind: str, *values: str) -> None:
        records = [{"Value": value} for value in values]
        wanted = {"Name": name, "Type": kind, "TTL": 600, "ResourceRecords": records}
        change = {"Action": "UPSERT", "ResourceRecordSet": wanted}
        client.change_resource_record_sets(HostedZoneId=made, ChangeBatch={"Changes": [change]})

    def lookup(name: str, kind: str) -> tuple[str, ...]:
        held = client.list_resource_record_sets(HostedZoneId=made)["ResourceRecordSets"]
        found = [one for one in held if (one["Name"], one["Type"]) == (f"{name}.", kind)]
        return tuple(sorted(r["Value"] for one in found for r in one["ResourceRecords"]))

    try:
        yield Provider(zone, {}, settings, AWS_SECRET, lookup, put)
    finally:
        client.close()
        server.stop()


@contextmanager
def cloudflare(zone: str, folder: Path) -> Iterator[Provider]:
    """Play Cloudflare at its own name, which only a proxy can."""
    authority = Authority(folder)
    api = Cloudflare(zone)
    with played(api, authority.serves("DNS:api.cloudflare.com")) as player:
        settings = {"https_proxy": player.url, "SSL_CERT_FILE": str(authority.path)}
        variables = {"dns_cloudflare_api_token": CLOUDFLARE_TOKEN}
        yield Provider(
            zone, variables, settings, CLOUDFLARE_TOKEN, api.lookup, api.put, player.take_writes
        )


@contextmanager
def hetzner(zone: str, folder: Path) -> Iterator[Provider]:
    """Play Hetzner's Cloud API."""
    api = Hetzner(zone)
    with played(api) as player:
        settings = {"HCLOUD_ENDPOINT": f"{player.url}/v1"}
        variables = {"dns_hetzner_token": HETZNER_TOKEN}
        yield Provider(
            zone, variables, settings, HETZNER_TOKEN, api.lookup, api.put, player.take_writes
        )


#: By the role's `dns_provider`.
PROVIDERS = {
    "rfc2136": rfc2136,
    "powerdns": powerdns_api,
    "route53": route53,
    "cloudflare": cloudflare,
    "hetzner": hetzner,
}
