# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Demonstrate the collection with the reference service: build a tenant and repair its drift.

All files are in a temporary directory that is deleted at the end: the service's database, the
token, random passwords and Ansible's own files. No secret is printed.
"""

from __future__ import annotations

import contextlib
import email
import http.client
import imaplib
import json
import os
import secrets
import signal
import smtplib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

CHECKOUT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    # Exit silently on Ctrl-C during the slow imports, when there is nothing to clean up yet.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

sys.path[:0] = [str(CHECKOUT)]

import yaml  # noqa: E402

from tests import conftest  # noqa: E402
from tests.support import playbooks  # noqa: E402
from tests.support.mail import MailClient, mail_options, message, signing_key  # noqa: E402
from tests.support.service import RunningService, ServiceError, running_service  # noqa: E402
from tools.demo_helpers import DemoError, Steps, expect, in_colour, play, say, show  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

PRINCIPAL = "/api/principal/"
EXAMPLES = Path("playbooks", "examples")
TENANT, DNS_RECORDS = EXAMPLES / "tenant.yml", EXAMPLES / "dns_records.yml"
CHANGED_MAILBOX, LOST_ALIAS = "alice@example.com", "sales@example.com"
SENDER, FORWARDER, CUSTOMER = "bob@example.com", "partners@example.com", "customer@example.net"

# Ansible prints only tasks that changed something, unless show_unchanged is set.
ANSIBLE_CFG = """\
[defaults]
callback_result_format = yaml
display_ok_hosts = {show_unchanged}
display_skipped_hosts = false
"""
STOP_SECONDS = 5.0
#: The ports are the defaults of `postroom-service serve`.
NEXT_STEPS = """\
To run a service of your own with a mail server, install it as service/README.md describes, and
start it in a new directory. The file token then contains a token for the API, which is at
http://127.0.0.1:8025:

  postroom-service serve --mail --bootstrap demo --token-file token

After you have created a mailbox, enter its address and password and these servers in a mail
client. Accept the service's own certificate, which is in mail-cert.pem:

  IMAP  127.0.0.1, port 9930, TLS
  SMTP  127.0.0.1, port 5870, STARTTLS

