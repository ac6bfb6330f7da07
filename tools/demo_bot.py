# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Demonstrate the Slack bot in a simulated workspace on this machine.

The bot and the mail service are the real programs, each in its own process; Slack is a fake that
implements Slack's protocols. All files are in a temporary directory that is deleted at the end.
"""

from __future__ import annotations

import copy
import json
import os
import runpy
import signal
import smtplib
import sqlite3
import sys
import textwrap
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

CHECKOUT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    # Exit silently on Ctrl-C during the slow imports, when there is nothing to clean up yet.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

sys.path[:0] = [str(CHECKOUT)]
# conftest.py makes the collection, the service and the bot importable.
runpy.run_path(str(CHECKOUT / "tests" / "conftest.py"))

from ansible_collections.postroom.email.tests.fakes.slack.workspace_state import CannotDo  # noqa: E402
from ansible_collections.postroom.email.tests.service.api import SECRET  # noqa: E402
from ansible_collections.postroom.email.tests.support.bot import (  # noqa: E402
    BotError,
    RunningBot,
    running_bot,
)
from ansible_collections.postroom.email.tests.support.company import (  # noqa: E402
    ALICE,
    Company,
    open_company,
)
from ansible_collections.postroom.email.tests.support.mail import (  # noqa: E402
    MailClient,
    mail_options,
)
from ansible_collections.postroom.email.tests.support.service import ServiceError  # noqa: E402
from tools import demo_drawing  # noqa: E402
from tools.demo_helpers import DemoError, Steps, expect, play, say, show  # noqa: E402

if TYPE_CHECKING:
    from ansible_collections.postroom.email.tests.fakes.slack.person import Person
    from ansible_collections.postroom.email.tests.fakes.slack.workspace_state import (
        Ack,
        Message,
        View,
    )

SALES, NEWS = "sales@example.com", "newsletter@example.com"
DISGUISED = "Post.Master+x@example.com"
#: The event of the audit row to tamper with. The approver is the row's actor.
TAMPERED = "vote.counted"
NEXT_STEPS = """\
docs/tutorials/first-request.md connects the bot to a Slack workspace of your own. There, the
token of the mail service is the bot's setting api_token.
docs/guides/slack-bot.md then deploys it to a host and explains the policy. With /email password,
people get the server and ports for their mail program, from the bot's setting mail_host."""


