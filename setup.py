# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Give the wheel the version of the collection; pyproject.toml says all the rest."""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import setup

GALAXY = Path(__file__).with_name("galaxy.yml").read_text("utf-8")

setup(version=re.findall(r"^version: (\S+)$", GALAXY, re.MULTILINE)[0])