Then read docs/tutorials/first-tenant.md to describe a whole tenant in a file, or
docs/tutorials/run-your-own.md to build a mail host."""


class Demo:
    """The steps of the demo.

    :param service: the running service
    :param folder: the directory for the files that the steps write
    """

    def __init__(self, service: RunningService, folder: Path) -> None:
        self._service = service
        self._folder = folder
        self._steps = Steps()
        self._definition = definition()
        self._mail = MailClient(service.ready, folder)
        mailboxes = self._definition["mail_mailboxes"]
        self._passwords = {mailbox["name"]: secrets.token_urlsafe(18) for mailbox in mailboxes}

    def run(self) -> None:
        """Run all steps."""
        self.announce()
        self.converge()
        self.converge_again()
        self.send_mail()
        self.sign_mail()
        self.change_by_hand()
        self.show_drift()
        self.repair()
        self.show_dns()

    def announce(self) -> None:
        """Explain what is running, and write the file with the account's secrets."""
        self._steps.begin("Start the mail service")
        say("It includes the API and a mail server, and starts with an empty database.")
        say(f"It listens on {self._service.url}.")
        say("Its token and a random password for each mailbox are in account.yml, which")
        say("only you can read. Encrypt your own account.yml with ansible-vault.")
        print()
        account = {
            "mail_api_url": self._service.url,
            "vault_mail_token": self._service.token,
            "vault_mail_passwords": self._passwords,
        }
        write_private(self._folder / "account.yml", yaml.safe_dump(account))

    def converge(self) -> None:
        """Create the objects of the definition."""
        parts = ("domains", "mailboxes", "forwarders")
        counts = [f"{len(self._definition['mail_' + part])} {part}" for part in parts]
        self._steps.begin("Apply the definition")
        say(f"tenant_vars.yml names {', '.join(counts)}. None of them exists yet.")
        if self._play(TENANT) == 0:
            raise DemoError("The first run did not create the tenant.")

    def converge_again(self) -> None:
        """Show that a second run changes nothing."""
        self._steps.begin("Apply it again")
        say("The tenant already matches the definition, so nothing changes.")
        changed = self._play(TENANT)
        if changed:
            raise DemoError(f"The second run changed {changed} tasks.")
        say("changed=0. Tasks without changes are not listed.")
        print()

    def send_mail(self) -> None:
        """Deliver a message to an alias and read it."""
        self._steps.begin("Send mail to an alias")
        say(f"Another mail server delivers a message from {CUSTOMER}:")
        self._deliver("An order", "250")
        say(f"{CHANGED_MAILBOX} logs in with IMAP and the password from account.yml:")
        self._show_inbox("An order")

    def sign_mail(self) -> None:
        """Send a message through a forwarder to another service and verify its signature."""
        self._steps.begin("Send mail to a forwarder")
        say(f"{SENDER} logs in with SMTP and sends a message to {FORWARDER}.")
        say("Alice is a member of this forwarder, so the message is in her inbox:")
        with self._mail.submit(SENDER, self._passwords[SENDER]) as client:
            client.send_message(message(SENDER, FORWARDER, "Our new prices"))
        self._show_inbox("Our new prices")
        say("The other member is at another service. The demo keeps such mail in a folder:")
        [outgoing] = self._mail.outbox()
        headers = email.message_from_bytes(outgoing)
        show(*(f"{name}: {headers[name]}" for name in ("X-Recipients", "From", "Subject")), "")
        say("The DKIM signature matches the public key that the API returns:")
        domain = SENDER.partition("@")[2]
        published = self._request("GET", f"/api/dns/{domain}")["txt"]
        name = signing_key(outgoing, published, domain)
        expect(name, "The DKIM signature does not verify.")
        [key] = [one["value"] for one in published if f"{one['host']}.{domain}" == name]
        show(f"GET /api/dns/{domain}", f"{name}: {key[:40]}...", "")

    def change_by_hand(self) -> None:
        """Remove an alias without Ansible."""
        self._steps.begin("Remove an alias by hand")
        say(f"Someone removes {LOST_ALIAS} from {CHANGED_MAILBOX} with an API request:")
        mailbox = self._request("GET", PRINCIPAL + CHANGED_MAILBOX)
        emails = [address for address in mailbox["emails"] if address != LOST_ALIAS]
        if emails == mailbox["emails"]:
            raise DemoError(f"{CHANGED_MAILBOX} does not have the alias {LOST_ALIAS}.")
        show(f"PATCH {PRINCIPAL}{CHANGED_MAILBOX}", json.dumps({"emails": emails}))
        self._request("PATCH", PRINCIPAL + CHANGED_MAILBOX, {"emails": emails})
        print()
        say("The mail server now refuses mail to this address:")
        self._deliver("A second order", "550")

    def show_drift(self) -> None:
        """Show the drift in check mode."""
        self._steps.begin("Show the drift")
        say("Check mode shows what a run would change, and writes nothing.")
        self._expect_one_change(self._play(TENANT, "--check", "--diff"))
        if LOST_ALIAS in self._request("GET", PRINCIPAL + CHANGED_MAILBOX)["emails"]:
            raise DemoError("Check mode has changed the mailbox.")

    def repair(self) -> None:
        """Restore the alias."""
        self._steps.begin("Repair the drift")
        say("Run the same playbook without check mode.")
        self._expect_one_change(self._play(TENANT))
        if LOST_ALIAS not in self._request("GET", PRINCIPAL + CHANGED_MAILBOX)["emails"]:
            raise DemoError(f"The run did not restore {LOST_ALIAS}.")
        say("The mail server accepts mail again:")
        self._deliver("Another order", "250")
        say("The message is in Alice's inbox:")
        self._show_inbox("Another order")

    def show_dns(self) -> None:
        """Print the DNS records to publish."""
        self._steps.begin("Print the DNS records to publish")
        say("Add these records to the domains' zones to receive mail.")
        self._play(DNS_RECORDS, show_unchanged=True)

    def _expect_one_change(self, changed: int) -> None:
        if changed != 1:
            raise DemoError(f"One task should have found the drift, not {changed}.")

    def _deliver(self, subject: str, code: str) -> None:
        """Deliver a message to the alias and show the server's response to RCPT."""
        with self._mail.mx() as server:
            server.ehlo()
            server.mail(CUSTOMER)
            status, answer = server.rcpt(LOST_ALIAS)
            if status == 250:
                server.data(message(CUSTOMER, LOST_ALIAS, subject).as_bytes())
        show(f"RCPT TO:<{LOST_ALIAS}>", f"{status} {answer.decode()}", "")
        expect(str(status) == code, f"The response is not {code}.")

    def _show_inbox(self, newest: str) -> None:
        found = self._mail.inbox(CHANGED_MAILBOX, self._passwords[CHANGED_MAILBOX])
        show(
            *(f"From: {one['From']}  To: {one['To']}  Subject: {one['Subject']}" for one in found),
            "",
        )
        subjects = [one["Subject"] for one in found]
        expect(subjects[-1:] == [newest], f"The newest message's subject is not {newest!r}.")

    def _play(self, playbook: Path, *options: str, show_unchanged: bool = False) -> int:
        """Run a playbook, show its output and return the number of changed tasks."""
        show(" ".join(["$ ansible-playbook", str(playbook), "-e @account.yml", *options]))
        config = self._folder / "ansible.cfg"
        config.write_text(ANSIBLE_CFG.format(show_unchanged=show_unchanged), "utf-8")
        account = f"@{self._folder / 'account.yml'}"
        command = [sys.executable, "-m", "ansible", "playbook", str(playbook), "-e", account]
        return run_playbook([*command, *options], ansible_environment(self._folder))

    def _request(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Send a request to the service without using the collection, and return the response."""
        address = self._service.url.removeprefix("http://")
        connection = http.client.HTTPConnection(address, timeout=10)
        headers = {
            "authorization": f"Bearer {self._service.token}",
            "content-type": "application/json",
        }
        with contextlib.closing(connection):
            sent = None if body is None else json.dumps(body)
            connection.request(method, path, sent, headers)
            answer = connection.getresponse()
            content = json.load(answer)
        if answer.status != http.client.OK:
            raise DemoError(f"{method} {path} returned {answer.status}: {content}")
        return content


def definition() -> dict[str, Any]:
    """Return the example's variables."""
    text = (CHECKOUT / EXAMPLES / "tenant_vars.yml").read_text("utf-8")
    content: dict[str, Any] = yaml.safe_load(text)
    return content


def ansible_environment(folder: Path) -> dict[str, str]:
    """Return an environment in which Ansible uses only the demo's settings."""
    colour = "ANSIBLE_FORCE_COLOR" if in_colour() else "ANSIBLE_NOCOLOR"
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    # A module that is killed leaves a directory in TMPDIR.
    return playbooks.environment(folder, TMPDIR=str(temporary), **{colour: "1"})


def run_playbook(command: list[str], environment: dict[str, str]) -> int:
    """Run a playbook, show its output and return the number of changed tasks in its recap."""
    recap, blank = None, False
    with playbook_process(command, environment) as process:
        for line in process.stdout or ():
            text = line.rstrip()
            # Keep single blank lines between tasks, but none after the recap.
            if text or not (blank or recap):
                print(f"   {text}".rstrip(), flush=True)
            blank = not text
            recap = playbooks.read_recap(text) or recap
    print()
    if process.returncode or recap is None:
        raise DemoError(f"ansible-playbook ended with status {process.returncode}.")
    return recap.changed


@contextlib.contextmanager
def playbook_process(
    command: list[str], environment: dict[str, str]
) -> Iterator[subprocess.Popen[str]]:
    """Run Ansible. If the demo is interrupted, stop Ansible and its workers first."""
    with subprocess.Popen(
        command,
        cwd=CHECKOUT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # Ctrl-C then reaches only the demo, which stops the whole process group once.
        start_new_session=True,
    ) as process:
        try:
            yield process
        except BaseException:
            end(process)
            raise


def end(process: subprocess.Popen[str]) -> None:
    """Stop a process and its group, and kill them if they take too long to stop.

    The signal is SIGTERM, because Ansible and its modules may ignore SIGINT.
    """
    # On macOS, signalling a group that has just ended is not permitted.
    with contextlib.suppress(PermissionError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=STOP_SECONDS)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def write_private(path: Path, text: str) -> None:
    """Write a file that is never readable by other users."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def demonstrate(folder: Path) -> None:
    """Run all steps against a new service."""
    options = mail_options(folder)
    with running_service(folder / "service", tenant="demo", extra_args=options) as service:
        Demo(service, folder).run()


def main() -> int:
    """Run the demo and return its exit status."""
    conftest.collections_root(CHECKOUT)
    ended = "The service is stopped and its files are deleted."
    failures = (ServiceError, OSError, smtplib.SMTPException, imaplib.IMAP4.error)
    return play("demo", demonstrate, ended, failures, NEXT_STEPS)


if __name__ == "__main__":
    sys.exit(main())