class Demo:
    """The steps of the demo.

    :param here: the simulated company
    :param mail: a client of the mail server
    """

    def __init__(self, company: Company, bot: RunningBot, mail: MailClient, steps: Steps) -> None:
        self._company = company
        self._bot = bot
        self._mail = mail
        self._steps = steps
        self._names = {user.id: user.name for user in company.slack.state.users.values()}
        self._names[company.slack.state.bot.id] = "Postroom"

    def run(self) -> None:
        """Run all steps, and check that the fake Slack found no problems."""
        self.show_policy()
        card = self.ask()
        self.approve_oneself(card)
        self.approve(card)
        password = self.make_password()
        self.turn_guest_away()
        self.see_through_disguise()
        self.show_audit()
        self.show_definition()
        self.tamper()
        self.log_in(password)
        problems = self._company.slack.problems
        expect(not problems, f"Slack reported problems: {problems}")

    def show_policy(self) -> None:
        """Show the rules of the policy."""
        say("Bob, Carol and Dora are in the group mail-admins. These are the policy's rules:")
        show(*self._company.policy.partition("rules:\n")[2].splitlines(), "")

    def ask(self) -> Message:
        """Request an alias and return the request's card."""
        alice = self._company.alice
        self._steps.begin("Alice requests an alias")
        self._type(alice, f"/email alias add {SALES} because customers ask for it")
        say("Nothing has changed yet. The bot posts this card in #approvals:")
        self._told(alice, SALES)
        card = self._company.slack.wait_for_message(self._company.approvals, SALES)
        self._draw(card)
        return card

    def approve_oneself(self, card: Message) -> None:
        """Try to approve a request as its requester, without effect."""
        self._steps.begin("Alice tries to approve her own request")
        self._press(self._company.alice, card, "You asked for this")
        expect("Waiting for 1 approval" in card.text, "Alice's press changed the request.")

    def approve(self, card: Message) -> None:
        """Approve the request as an approver."""
        alice = self._company.alice
        self._steps.begin("Bob approves")
        self._press(self._company.bob, card, "Your answer was received")
        self._company.slack.wait_for(lambda: "Done" in card.text)
        say("The bot creates the alias and updates the card:")
        self._draw(card)
        self._draw_told(alice, "Done")
        say("The alias exists in the mail service:")
        emails = self._company.aliases()
        show(f"GET /api/principal/{ALICE}", json.dumps({"emails": emails}), "")
        expect(emails == [ALICE, SALES], f"{SALES} did not become an alias of {ALICE}.")

    def make_password(self) -> str:
        """Create a new password, which only Alice can see, and return it."""
        alice = self._company.alice
        expect(
            self._mail.log_in(ALICE, SECRET).startswith("235"), "The old password does not work."
        )
        self._steps.begin("Alice creates a new password")
        self._typed(alice, "/email password")
        self._draw_view(self._window(alice, "password_confirm"))
        say("alice presses Create password.")
        alice.submit(alice.modal)
        shown = self._window(alice, "password_shown")
        password = _password_in(shown)
        self._draw_view(_shortened(shown))
        say("This demo shows only the beginning of the password.")
        self._expect_nowhere(password)
        say("The password is not in the bot's log, its database or Slack's messages.")
        self._draw_told(alice, "The password of your mailbox")
        alice.close(alice.modal)
        return password

    def turn_guest_away(self) -> None:
        """Request an alias as a guest of the workspace, and show the refusal."""
        guest = self._company.slack.person("gina", email="gina@example.com", is_restricted=True)
        self._names[guest.id] = guest.user.name
        self._steps.begin("Gina, a guest in the workspace, requests an alias")
        self._type(guest, f"/email alias add {NEWS}")
        self._draw_told(guest, "Guests can't use this bot")

    def see_through_disguise(self) -> None:
        """Request a reserved name, which could be used to obtain certificates."""
        alice = self._company.alice
        self._steps.begin("Alice requests a reserved name in another spelling")
        say("The check for reserved names ignores dots, capital letters and +suffixes.")
        self._type(alice, f"/email alias add {DISGUISED}")
        self._draw_told(alice, "is a reserved name")
        expect(self._company.aliases() == [ALICE, SALES], f"{DISGUISED} was added.")

    def show_audit(self) -> None:
        """Show the audit and verify it."""
        self._steps.begin("The audit")
        rows = [json.loads(line) for line in self._run("audit", "show").splitlines()]
        say("The command prints one line of JSON for each event, shortened here:")
        show(*(self._in_short(row) for row in rows), "")
        say("The hash of each row covers its contents and the previous row's hash.")
        show(*_wrapped(self._run("audit", "verify")), "")

    def show_definition(self) -> None:
        """Show the definition of the changes that the bot made."""
        self._steps.begin("Export the changes as a definition")
        say("email_tenant merges this file with your own files, so it keeps the alias.")
        definition = self._run("definition")
        show(*definition.splitlines(), "")
        mailboxes = [{"name": ALICE, "aliases": [SALES]}]
        listed = json.loads(definition)["mailboxes"]
        expect(listed == mailboxes, f"The definition does not list {SALES}.")

    def tamper(self) -> None:
        """Change the audit by hand, and show that verification detects it."""
        carol = self._company.carol.id
        change = f"UPDATE audit SET actor = '{carol}' WHERE event = '{TAMPERED}'"  # noqa: S608
        self._steps.begin("Someone edits the audit")
        say("Someone tries to make it look as if Carol had approved. A trigger prevents it:")
        with closing(sqlite3.connect(self._bot.database)) as database:
            show(f"sqlite> {change};", _refusal(database, change), "")
            say("The file's owner can remove the trigger, but verification detects the change:")
            drop = "DROP TRIGGER audit_no_update"
            show(*(f"sqlite> {statement};" for statement in (drop, change)))
            with database:
                database.execute(drop)
                database.execute(change)
        show(*_wrapped(self._run("audit", "verify", status=1)), "")

    def log_in(self, password: str) -> None:
        """Try to log in to the mail server with the new password, then with the old one."""
        self._steps.begin("Alice sets up her mail program")
        for sentence, given, code in (
            ("The mail server accepts her new password:", password, "235"),
            ("It refuses the old password:", SECRET, "535"),
        ):
            say(sentence)
            answer = self._mail.log_in(ALICE, given)
            kind = "new" if given == password else "old"
            show(f"AUTH PLAIN {ALICE} ({kind} password)", answer, "")
            expect(answer.startswith(code), f"The response is not {code}.")

    # Actions of people in Slack.

    def _type(self, person: Person, text: str) -> None:
        """Type a command and draw the immediate reply."""
        ack = self._typed(person, text)
        said = person.sees().ephemerals[-1]
        expect(said.text == ack.body["text"], f"The reply to {text} came too late.")
        self._draw(said)

    def _typed(self, person: Person, text: str) -> Ack:
        say(f"{person.user.name} types:  {text}")
        ack = person.command(text)
        expect(ack.ok, f"The bot did not acknowledge {text}: {ack.error}")
        return ack

    def _press(self, person: Person, card: Message, part: str) -> None:
        """Press Approve and draw the reply that only this person can see."""
        say(f"{person.user.name} presses Approve.")
        expect(person.press(card, "request_approve").ok, "The bot did not acknowledge Approve.")

        def said() -> list[Message]:
            return [one for one in person.sees().ephemerals if part in one.text]

        self._draw(self._company.slack.wait_for(said)[-1])

    def _told(self, person: Person, part: str) -> Message:
        """Wait for a direct message that contains ``part``."""
        return self._company.slack.wait_for_message(person.direct_channel, part)

    def _draw_told(self, person: Person, part: str) -> None:
        say(f"{person.user.real_name} gets this message:")
        self._draw(self._told(person, part))

    def _window(self, person: Person, callback_id: str) -> View:
        """Wait until a person has a modal open, and return it."""
        self._company.slack.wait_for(lambda: person.modal.callback_id == callback_id)
        return person.modal

    def _draw(self, message: Message) -> None:
        show(*demo_drawing.draw_message(message, names=self._names).splitlines(), "")

    def _draw_view(self, view: View) -> None:
        show(*demo_drawing.draw_view(view, names=self._names).splitlines(), "")

    # Actions of operators.

    def _run(self, *arguments: str, status: int = 0) -> str:
        """Run a command of the bot and return its output."""
        say(f"$ postroom-bot {' '.join(arguments)}")
        done = self._bot.command(*arguments)
        failure = f"{' '.join(arguments)}: exit status {done.returncode}, {done.stderr}"
        expect(done.returncode == status, failure)
        return done.stdout

    def _in_short(self, row: dict[str, Any]) -> str:
        """Return a summary of an audit row."""
        actor = self._names.get(row["actor"], row["actor"])
        time = row["at"][11:19]
        return f"{row['seq']:>2}  {time}  {actor:<5}  {row['request_id']}  {row['event']}"

    def _expect_nowhere(self, password: str) -> None:
        """Check that the password is neither in Slack's messages nor in the bot's files."""
        messages = self._company.slack.log(without="views.")
        files = [file for file in self._bot.directory.iterdir() if file.is_file()]
        held = [file.name for file in files if password.encode() in file.read_bytes()]
        expect(not held and password not in messages, f"The password was found: {held or 'Slack'}")


