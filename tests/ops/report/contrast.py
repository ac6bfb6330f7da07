# Copyright (c) 2026, Postroom contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Contrast of text with what is behind it, as WCAG 2.2 reckons it (1.4.3, relative luminance)."""

from __future__ import annotations

import re
from typing import NamedTuple

#: JavaScript for each colour of text on each background, as [words, colour, background].
FAINT = """
    (() => {
        const behind = it => {
            const colour = getComputedStyle(it).backgroundColor
            return colour === "rgba(0, 0, 0, 0)" ? behind(it.parentElement) : colour
        }
        const found = new Map()
        const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
        while (texts.nextNode()) {
            const words = texts.currentNode.data.trim()
            const holder = texts.currentNode.parentElement
            if (!words || !holder.checkVisibility()) continue
            const shade = [words.slice(0, 40), getComputedStyle(holder).color, behind(holder)]
            found.set(shade.slice(1).join(), shade)
        }
        return [...found.values()]
    })()
"""


class Shade(NamedTuple):
    """Some words, their colour, and that behind them, as `rgb(0, 0, 0)`."""

    words: str
    text: str
    behind: str


def ratio(shade: Shade) -> float:
    """Return the contrast, from 1 to 21."""
    dark, light = sorted((_luminance(shade.text), _luminance(shade.behind)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(int(part) / 255) for part in re.findall(r"\d+", colour)[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)
