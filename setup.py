# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Give the wheel the version of the collection; pyproject.toml says all the rest."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
GALAXY = ROOT.joinpath("galaxy.yml").read_text("utf-8")

# What an earlier build left there would be in this wheel, deleted files as well.
shutil.rmtree(ROOT / "build", ignore_errors=True)
setup(version=re.findall(r"^version: (\S+)$", GALAXY, re.MULTILINE)[0])
