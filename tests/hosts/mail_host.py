# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Mail hosts built with the role, with DNS, another mail service and two tenants."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import itertools
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import psycopg
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from psycopg import sql

from ansible_collections.postroom.email.tests.hosts import debian
from ansible_collections.postroom.email.tests.service.api import Api
from ansible_collections.postroom.email.tests.support import bind, playbooks, postgresql, repository
from ansible_collections.postroom.email.tests.support.bind import BindServer
from ansible_collections.postroom.email.tests.support.certificates import Authority
from ansible_collections.postroom.email.tests.support.mail import (
    CERTIFICATE,
    MailClient,
    message,
    signing_key,
)
from ansible_collections.postroom.email.tests.support.postgresql import Cluster
from ansible_collections.postroom.email.tools import ansible_tree

NAME, ADDRESS = "mail.example", "10.53.0.10"
#: A second host, which has the same certificate as the first.
SPARE, SPARE_ADDRESS = "spare.example", "10.53.0.11"
#: The two nodes of a mail service and their addresses.
NODES = {"node1.example": "10.53.0.21", "node2.example": "10.53.0.22"}
NODES_SECRET, DATABASE_PASSWORD = "canary" * 8, "database-canary"
READERS = ("postroom-mail", "postfix", "dovecot")
#: The tenants' domains, and an address at the other mail service.
ONE, TWO, PARTNER = "one.example", "two.example", "desk@partner.example"
PARTNER_ADDRESS = "10.53.0.2"
SECRET = "correct-horse"
PORTS = {"submission": 587, "imap": 993, "mx": 25}
API_PORT = 8025
CA_FILE = "/usr/local/share/ca-certificates/test.crt"
MAPS = "/var/lib/postroom-maps"
CERTIFICATE_FILE, KEY_FILE = "/etc/ssl/mail.pem", "/etc/ssl/private/mail.key"
WAIT_SECONDS = 60.0

_ZONE = f"""
mail A {ADDRESS}
node1 A {NODES["node1.example"]}
node2 A {NODES["node2.example"]}
partner MX 10 mx.partner
mx.partner A {PARTNER_ADDRESS}
spf TXT "v=spf1 ip4:{ADDRESS} -all"
"""

PLAY = """\
- name: Build the mail host
  hosts: mail_hosts
  gather_facts: true
  environment: {PIP_NO_INDEX: "1", PIP_FIND_LINKS: /wheels}
  tasks:
    - name: Apply the role
      ansible.builtin.include_role:
        name: postroom.email.mail_host
"""

T = TypeVar("T")

_numbers = itertools.count(1)


class Received(NamedTuple):
    """A message that the other mail service received."""

    sender: str
    recipients: tuple[str, ...]
    content: bytes


class Partner:
    """A mail service that accepts every message."""

    def __init__(self) -> None:
        self.received: list[Received] = []

    async def handle_DATA(  # noqa: N802 aiosmtpd calls it by this name
        self, _server: SMTP, _session: Session, envelope: Envelope
    ) -> str:
        """Store a message."""
        content = envelope.content
        assert isinstance(content, bytes)
        recipients = tuple(envelope.rcpt_tos)
        self.received.append(Received(envelope.mail_from or "", recipients, content))
        return "250 2.0.0 OK"

    def wait_for(self, recipient: str) -> Received:
        """Wait for a message to a recipient."""
        return wait_for(
            lambda: next((one for one in self.received if recipient in one.recipients), None)
        )


class LongLines(SMTP):
    """An SMTP server that accepts lines of any length."""

    line_length_limit = 1 << 20


class PartnerController(Controller):
    """A controller that runs the other mail service in a thread."""

    def factory(self) -> SMTP:
        """Return the server for a connection."""
        return LongLines(self.handler, **self.SMTP_kwargs)


