# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Set the wheel's version to that of the collection. All other settings are in pyproject.toml."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
GALAXY = ROOT.joinpath("galaxy.yml").read_text("utf-8")

# Otherwise, files of an earlier build that have since been deleted would be in this wheel.
shutil.rmtree(ROOT / "build", ignore_errors=True)
setup(version=re.findall(r"^version: (\S+)$", GALAXY, re.MULTILINE)[0])