def _password_in(view: View) -> str:
    """Return the password that a modal shows."""
    (block,) = (block for block in view.blocks if block["type"] == "rich_text")
    return str(block["elements"][0]["elements"][0]["text"])


def _shortened(view: View) -> View:
    """Return a modal with most of its password hidden."""
    content = copy.deepcopy(view.content)
    (block,) = (block for block in content["blocks"] if block["type"] == "rich_text")
    (piece,) = block["elements"][0]["elements"]
    first, *others = piece["text"].split("-")
    piece["text"] = "-".join([first, *("*" * len(group) for group in others)])
    return replace(view, content=content)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, demo_drawing.WIDTH)


def _refusal(database: sqlite3.Connection, statement: str) -> str:
    """Return the database's error for a statement that it must refuse."""
    try:
        with database:
            database.execute(statement)
    except sqlite3.IntegrityError as error:
        return f"Error: {error}"
    raise DemoError("The audit did not refuse the change.")


def demonstrate(folder: Path) -> None:
    """Start all programs and run all steps."""
    # All connections are local, so proxies must not be used.
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]
    steps = Steps()
    steps.begin("Start the mail service, a fake Slack and the bot")
    with (
        open_company(folder, mail_options=mail_options(folder)) as company,
        running_bot(folder / "bot", company.slack, company.mail, company.policy) as bot,
    ):
        Demo(company, bot, MailClient(company.mail.ready, folder), steps).run()


def main() -> int:
    """Run the demo and return its exit status."""
    ended = "The mail service, Slack and the bot are stopped, and their files are deleted."
    failures = (BotError, ServiceError, CannotDo, AssertionError, OSError, smtplib.SMTPException)
    return play("demo-bot", demonstrate, ended, failures, NEXT_STEPS)


if __name__ == "__main__":
    sys.exit(main())