class MailHost:
    """One host or several nodes, with DNS, tenants and another mail service.

    :param hosts: the hosts, keyed by inventory name
    :ivar settings: additional variables of the role
    :ivar database: the database of several nodes, on a separate server
    :ivar host: the host that clients connect to
    :ivar one: the API for the tenant that owns ONE
    :ivar two: the API for the tenant that owns TWO
    """

    def __init__(
        self,
        hosts: Mapping[str, debian.Host],
        folder: Path,
        dns: BindServer,
        partner: Partner,
    ) -> None:
        self.hosts = hosts
        self.host = next(iter(hosts.values()))
        self.folder = folder
        self.dns = dns
        self.partner = partner
        self.settings: Mapping[str, Any] = {}
        self.database: Cluster | None = None
        self.mail = MailClient(PORTS, folder, self.host.address)
        self.one = self.two = Api("http://unset", "")

    def on(self, node: str) -> MailHost:
        """Return the same mail service, but with clients that connect to this node."""
        made = copy.copy(self)
        made.host = self.hosts[node]
        made.mail = MailClient(PORTS, self.folder, made.host.address)
        return made

    def play(self, play: str, *options: str, **variables: Any) -> playbooks.Run:
        """Run a play on the hosts."""
        (self.folder / "play.yml").write_text(play, "utf-8")
        return self.playbook(self.folder / "play.yml", *options, **variables)

    def playbook(self, path: Path, *options: str, **variables: Any) -> playbooks.Run:
        """Run a playbook on the hosts at the highest verbosity and with diffs."""
        connections = {
            name: {
                "ansible_connection": "community.docker.nsenter",
                "ansible_nsenter_pid": host.leader,
                "ansible_python_interpreter": "/usr/bin/python3",
                "ansible_user": "root",
            }
            for name, host in self.hosts.items()
        }
        hosts = {"mail_hosts": {"hosts": connections}}
        inventory, given = self.folder / "hosts.json", self.folder / "variables.json"
        inventory.write_text(json.dumps({"all": {"children": hosts}}), "utf-8")
        given.write_text(json.dumps({**self.variables, **variables}), "utf-8")
        # The connection passes the environment to the host.
        wheels = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": debian.WHEELS}
        environment = playbooks.environment(self.folder, ANSIBLE_NOCOLOR="1", **wheels)
        options = ("-i", str(inventory), "-e", f"@{given}", "-vvv", "--diff", *options)
        run = playbooks.run_playbook(path, environment, *options)
        for use in ("srs", "doveadm"):
            assert hashlib.sha256(f"{use}{NODES_SECRET}".encode()).hexdigest() not in run.output
        assert NODES_SECRET not in run.output
        assert DATABASE_PASSWORD not in run.output
        return run

    @property
    def variables(self) -> dict[str, Any]:
        """The variables of the role."""
        [wheel] = (self.folder / "dist").glob("*.whl")
        return {
            "mail_host_name": NAME,
            "mail_host_service_domain": "spf.example",
            "mail_host_package": str(wheel),
            "mail_host_certificate": CERTIFICATE_FILE,
            "mail_host_key": KEY_FILE,
            "mail_host_api_listen": f"0.0.0.0:{API_PORT}",
            "mail_host_postmaster": f"postmaster@{ONE}",
            "mail_host_resolvers": [f"{debian.GATEWAY}:53"],
            **self.settings,
        }

    @property
    def postgresql(self) -> str:
        """The systemd unit of the PostgreSQL cluster. The unit's name contains the version."""
        [line] = self.host.run("pg_lsclusters", "--no-header").splitlines()
        return "postgresql@{}-{}".format(*line.split())

    def api(self, tenant: str) -> Api:
        """Return API access for a new tenant."""
        token = self.host.run("postroom-service", "token", "create", "--tenant", tenant)
        return self.api_of(token.strip())

    def api_of(self, token: str) -> Api:
        """Return API access for the tenant that owns a token."""
        return Api(f"http://{self.host.address}:{API_PORT}", token)

    def add_domain(self, api: Api, name: str) -> None:
        """Register a domain, publish its records, and wait until it is verified."""
        api.domain(name)
        self.publish(api, name)
        wait_for(lambda: self.reply_to(f"postmaster@{name}").startswith("250"))

    def publish(self, api: Api, name: str) -> None:
        """Publish the records of a domain."""
        records = api.dns(name).json()
        lines = [f"{name}. 60 MX {one['priority']} {one['value']}." for one in records["mx"]]
        for record in records["txt"]:
            owner = name if record["host"] == "@" else f"{record['host']}.{name}"
            text, size = record["value"], 255
            parts = [text[start : start + size] for start in range(0, len(text), size)]
            lines.append(f"{owner}. 60 TXT " + " ".join(f'"{part}"' for part in parts))
        self.dns.change("example", add=lines)

    def mailbox(self, *aliases: str, api: Api | None = None, domain: str = ONE) -> str:
        """Create a mailbox with a unique name."""
        return (api or self.one).mailbox(unused(domain), *aliases, secrets=[SECRET])

    def reply_to(self, recipient: str, sender: str = PARTNER) -> str:
        """Return the host's reply to a RCPT command sent by another mail service."""
        with self.mail.mx() as client:
            client.ehlo()
            client.mail(sender)
            code, text = client.rcpt(recipient)
        return f"{code} {text.decode()}"

    def mapped(self, address: str) -> list[str]:
        """Return the mailbox for an address in each host's Postfix maps, or an empty string."""
        find = ("postmap", "-q", address, f"lmdb:{MAPS}/mailboxes")
        return [host.attempt(*find).stdout.strip() for host in self.hosts.values()]

    def wait_until_mapped(self, address: str, name: str) -> None:
        """Wait until each host's Postfix maps return a name for an address. "" means no entry."""
        wait_for(lambda: all(found == name for found in self.mapped(address)))

    def send(self, sender: str, to: str, subject: str = "hello", secret: str = SECRET) -> None:
        """Submit a message from a mailbox."""
        with self.mail.submit(sender, secret) as client:
            client.send_message(message(sender, to, subject), sender, [to])

    def wait_for_mail(self, name: str, subject: str = "hello", count: int = 1) -> list[bytes]:
        """Wait until a mailbox has messages with the given subject, and return them."""

        def found() -> list[bytes] | None:
            mail = [one for one in self.mail.inbox(name, SECRET) if one["Subject"] == subject]
            return [one.as_bytes() for one in mail] if len(mail) >= count else None

        return wait_for(found)

    def retry(self) -> None:
        """Make Postfix immediately retry deferred messages."""
        for host in self.hosts.values():
            host.run("postqueue", "-f")

    def is_signed(self, content: bytes, domain: str) -> bool:
        """Return whether the key in DNS verifies a message's DKIM signature."""
        name = f"service._domainkey.{domain}."
        text = "".join(part for part in self.dns.lookup(name, "TXT")).replace('" "', "").strip('"')
        return bool(signing_key(content, [{"host": "service._domainkey", "value": text}], domain))


