# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""AWX's rules for the times of a schedule."""

from __future__ import annotations

import re
from collections.abc import Iterator

_BEGIN = re.compile(r"DTSTART(;[^:]+)?:[0-9]+T[0-9]+Z?")
_NAIVE = re.compile(r"DTSTART:[0-9]+T[0-9]+(?![0-9Z])")
_RULE = re.compile(r"(?:EX)?RULE:\S*")


def problems_of(rrule: str) -> list[str]:
    """Return what AWX has against the rule by which a schedule recurs."""
    begins, rules = len(_BEGIN.findall(rrule)), _RULE.findall(rrule)
    found = []
    if not begins:
        found.append(
            "Valid DTSTART required in rrule. Value should start with: DTSTART:YYYYMMDDTHHMMSSZ"
        )
    if _NAIVE.search(rrule):
        found.append("DTSTART cannot be a naive datetime.  Specify ;TZINFO= or YYYYMMDDTHHMMSSZZ.")
    if begins > 1:
        found.append("Multiple DTSTART is not supported.")
    if not rules:
        found.append("One or more rule required in rrule.")
    for rule in rules:
        found += [f"{problem}: {rule}" for problem in _problems_of_rule(rule)]
    return found


def _problems_of_rule(rule: str) -> Iterator[str]:
    if "INTERVAL" not in rule:
        yield "INTERVAL required in rrule"
    if "SECONDLY" in rule:
        yield "SECONDLY is not supported"
    elif not re.search(r"FREQ=(MINUTELY|HOURLY|DAILY|WEEKLY|MONTHLY|YEARLY)\b", rule):
        yield "rrule parsing failed validation: invalid 'FREQ'"
    if "COUNT" in rule and "UNTIL" in rule:
        yield "RRULE may not contain both COUNT and UNTIL"
    if re.search(r"BYDAY=[0-9]", rule):
        yield "BYDAY with numeric prefix not supported"
