# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""What it takes for a record to be there: one record that is wanted, against one set of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from ..errors import PostroomError
from ..models import DnsRecord, DnsRecordSet
from . import dkim, spf
from . import spf_merge as merging
from .formats import fqdn
from .rrset import Key, Mx, Value, texts_of, value_of

Status = Literal["match", "missing", "conflict", "unknown"]


class Finding(NamedTuple):
    """What was found of a record in one place.

    :param detail: a clause for people, without a full stop
    :param step: one sentence that says what to put or remove; empty where nothing is to do
    :param place: how that sentence begins for who does not see yet at which name it is
    :param held: whether the record is there, whatever else there may be
    """

    status: Status
    detail: str
    step: str = ""
    advice: tuple[str, ...] = ()
    held: bool = False
    place: str = ""

    @property
    def remedy(self) -> str:
        """What to put or remove, and where."""
        return f"{self.place}{self.step}"


class Wanted(NamedTuple):
    """One record that the service wants.

    :param name: in full, as A-labels, without a dot at the end
    :param beside: what else the service wants of the same type at the same name
    """

    record: DnsRecord
    name: str
    beside: tuple[Value, ...] = ()

    @property
    def domain(self) -> str:
        """The domain that it is a record of."""
        return self.name.removeprefix(f"{self.record.host}.")

    @property
    def key(self) -> Key:
        """What the record set goes by that it belongs to."""
        return self.name, self.record.type

    @property
    def is_spf(self) -> bool:
        """Whether it is about who may send, so that it is merged with what is there."""
        return self.record.type == "TXT" and spf.is_spf(self.record.value)

    @property
    def noun(self) -> str:
        """What sort of record it is, in a word."""
        if self.is_spf:
            return "SPF"
        return "DKIM" if self.is_key else self.record.type

    @property
    def is_key(self) -> bool:
        """Whether it is a DKIM key."""
        return self.record.type == "TXT" and dkim.is_key(self.record.value)

    @property
    def adding(self) -> str:
        """The step where nothing is in the way."""
        return f"add the record {self.shown}"

    @property
    def shown(self) -> str:
        """The record as people enter it: ``MX 10 mail.example.net.``, or the whole text."""
        value = value_of(self.record)
        return _entry(value) if isinstance(value, Mx) else f"TXT {self.record.value}"

    def finding(self, status: Status, detail: str, step: str, *, held: bool = False) -> Finding:
        """Return a finding with what to do at the record's name."""
        return Finding(status, detail, step, held=held, place=f"At {self.name}, ")


def wanted_records(record_set: DnsRecordSet) -> tuple[Wanted, ...]:
    """Return each record of a domain with what stands beside it, in the service's order."""
    return tuple(_wanted(record_set, record) for record in record_set.records)


def _wanted(record_set: DnsRecordSet, record: DnsRecord) -> Wanted:
    name = fqdn(record_set, record)
    others = (other for other in record_set.records if other is not record)
    same = (other for other in others if other.type == record.type and other.host == record.host)
    return Wanted(record, name, tuple(value_of(other) for other in same))


def compare(wanted: Wanted, values: Sequence[Value]) -> Finding:
    """Say whether a record is among the values of its name and type."""
    if wanted.record.type == "MX":
        return _compare_mx(wanted, [value for value in values if isinstance(value, Mx)])
    texts = texts_of(values)
    if wanted.is_spf:
        return _compare_spf(wanted, [text for text in texts if spf.is_spf(text)])
    if wanted.is_key:
        return _compare_dkim(wanted, texts)
    return _compare_text(wanted, texts)


def _compare_mx(wanted: Wanted, found: Sequence[Mx]) -> Finding:
    ours = value_of(wanted.record)
    foreign = sorted(value for value in found if value != ours and value not in wanted.beside)
    null = [value for value in foreign if not value.exchange]
    if null:
        detail = f"a null MX record at {wanted.name} says that it takes no mail"
        return _in_the_way(wanted, found, null, detail)
    if not isinstance(ours, Mx):  # for the types; an MX record is nothing else
        return _missing(wanted)
    moved = [value for value in foreign if value.exchange == ours.exchange]
    if moved:
        return _moved(wanted, ours, moved, is_there=ours in found)
    rivals = _rivals(foreign, found, (ours, *wanted.beside))
    if rivals:
        hosts = in_a_row([f"{value.exchange} (priority {value.priority})" for value in rivals])
        return _in_the_way(wanted, found, rivals, f"mail for {wanted.name} goes to {hosts}")
    return _there(_backups(foreign)) if ours in found else _missing(wanted)


def _rivals(foreign: Sequence[Mx], found: Sequence[Mx], ours: Sequence[Value]) -> Sequence[Mx]:
    """Return the others that get mail though the service could be reached.

    :param ours: all that the service wants, of which the first takes the mail
    """
    if not any(value in found for value in ours):
        return foreign
    first = min(value.priority for value in ours if isinstance(value, Mx))
    return [value for value in foreign if value.priority <= first]


