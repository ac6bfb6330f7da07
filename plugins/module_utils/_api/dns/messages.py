# Copyright (c) 2026, Postroom contributors
# Simplified BSD License (see LICENSES/BSD-2-Clause.txt or https://opensource.org/licenses/BSD-2-Clause)
# SPDX-License-Identifier: BSD-2-Clause

"""Every text about DNS records, by its code: verdicts with remedies, changes, warnings and advice.

Code decides what applies and which values to insert; the sentences are only here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Params = Mapping[str, object]

_MISSING = ("there is no {noun} record at {name}", "At {name}, add the record {record}")
_NAMESERVERS = "Check the option nameservers or, if it is not set, the delegation of {domain}."
_RESOLVERS = "Set the option resolvers to servers that can look up {name}, and run again."
_REPLACE = "replace the record by the one that the service asks for."
#: What is wrong with a DKIM key, and what to do.
_DKIM = {
    "dkim_several": (
        "there are {number} DKIM keys, and receivers may take any of them",
        "leave only the one that the service asks for.",
    ),
    "dkim_other_text": ("another text is published", _REPLACE),
    "dkim_quoted": (
        "the published text itself contains {signs}, so receivers cannot read the key",
        "enter the text without them: the DNS provider adds the quoting that DNS needs.",
    ),
    "dkim_repeated_tag": ("the published key has the tag {tag} more than once", _REPLACE),
    "dkim_malformed": (
        "the published key is not a list of tags, as in v=DKIM1; k=rsa; p=KEY",
        _REPLACE,
    ),
    "dkim_version": ("the published key does not begin with v=DKIM1", _REPLACE),
    "dkim_no_key": ("the published record has no key, which is its tag p", _REPLACE),
    "dkim_revoked": ("the published key is revoked: its tag p is empty", _REPLACE),
    "dkim_type": ("the published key is of the type {found}, not {wanted}", _REPLACE),
    "dkim_hash": (
        "the published key allows only the hashes h={found}, not sha256",
        "add sha256 to the tag h, or remove the tag.",
    ),
    "dkim_service": (
        "the published key is only for the services s={found}, not for mail",
        "add email to the tag s, or remove the tag.",
    ),
    "dkim_truncated": (
        "the published key was cut after {found} of {wanted} characters",
        "enter the whole text, in strings of at most 255 characters if longer ones are refused.",
    ),
    "dkim_other_key": ("another key is published", _REPLACE),
    "dkim_altered": (
        "the published key is the wanted one up to character {found} and differs from there on",
        "enter the whole text again, with its strings in order and nothing between them.",
    ),
}
#: The detail of a verdict, as a clause, and its remedy.
_VERDICTS: dict[str, tuple[str, str]] = {
    "present": ("the record is there", ""),
    "mx_missing": _MISSING,
    "spf_missing": _MISSING,
    "dkim_missing": _MISSING,
    "txt_missing": _MISSING,
    "mx_null": (
        "a null MX record (0 .) at {name} declares that it accepts no mail",
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
        "At {name}, replace the SPF record by TXT {proposal}",
    ),
    "spf_after_all": (
        "the SPF record at {name} has {terms} after all, where receivers do not look",
        "At {name}, replace the SPF record by TXT {proposal}",
    ),
    "spf_repeated": (
        "the SPF record at {name} has {terms} more than once, and receivers look it up each time",
        "At {name}, replace the SPF record by TXT {proposal}",
    ),
    "spf_several": (
        "there are {number} SPF records at {name}, and receivers then ignore all of them",
        "{reason}",
    ),
    "spf_invalid": ("the SPF record at {name} is invalid", "{reason}"),
    "spf_contradicts": ("the SPF record at {name} contradicts the service's", "{reason}"),
    "spf_refuses_service": ("{problem}", "{reason}"),
    "spf_too_expensive": ("{detail}", "{reason}"),
    "spf_rejected": (
        "The SPF record at {name} is there, but receivers reject it: {why}.",
        "At {name}, fix the SPF record: {reason}.",
    ),
    "wildcard": (
        "nothing is published at {name} itself: a wildcard record answers",
        "At {name}, add the record {record}",
    ),
    "cname_domain": (
        "{name} is an alias (CNAME) of {alias}, so it can hold no other record",
        "At {name}, replace the CNAME record by A and AAAA records, and add {record}",
    ),
    "cname": (
        "{name} is an alias (CNAME) of {alias}, and {detail}",
        "At {name}, replace the CNAME record by {record}",
    ),
    "elsewhere": ("{problem}, and {detail}", "At {name}: {reason} The wanted record is {record}"),
    "unresolved": ("reports that {problem}, and {detail}", _RESOLVERS),
    "lame": ("is not authoritative for {name}{detail}", _NAMESERVERS),
    "unfound": ("gave no answer{detail}", _NAMESERVERS),
    "failed": (
        "failed{detail}",
        "Fix these servers, whose logs may show why they failed, and run again.",
    ),
    "silent": (
        "gave no answer{detail}",
        "Ensure that these servers answer for {name} over UDP and TCP, and run again.",
    ),
    "no_nameservers": (
        "No authoritative name server of {name} could be found.",
        "Ensure that {domain} is delegated, or set the option nameservers.",
    ),
    "nameservers_not_found": ("{detail}", "{reason}"),
    "servers_disagree": (
        "{detail}",
        "Wait until {behind} has the zone of {current}, or fix the transfer between them.",
    ),
    "dnssec": (
        "It is published, but {servers} rejects its DNSSEC signatures, and so do mail servers.",
        "Sign the zone of {name} again, or replace or remove the DS record at its registrar.",
    ),
    **{
        code: (f"at {{name}} {detail}", f"At {{name}}: {remedy} The wanted record is {{record}}")
        for code, (detail, remedy) in _DKIM.items()
    },
}
#: A problem that only the owner of the domain can decide on, and what to do, as sentences.
_PAIRS = {
    "spf_other_qualifier": (
        "The SPF record has {term} but the service asks for {ours}.",
        "Replace {term} by {ours} in it, or remove {term}.",
    ),
    "spf_modifier": (
        "The service asks for {term}, which can't be merged with an SPF record without it.",
        "Add {term} to it, or remove that record.",
    ),
    "spf_undecided": (
        "There are {number} SPF records, and receivers then ignore all of them.",
        "They contradict each other. Keep one, with what you need of the others in it.",
    ),
    "spf_refused": (
        "In the SPF record, {term} before {ours} matches {address}, a sender of the service.",
        "Remove {term}, or publish this SPF record instead: {proposal}",
    ),
}
#: Why a record set is changed, as a clause.
_REASONS = {
    "mx_missing": "it lacks the mail server {host} (priority {priority})",
    "spf_missing": "it lacks the SPF record",
    "dkim_missing": "it lacks the DKIM key",
    "txt_missing": "it lacks a text of the service",
    "mx_priority": "its mail server {host} has priority {found} instead of {priority}",
    "mx_repeated": "its mail server {host} has priority {found} besides {priority}",
    "spf_incomplete": "its SPF record lacks {terms}",
    "spf_after_all": "its SPF record has {terms} after all",
    "spf_repeated": "its SPF record has {terms} more than once",
    "dkim_several": "it has other DKIM keys beside the service's",
    "ttl": "its TTL is {found} seconds instead of {wanted}",
    "mx_withdrawn": "the mail server {host} (priority {priority}) is withdrawn",
    "spf_withdrawn": "the SPF record is withdrawn",
    "spf_terms_withdrawn": "the service's terms are withdrawn from its SPF record",
    "dkim_withdrawn": "the service's DKIM key is withdrawn",
    "txt_withdrawn": "a text of the service is withdrawn",
}
_DKIM_REASON = "its DKIM key is not the service's"
#: Clauses that several texts share, warnings and advice.
_TEXTS = {
    "delegated": "{owner} is delegated (NS) to other name servers, {target}",
    "delegated_remedy": "Delete the NS records at {owner}.",
    "delegated_key_remedy": "Publish the DKIM key at the name servers {target}, or delete the NS "
    "records at {owner}.",
    "dname": "the DNAME record at {owner} makes {name} an alias of {target}",
    "dname_remedy": "Delete the DNAME record at {owner}.",
    "dname_key_remedy": "Publish the DKIM key at {target}, or delete the DNAME record at {owner}.",
    "not_resolved": "no resolver found what is there",
    # Refusals and warnings when publishing
    "barred_cname": "{name}: the name is an alias (CNAME) of {alias}, and nothing else can be at "
    "it. Delete the CNAME record first.",
    "barred": "{set} can't be published: {problem}. {remedy}",
    "kept_elsewhere": "{name} is left alone, because {owner} has {type} records. Delete the "
    "service's records at {place}.",
    "mx_kept": "{host} (priority {priority}) is kept and {effect}. Remove its record unless you "
    "want that.",
    "mx_first": "gets the mail first",
    "mx_share": "gets a part of the mail",
    "mx_backup": "gets mail while the service cannot be reached",
    "spf_replace_all": "Replace them by this one{choice}: {replacement}",
    "spf_softened": ", with the ~all of one of them and not the -all of another",
    "spf_unreadable": "the SPF record cannot be read and stays as it is. {problem}",
    "wildcard_addresses": "{name} has addresses by a wildcard only, which no longer applies once "
    "the name has records of its own. Add A or AAAA records at {name} if it is used for more than "
    "mail.",
    "wildcard_records": "{name} gets {records} from a wildcard, which no longer applies once the "
    "name has records of its own. Add them at {name} if you need them.",
    "wildcard_spf": " If it has an SPF record by then, add the terms to that: only one may exist.",
    "left_alone": "Publishing leaves this record alone and publishes the others.",
    "unsure": "Whether {names} was written is not known. Run again.",
    "spf_merge_rejected": "With the service's mechanisms, receivers would reject {record}: {why}. "
    "First {reason}.",
    "spf_already_rejected": "Receivers reject {record}: {why}. Fix it: {reason}.",
    # Advice
    "backup": "{host} (priority {priority}) takes mail while the service can't be reached. Remove "
    "its MX record if it is not your backup.",
    "spf_no_all": "The SPF record at {name} has no all, so it forbids nothing. End it with ~all.",
    "spf_open": "The SPF record at {name} lets anyone send with {term}. End it with ~all or -all.",
    "spf_size": "The SPF record has {size} bytes, and above {most} some receivers get it late or "
    "not at all. Remove terms that no mail of yours needs.",
    "dkim_testing": "The DKIM key has t=y, which declares that signatures are only being tested. "
    "Remove y from t.",
    "slow_change": "Resolvers may keep what is at {name} now for {hours} hours after a change: its "
    "TTL is {ttl} s. Lower it before you change it.",
    "partly_unknown": "{servers}, so whether {record} is there, too, is not known.",
    "stale_resolver": "{server}, a resolver, does not give the {noun} record at {name} yet. It may "
    "keep what it knew until its TTL ends.",
    "no_resolver": "No resolver answered, so DNSSEC, DMARC and the DNS look-ups of the SPF record "
    "were not checked. Set the option resolvers.",
    "no_dmarc": "There is no DMARC record at _dmarc.{name}, so receivers do not know what to do "
    "with mail that is not yours. Begin with TXT v=DMARC1; p=none",
    "spf_not_counted": "The DNS look-ups of {record} could not be counted to the end, so they may "
    "be more than the {most} that receivers allow: {why}.",
    "spf_lookup_failed": "no resolver answered for {names}. Set other servers in the option "
    "resolvers",
    "spf_macro": "where {names} leads depends on the sender",
    "spf_voids_ipv6": "For a sender of IPv6, {number} of the DNS look-ups of {record} find "
    "nothing, and some receivers allow {most}. Write ip4 for a and mx of hosts without IPv6.",
    # Why receivers reject an SPF record, and what to do, as clauses
    "term_leads_there": "take out the term that leads there, or ask its owner to fix that record",
    "too_many_lookups": "it takes more than {most} DNS look-ups ({terms})",
    "too_many_lookups_remedy": "take out the terms that you do not need, or write ip4 and ip6 for "
    "include, a and mx",
    "too_many_voids": "{number} of its DNS look-ups find nothing, and {most} may",
    "too_many_voids_remedy": "take out the terms whose domains do not exist any more",
    # Waiting
    "progress": "{domain}: {present} of {number} records are there, {lacking}; asking again for "
    "{left} s.",
    "timed_out": "After {seconds} s, {lacking} of {number} records of {domain} are not as they "
    "should be:",
}


def detail(code: str, params: Params) -> str:
    """Return what a verdict found: a clause, or a sentence if it is about all servers."""
    return _VERDICTS[code][0].format(**params)


def remedy(code: str, params: Params) -> str:
    """Return the sentence that fixes what a verdict found, or an empty text."""
    return _VERDICTS[code][1].format(**params)


def reason(code: str, params: Params) -> str:
    """Return why a record set is changed, as a clause."""
    return _REASONS.get(code, _DKIM_REASON).format(**params)


def pair(code: str, **params: object) -> tuple[str, str]:
    """Return a problem and its remedy as two sentences."""
    problem, remedy_ = _PAIRS[code]
    return problem.format(**params), remedy_.format(**params)


def text(code: str, **params: object) -> str:
    """Return a warning, an advice or a clause."""
    return _TEXTS[code].format(**params)


def join_words(words: Sequence[str]) -> str:
    """Return words as a sentence lists them: ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
