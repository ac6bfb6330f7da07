# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Write the policy file's reference from its schema: `policy_reference.py`.

It is the part of `docs/policy.md` from its mark on; a test compares it with what this writes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from tools.definition_reference import Schema, tables  # noqa: E402

SCHEMA = ROOT / "schemas" / "policy.schema.json"
PAGE = ROOT / "docs" / "policy.md"

MARK = """\
## Reference of the policy file

<!-- From here on written by tools/policy_reference.py from schemas/policy.schema.json. -->
"""
ABOUT = "What may be missing has a default, or means that there is no such thing."


def reference(schema: Schema) -> str:
    """Return the part of the page that is written from the schema."""
    return "\n".join([MARK, *tables(schema, ABOUT, "###")])


def page(text: str, schema: Schema) -> str:
    """Return the page with its reference written anew."""
    guide, _, _ = text.partition(MARK)
    return guide + reference(schema)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8"), json.loads(SCHEMA.read_text("utf-8"))), "utf-8")