def _in_the_way(wanted: Wanted, found: Sequence[Mx], rivals: Sequence[Mx], detail: str) -> Finding:
    """Return that others take the mail, and that they have to go."""
    out = in_a_row([_entry(value) for value in rivals])
    noun = "record" if len(rivals) == 1 else "records"
    held = value_of(wanted.record) in found
    also = "" if held else f", and add {wanted.shown}"
    return wanted.finding("conflict", detail, f"remove the {noun} {out}{also}", held=held)


def _moved(wanted: Wanted, ours: Mx, moved: Sequence[Mx], *, is_there: bool) -> Finding:
    """Return that our host is there with another priority."""
    priorities = in_a_row([str(value.priority) for value in moved])
    host = ours.exchange
    if is_there or len(moved) > 1:
        detail = f"the MX record for {host} is there with priority {priorities}, too"
        return _in_the_way(wanted, [ours] if is_there else [], moved, detail)
    return wanted.finding(
        "conflict",
        f"the MX record for {host} has priority {priorities} in place of {ours.priority}",
        f"change the priority of the MX record for {host} from {priorities} to {ours.priority}.",
    )


def _backups(foreign: Sequence[Mx]) -> tuple[str, ...]:
    return tuple(
        f"{value.exchange} (priority {value.priority}) takes mail while the service can't be "
        "reached. Remove its MX record if it is no backup of yours."
        for value in foreign
    )


def _compare_spf(wanted: Wanted, found: Sequence[str]) -> Finding:
    if not found:
        return _missing(wanted)
    try:
        merged = merging.merge(found, wanted.record.value)
        policy = spf.parse(merged)
    except PostroomError as error:
        return Finding("conflict", _why_no_merge(wanted, found), str(error))
    if merged != found[0]:
        return _unmerged(wanted, spf.parse(found[0]), f"replace the SPF record by TXT {merged}")
    return _there(_advice_of(wanted, policy))


def _why_no_merge(wanted: Wanted, found: Sequence[str]) -> str:
    if len(found) > 1:
        return f"there are {len(found)} SPF records at {wanted.name}, and receivers then heed none"
    try:
        spf.parse(found[0])
    except spf.SpfError:
        return f"the SPF record at {wanted.name} can't be read by receivers"
    return f"the SPF record at {wanted.name} says otherwise of the service"


def _unmerged(wanted: Wanted, policy: spf.Spf, step: str) -> Finding:
    """Return how a record that can be merged falls short of what is wanted."""
    asked = spf.parse(wanted.record.value)
    lacking = merging.lacking(asked, policy.terms)
    if lacking:
        names = in_a_row(list(map(str, lacking)))
        return wanted.finding(
            "missing", f"the SPF record at {wanted.name} is without {names}", step
        )
    names = in_a_row(list(map(str, merging.mechanisms(asked))))
    if merging.lacking(asked, policy.before_all):
        flaw = "after all, where receivers do not look"
    else:
        flaw = "more than once, and receivers look it up each time"
    detail = f"the SPF record at {wanted.name} has {names} {flaw}"
    return wanted.finding("conflict", detail, step)


def _advice_of(wanted: Wanted, policy: spf.Spf) -> tuple[str, ...]:
    size = merging.size_advice(str(policy))
    return tuple(text for text in (_last_word(wanted, policy), size) if text)


def _last_word(wanted: Wanted, policy: spf.Spf) -> str:
    """Return what is to be said of the record's verdict on everybody else."""
    last = policy.terms[policy.first_all :][:1]
    if not last and not policy.modifier("redirect"):
        return f"The SPF record at {wanted.name} has no all, so it forbids nobody. End it in ~all."
    if last and last[0].effective in "+?":
        said = f"The SPF record at {wanted.name} lets anybody send with {last[0]}."
        return f"{said} End it in ~all or -all."
    return ""


def _compare_dkim(wanted: Wanted, found: Sequence[str]) -> Finding:
    verdict = dkim.compare(wanted.record.value, found)
    if verdict.status == "match":
        return _there(verdict.advice)
    if verdict.status == "missing":
        return _missing(wanted)
    step = f"{verdict.remedy} The wanted record is {wanted.shown}"
    detail = f"at {wanted.name} {verdict.detail}"
    return Finding("conflict", detail, step, place=f"At {wanted.name}: ")


def _compare_text(wanted: Wanted, found: Sequence[str]) -> Finding:
    return _there() if wanted.record.value in found else _missing(wanted)


def _there(advice: tuple[str, ...] = ()) -> Finding:
    return Finding("match", "the record is there", "", advice, held=True)


def _missing(wanted: Wanted) -> Finding:
    detail = f"there is no {wanted.noun} record at {wanted.name}"
    return wanted.finding("missing", detail, wanted.adding)


def _entry(value: Mx) -> str:
    return f"MX {value.priority} {value.exchange}."


def in_a_row(words: Sequence[str]) -> str:
    """Return words as a sentence lists them: ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
