# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""DNS providers with one zone each: real name servers, moto, and fake APIs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import boto3
from moto.server import ThreadedMotoServer

from ansible_collections.postroom.email.tests.fakes.dns_providers import (
    cloudflare as played_cloudflare,
)
from ansible_collections.postroom.email.tests.fakes.dns_providers import hetzner as played_hetzner
from ansible_collections.postroom.email.tests.fakes.dns_providers.server import running_api
from ansible_collections.postroom.email.tests.support import bind, powerdns
from ansible_collections.postroom.email.tests.support.certificates import Authority
from ansible_collections.postroom.email.tests.support.recording_proxy import recording

AWS_KEY, AWS_SECRET = "AKIAIOSFODNN7EXAMPLE", "aws-Kd83vXe0Rt62Lw9q"


class Provider(NamedTuple):
    """A DNS provider with one zone.

    :param variables: the role's variables that select the provider
    :param settings: environment variables for the role
    :param secret: a value that must never be printed
    :param lookup: returns the records of a name and type as sorted zone-file text
    :param put: sets the records of a name and type, as another client would
    :param take_writes: returns the write requests since the last call; None if they can't be
        recorded
    """

    zone: str
    variables: dict[str, Any]
    settings: dict[str, str]
    secret: str
    lookup: Callable[[str, str], tuple[str, ...]]
    put: Callable[..., None]
    take_writes: Callable[[], list[str]] | None = None

    @property
    def answers(self) -> bool:
        """Whether the name servers in ``variables`` answer queries for the provider's zone."""
        return "dns_nameservers" in self.variables


@contextmanager
def rfc2136(zone: str, folder: Path) -> Iterator[Provider]:
    """Run BIND, which accepts signed updates."""
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
        yield Provider(zone, variables, {}, key.secret, server.lookup, put)


@contextmanager
def powerdns_api(zone: str, folder: Path) -> Iterator[Provider]:
    """Run PowerDNS with a recorder in front of its API."""
    with powerdns.running(folder, {zone: ""}) as server, recording(server.api_url) as recorder:

        def put(name: str, kind: str, *values: str) -> None:
            records = [{"content": value, "disabled": False} for value in values]
            change = {"name": f"{name}.", "type": kind, "ttl": 600, "changetype": "REPLACE"}
            server.call("PATCH", f"/zones/{zone}.", {"rrsets": [{**change, "records": records}]})

        def take_writes() -> list[str]:
            return [f"{exchange.method} {exchange.path}" for exchange in recorder.take_writes()]

        variables = {
            "dns_powerdns_url": f"{recorder.url}/",
            "dns_powerdns_api_key": server.api_key,
            "dns_nameservers": [str(server)],
            "dns_resolvers": [str(server)],
        }
        yield Provider(zone, variables, {}, server.api_key, server.lookup, put, take_writes)


@contextmanager
def route53(zone: str, folder: Path) -> Iterator[Provider]:
    """Simulate AWS with moto."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    address, port = server.get_host_and_port()
    url = f"http://{address}:{port}"
    settings = {
        "AWS_ACCESS_KEY_ID": AWS_KEY,
        "AWS_SECRET_ACCESS_KEY": AWS_SECRET,
        "AWS_ENDPOINT_URL_ROUTE_53": url,
        # Ignore the AWS accounts that are configured on this machine.
        "AWS_CONFIG_FILE": str(folder / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "none"),
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    keys = {"aws_access_key_id": AWS_KEY, "aws_secret_access_key": AWS_SECRET}
    client = boto3.client("route53", region_name="us-east-1", endpoint_url=url, **keys)
    zone_id = client.create_hosted_zone(Name=zone, CallerReference="once")["HostedZone"]["Id"]

    def put(name: str, kind: str, *values: str) -> None:
        records = [{"Value": value} for value in values]
        wanted = {"Name": name, "Type": kind, "TTL": 600, "ResourceRecords": records}
        change = {"Action": "UPSERT", "ResourceRecordSet": wanted}
        client.change_resource_record_sets(HostedZoneId=zone_id, ChangeBatch={"Changes": [change]})

    def lookup(name: str, kind: str) -> tuple[str, ...]:
        held = client.list_resource_record_sets(HostedZoneId=zone_id)["ResourceRecordSets"]
        found = [one for one in held if (one["Name"], one["Type"]) == (f"{name}.", kind)]
        return tuple(sorted(r["Value"] for one in found for r in one["ResourceRecords"]))

    try:
        yield Provider(zone, {}, settings, AWS_SECRET, lookup, put)
    finally:
        client.close()
        server.stop()


@contextmanager
def cloudflare(zone: str, folder: Path) -> Iterator[Provider]:
    """Run a fake Cloudflare behind a proxy, because clients insist on Cloudflare's host name."""
    authority = Authority(folder)
    api = played_cloudflare.Cloudflare(zone)
    token = played_cloudflare.TOKEN
    with running_api(api, authority.serves("DNS:api.cloudflare.com")) as server:
        settings = {"https_proxy": server.url, "SSL_CERT_FILE": str(authority.path)}
        variables = {"dns_cloudflare_api_token": token}
        yield Provider(zone, variables, settings, token, api.lookup, api.put, server.take_writes)


@contextmanager
def hetzner(zone: str, folder: Path) -> Iterator[Provider]:
    """Run a fake of Hetzner's Cloud API."""
    api = played_hetzner.Hetzner(zone)
    token = played_hetzner.TOKEN
    with running_api(api) as server:
        settings = {"HCLOUD_ENDPOINT": f"{server.url}/v1"}
        variables = {"dns_hetzner_token": token}
        yield Provider(zone, variables, settings, token, api.lookup, api.put, server.take_writes)


#: The providers, keyed by the value of `dns_provider`.
PROVIDERS = {
    "rfc2136": rfc2136,
    "powerdns": powerdns_api,
    "route53": route53,
    "cloudflare": cloudflare,
    "hetzner": hetzner,
}