def build_wheel(folder: Path) -> Path:
    """Build a wheel of this checkout in a directory."""
    ansible_tree.copy_files(repository.ROOT, folder / "copy")
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder / "wheel")]
    subprocess.run([*build, str(folder / "copy")], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(folder / "copy")
    [wheel] = (folder / "wheel").glob("*.whl")
    return wheel


@contextlib.contextmanager
def boot(
    folder: Path, wheel: Path, *releases: str, packages: Sequence[str] = ()
) -> Iterator[MailHost]:
    """Boot hosts with Debian releases on a network with DNS and another mail service.

    :param releases: the release of a single host, or of each of NODES
    :param packages: additional packages that the hosts can install
    """
    images = [debian.image(release, *packages) for release in releases]
    places = NODES if len(releases) > 1 else {NAME: ADDRESS}
    (folder / "dist").mkdir()
    (folder / "dist" / wheel.name).write_bytes(wheel.read_bytes())
    with contextlib.ExitStack() as stack:
        stack.enter_context(debian.network(debian.GATEWAY, PARTNER_ADDRESS))
        zone = stack.enter_context(
            bind.running(folder, {"example": _ZONE}, address=debian.GATEWAY, port=53)
        )
        partner = Partner()
        controller = PartnerController(partner, hostname=PARTNER_ADDRESS, port=25)
        controller.start()
        stack.callback(controller.stop)
        authority = Authority(folder)
        (folder / CERTIFICATE).write_bytes(authority.path.read_bytes())
        hosts = {}
        for (name, address), image in zip(places.items(), images, strict=True):
            host = hosts[name] = debian.Host(name, address, image, folder)
            stack.callback(host.stop)
            names = f"DNS:{NAME},DNS:{name},IP:{address},IP:{SPARE_ADDRESS}"
            certificate, key = authority.certificate(names)
            host.write(CERTIFICATE_FILE, certificate.read_text("utf-8"))
            host.write(KEY_FILE, key.read_text("utf-8"))
            host.write(CA_FILE, authority.path.read_text("utf-8"))
            host.run("update-ca-certificates")
        made = MailHost(hosts, folder, zone, partner)
        if len(hosts) > 1:
            made.database, made.settings = stack.enter_context(_database())
        yield made


@contextlib.contextmanager
def _database() -> Iterator[tuple[Cluster, dict[str, Any]]]:
    """Run a database for nodes on the hosts' network, and yield the role's variables for it."""
    with postgresql.stoppable_cluster(postgresql.binaries(), debian.GATEWAY) as cluster:
        with psycopg.connect(cluster.url, autocommit=True) as connection:
            for role in ("postroom", *READERS):
                statement = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}")
                connection.execute(statement.format(sql.Identifier(role), DATABASE_PASSWORD))
            connection.execute("CREATE DATABASE postroom OWNER postroom TEMPLATE template0")
        server = f"{debian.GATEWAY}/postroom"
        yield (
            cluster,
            {
                "mail_host_database": f"postgresql://postroom:{DATABASE_PASSWORD}@{server}",
                "mail_host_database_passwords": dict.fromkeys(READERS, DATABASE_PASSWORD),
                "mail_host_nodes": NODES,
                "mail_host_nodes_secret": NODES_SECRET,
            },
        )


@contextlib.contextmanager
def spare_host(original: MailHost) -> Iterator[MailHost]:
    """Boot a second host with the same certificate, to which the role has not been applied yet."""
    host = debian.Host(SPARE, SPARE_ADDRESS, original.host.image, original.folder)
    try:
        for file in (CERTIFICATE_FILE, KEY_FILE):
            host.write(file, original.host.run("cat", file))
        yield MailHost({NAME: host}, original.folder, original.dns, original.partner)
    finally:
        host.stop()


def unused(domain: str = ONE) -> str:
    """Return a unique address."""
    return f"u{next(_numbers)}@{domain}"


def wait_for(find: Callable[[], T | None], seconds: float = WAIT_SECONDS) -> T:
    """Wait until a function returns a truthy value, and return the value."""
    deadline = time.monotonic() + seconds
    while not (found := find()):
        if time.monotonic() > deadline:
            raise AssertionError("the condition was not met in time")
        time.sleep(0.1)
    return found
