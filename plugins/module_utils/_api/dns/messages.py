# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""The messages for DNS verdicts, changes, refusals and warnings, keyed by code.

Other modules only choose the code and the parameters. The texts for failures of servers and
resolvers are in ``query.py``, ``resolver.py`` and ``update.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Params = Mapping[str, object]

_MISSING = ("there is no {noun} record at {name}", "At {name}, add the record {record}")
_NAMESERVERS = "Check the option nameservers or, if it is not set, the delegation of {domain}."
_REPLACE = "At {name}, replace the published key with the record {record}"
#: The detail (a clause) and the remedy (a sentence) of each verdict.
VERDICTS: dict[str, tuple[str, str]] = {
    "present": ("the record is published", ""),
    "mx_missing": _MISSING,
    "spf_missing": _MISSING,
    "dkim_missing": _MISSING,
    "txt_missing": _MISSING,
    "mx_null": (
        "a null MX record (0 .) at {name} declares that the domain accepts no mail",
        "At {name}, remove {others}{add}",
    ),
    "mx_priority": (
        "the MX record for {host} has priority {found} instead of {priority}",
        "At {name}, change the priority of the MX record for {host} from {found} to {priority}.",
    ),
    "mx_repeated": (
        "there is another MX record for {host}, with priority {found}",
        "At {name}, remove {others}{add}",
    ),
    "mx_rivals": ("mail for {name} goes to {hosts}", "At {name}, remove {others}{add}"),
    "spf_incomplete": (
        "the SPF record at {name} lacks {terms}",
        "At {name}, replace the SPF record with TXT {proposal}",
    ),
    "spf_several": (
        "there are {number} SPF records, so receivers ignore all of them",
        "Merge the terms that you need into one of them, and remove the others.",
    ),
    "spf_invalid": ("{problem}", "Correct or remove that term of the SPF record."),
    "spf_contradicts": (
        "the SPF record has {term}, but the service requires {ours}",
        "Replace {term} with {ours} in the SPF record, or remove {term}.",
    ),
    "spf_modifier": (
        "the service requires {term}, which can't be merged into an SPF record",
        "Add {term} to the SPF record manually, or remove the record.",
    ),
    "spf_too_expensive": ("{detail}", "{problem}"),
    "spf_rejected": (
        "the SPF record at {name} is published, but receivers reject it: {why}",
        "At {name}, fix the SPF record: {how}.",
    ),
    "dkim_several": (
        "there are {number} DKIM keys at {name}, and receivers may use any of them",
        "At {name}, keep only the record {record}",
    ),
    "dkim_other_key": ("another DKIM key is published at {name}", _REPLACE),
    "dkim_revoked": ("the DKIM key at {name} is revoked: its tag p is empty", _REPLACE),
    "dkim_truncated": (
        "the DKIM key at {name} was cut off after {found} of {expected} characters",
        "At {name}, enter the whole text, in strings of at most 255 characters: {record}",
    ),
    "dkim_quoted": (
        "the text at {name} itself contains quotes or backslashes, so receivers can't read the key",
        "At {name}, enter the text without them: the DNS provider adds the quoting. {record}",
    ),
    "wildcard": (
        "nothing is published at {name} itself: a wildcard record answers instead",
        "At {name}, add the record {record}",
    ),
    "elsewhere": (
        "{redirection}, so {name} itself can't hold the record",
        (
            "Delete the record at {owner} and add {record} at {name}. A DKIM key can be published "
            "at the target instead."
        ),
    ),
    "unresolved": (
        "reports that {redirection}, and no resolver found the records there",
        "Set the option resolvers to servers that can look up {name}, and run again.",
    ),
    "lame": ("is not authoritative for {name}{detail}", _NAMESERVERS),
    "unfound": ("gave no answer{detail}", _NAMESERVERS),
    "failed": ("failed{detail}", "Check the logs of these servers, and run again."),
    "silent": (
        "gave no answer{detail}",
        "Ensure that these servers answer for {name} over UDP and TCP, and run again.",
    ),
    "no_nameservers": ("{problem}", "{how}"),
    "servers_disagree": (
        "{detail}",
        "Wait until {outdated} has the zone data of {current}, or fix the transfer between them.",
    ),
    "dnssec": (
        "it is published, but {servers} rejects its DNSSEC signatures, and so do mail servers",
        "Sign the zone of {name} again, or replace or remove its DS record at the registrar.",
    ),
}
_OTHER_KEY = "its DKIM key is not the service's"
#: The reasons for changing a record set, as clauses.
REASONS = {
    "mx_missing": "it lacks the mail server {host} (priority {priority})",
    "spf_missing": "it lacks the SPF record",
    "dkim_missing": "it lacks the DKIM key",
    "txt_missing": "it lacks a TXT record of the service",
    "mx_priority": "its mail server {host} has priority {found} instead of {priority}",
    "mx_repeated": "its mail server {host} has priority {found} in addition to {priority}",
    "spf_incomplete": "its SPF record lacks {terms}",
    "dkim_other_key": _OTHER_KEY,
    "dkim_revoked": _OTHER_KEY,
    "dkim_truncated": _OTHER_KEY,
    "dkim_quoted": _OTHER_KEY,
    "dkim_several": "it has other DKIM keys in addition to the service's",
    "ttl": "its TTL is {found} seconds instead of {wanted}",
    "mx_withdrawn": "the mail server {host} (priority {priority}) is withdrawn",
    "spf_withdrawn": "the SPF record is withdrawn",
    "spf_terms_withdrawn": "the service's terms are withdrawn from its SPF record",
    "dkim_withdrawn": "the service's DKIM key is withdrawn",
    "txt_withdrawn": "a TXT record of the service is withdrawn",
}
#: Refusals, warnings and advice.
_TEXTS = {
    "elsewhere": "{set} can't be published: {redirection}. Delete the record at {owner}, or "
    "publish the DKIM key at the target.",
    "unregistered": "{domain} is not registered in this tenant. Register it first.",
    "unknown_set": "{set}: the current records are not known. {detail} Writing the record set "
    "could delete other records. Verify again once the name servers answer.",
    "ambiguous_set": "{set}: the name servers disagree: {one} and {other} have different records. "
    "Verify again once they agree.",
    "kept_elsewhere": "{set} is not changed: {redirection}. Delete the service's record there.",
    "mx_kept": "the record for {host} (priority {priority}) is kept, so {host} {effect}. If this "
    "host should not get mail, remove the record.",
    "mx_first": "gets the mail first",
    "mx_share": "gets part of the mail",
    "mx_backup": "gets mail while the service can't be reached",
    "wildcard": "{name} gets {types} records from a wildcard, which no longer applies once the "
    "name has records of its own. If you need these records, add them at {name}.",
    "spf_kept": "the SPF record is not changed. {problem}",
    "left_alone": "This record is not changed; the others are published.",
    "unsure": "It is not known whether these record sets were written: {names}. Run again.",
    "spf_merge_rejected": "With the service's terms, receivers would reject {record}: {why}. "
    "First {how}.",
    "spf_already_rejected": "Receivers reject {record}: {why}. Fix it: {how}.",
    "spf_not_counted": "The DNS lookups for {names} could not be counted: no resolver answered, "
    "or the name depends on the message. Therefore, {record} may need more than the {most} that "
    "receivers allow.",
    "no_dnspython": "The DNS lookups that {record} needs were not counted. Install dnspython.",
    # The reasons why receivers reject an SPF record, and the remedies, as clauses.
    "bad_include": "remove the term that causes the error, or ask the owner of the domain in it to "
    "correct the records",
    "too_many_lookups": "it needs more than {most} DNS lookups ({terms})",
    "fewer_lookups": "remove the terms that you do not need, or replace include, a and mx with "
    "ip4 and ip6",
    "too_many_voids": "{number} of its DNS lookups find nothing, but receivers allow only {most}",
    "fewer_voids": "remove the terms whose domains no longer exist",
    # The progress and the timeout of a wait.
    "progress": "{domain}: {present} of {number} records are published, {lacking}; retrying for "
    "{left} s.",
    "timed_out": "Timed out after {seconds} s: {lacking} of {number} records of {domain} could "
    "not be verified:",
}


def detail(code: str, params: Params) -> str:
    """Return the detail of a verdict, as a clause."""
    return VERDICTS[code][0].format(**params)


def remedy(code: str, params: Params) -> str:
    """Return the remedy of a verdict, as a sentence, or an empty string."""
    return VERDICTS[code][1].format(**params)


def sentences(code: str, params: Params) -> str:
    """Return a verdict's detail and remedy as sentences."""
    clause = detail(code, params)
    return f"{clause[:1].upper()}{clause[1:]}. {remedy(code, params)}"


def reason(code: str, params: Params) -> str:
    """Return the reason for changing a record set, as a clause."""
    return REASONS[code].format(**params)


def text(code: str, **params: object) -> str:
    """Return the text of a refusal, a warning or advice, or a part of such a text."""
    return _TEXTS[code].format(**params)


def join_words(words: Sequence[str]) -> str:
    """Join words for a sentence: ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
