"""The page's pictures as inline SVG. Colours come from the page's style sheet, so they follow light, dark and print.

Every figure says in its label what it shows, so that a screen reader can read it; the numbers stand in the text or a
table beside it. No text from elsewhere (names, categories) is ever drawn into a figure.
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from markupsafe import Markup, escape

from understudy.report.odds import Odds
from understudy.report.text import at_most


def _svg(width: float, height: float, label: str, body: str, kind: str, stretched: bool = False) -> Markup:
    """`body` holds numbers and words of this module only; the label is escaped."""
    fit = ' preserveAspectRatio="none"' if stretched else ""
    head = f'<svg class="{kind}" viewBox="0 0 {width:g} {height:g}"{fit} role="img" aria-label="{escape(label)}">'
    return Markup(f"{head}{body}</svg>")


def people(marked: int, label: str, risk: bool) -> Markup:
    """A hundred people, some of them marked."""
    dots = []
    for i in range(100):
        style = ("risk" if risk else "alarm") if i < marked else "quiet"
        x, y = 8 + 15 * (i % 10), 5 + 18 * (i // 10)
        dots.append(
            f'<g class="{style}"><circle cx="{x}" cy="{y}" r="3.1"/><path d="M{x - 5} {y + 10.5}a5 6 0 0 1 10 0z"/></g>'
        )
    return _svg(151, 184, label, "".join(dots), "people")


class Curve(Protocol):
    """What the best attacker can do: from (epsilon, delta) alone, or from all that is known of the events."""

    def found(self, false_alarms: float) -> float: ...
    def corner(self) -> tuple[float, float]: ...


def curve(odds: Curve, bound: Curve) -> Markup:
    """The trade-off curve: of those who took part, how many the best attacker finds, against false alarms.

    `bound` is the curve of any mechanism with the same epsilon and delta, drawn thin above the true one.
    """
    left, top, side = 52.0, 12.0, 240.0

    def at(alarms: float, found: float) -> str:
        return f"{left + side * alarms:.2f},{top + side * (1 - found):.2f}"

    def points(which: Curve) -> str:
        alarms = sorted({0.0, 1.0, *which.corner()[:1], *(i / 50 for i in range(51))})
        return " ".join(at(a, which.found(a)) for a in alarms)

    line = points(odds)
    ticks = "".join(
        f'<path class="grid" d="M{left} {top + side * (1 - t):.1f}h{side}M{left + side * t:.1f} {top}v{side}"/>'
        f'<text x="{left - 7}" y="{top + side * (1 - t) + 4:.1f}" text-anchor="end">{t:.0%}</text>'
        f'<text x="{left + side * t:.1f}" y="{top + side + 17}" text-anchor="middle">{t:.0%}</text>'
        for t in (0, 0.25, 0.5, 0.75, 1)
    )
    dots = ""
    for alarm in (0.01, 0.1):
        x, y = left + side * alarm, top + side * (1 - odds.found(alarm))
        dots += f'<circle class="risk" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
    body = (
        f'{ticks}<polygon class="reach" points="{at(0, 0)} {line} {at(1, 0)}"/>'
        f'<path class="coin" d="M{left} {top + side}L{left + side} {top}"/><polyline class="bound" points="{points(bound)}"/>'
        f'<polyline class="line" points="{line}"/>{dots}'
        f'<text class="name" x="{left + side / 2}" y="{top + side + 38}" text-anchor="middle">'
        "wrongly accused, of those outside</text>"
        f'<text class="name" transform="translate(11 {top + side / 2}) rotate(-90)" text-anchor="middle">'
        "found, of those inside</text>"
    )
    label = (
        "Curve of the best possible attack. At 1 % false alarms it finds at most "
        f"{at_most(odds.found(0.01))} of those who took part, at 10 % at most {at_most(odds.found(0.1))}. "
        "The diagonal is guessing by coin."
    )
    return _svg(left + side + 22, top + side + 46, label, body, "curve")


def certainty(odds: Odds) -> Markup:
    """From fifty-fifty to the most that an attacker can be sure."""
    after = odds.posterior()
    width = 600.0
    x = width * after
    anchor = "end" if after > 0.8 else "middle"
    body = (
        f'<rect class="track" x="0" y="26" width="{width}" height="14" rx="7"/>'
        f'<rect class="before" x="0" y="26" width="{width / 2}" height="14" rx="7"/>'
        f'<rect class="gain" x="{width / 2}" y="26" width="{max(x - width / 2, 0):.1f}" height="14"/>'
        f'<path class="mark" d="M{width / 2} 20v26M{x:.1f} 20v26"/>'
        f'<text x="{width / 2}" y="62" text-anchor="middle">before: 50 %</text>'
        f'<text class="strong" x="{min(x, width):.1f}" y="14" text-anchor="{anchor}">after: at most {at_most(after)}</text>'
        f'<text x="0" y="62">surely not in it</text><text x="{width}" y="62" text-anchor="end">surely in it</text>'
    )
    return _svg(width, 68, f"From 50 % to at most {at_most(after)} sure that the row took part.", body, "certainty")


def parts(shares: Sequence[float], label: str, rest: float = 0.0) -> Markup:
    """One bar cut into shares; `rest` is what is left over."""
    width, x, body = 600.0, 0.0, ""
    scale = 1 / max(sum(shares) + rest, 1e-12)
    for i, share in enumerate(shares):
        w = width * share * scale
        body += f'<rect class="part part-{i % 6}" x="{x:.2f}" y="0" width="{max(w - 1.5, 0.5):.2f}" height="22"/>'
        x += w
    body += f'<rect class="part rest" x="{x:.2f}" y="0" width="{max(width - x, 0):.2f}" height="22"/>'
    return _svg(width, 22, label, body, "parts", stretched=True)


def histogram(synthetic: Sequence[float], real: Sequence[float] | None, label: str) -> Markup:
    """Synthetic shares as bars; real ones, where there are any, as a line over them."""
    width, height = 240.0, 92.0
    top = max([*synthetic, *(real or ()), 1e-9])
    step = width / len(synthetic)
    body = "".join(
        f'<rect class="made" x="{i * step + 0.5:.2f}" y="{height * (1 - s / top):.2f}" width="{step - 1:.2f}" '
        f'height="{height * s / top:.2f}"/>'
        for i, s in enumerate(synthetic)
    )
    if real:
        path = "".join(
            f"{'L' if i else 'M'}{i * step:.2f} {height * (1 - r / top):.2f}H{(i + 1) * step:.2f}"
            for i, r in enumerate(real)
        )
        body += f'<path class="real" d="{path}"/>'
    body += f'<path class="base" d="M0 {height}h{width}"/>'
    return _svg(width, height + 1, label, body, "histogram")


def dots(values: Sequence[tuple[str, float | None]], low: float, high: float, label: str) -> Markup:
    """Scores of one row on a common scale: (class of the dot, value)."""
    width = 240.0
    body = f'<path class="base" d="M0 9h{width}"/>'
    for kind, value in values:
        if value is None or not math.isfinite(value):
            continue
        x = width * min(max((value - low) / (high - low), 0), 1)
        if kind == "real":
            body += f'<path class="dot-real" d="M{x:.1f} 1v16"/>'
        elif kind == "inside":
            body += f'<circle class="dot-inside" cx="{x:.1f}" cy="9" r="4.2"/>'
        else:
            body += f'<circle class="dot-made" cx="{x:.1f}" cy="9" r="5"/>'
    return _svg(width, 18, label, body, "dots")


def heatmap(matrix: np.ndarray, label: str) -> Markup:
    """A correlation matrix: warm is positive, cool is negative, strength is opacity."""
    n = len(matrix)
    cell = 220 / n
    body = ""
    for i in range(n):
        for j in range(n):
            value = float(matrix[i, j])
            if i == j or not math.isfinite(value):
                body += f'<rect class="blank" x="{j * cell:.2f}" y="{i * cell:.2f}" width="{cell:.2f}" height="{cell:.2f}"/>'
                continue
            kind = "warm" if value > 0 else "cool"
            body += (
                f'<rect class="{kind}" x="{j * cell:.2f}" y="{i * cell:.2f}" width="{cell - 0.5:.2f}" height="{cell - 0.5:.2f}" '
                f'fill-opacity="{min(abs(value), 1):.2f}"/>'
            )
    return _svg(220, 220, label, body, "heatmap")


def picture(pixels: np.ndarray) -> str:
    """A data URI with the PNG of an (h, w) or (h, w, 3) array of 0..255; nothing is fetched to show it."""
    image = np.ascontiguousarray(pixels, dtype=np.uint8)
    h, w = image.shape[:2]
    rows = b"".join(b"\0" + image[i].tobytes() for i in range(h))

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", w, h, 8, 0 if image.ndim == 2 else 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(png).decode()


def grid(images: np.ndarray, across: int = 10) -> np.ndarray:
    """Images side by side with a thin gap, as one picture of 0..255."""
    pixels = np.asarray(images)
    if pixels.dtype != np.uint8:
        pixels = np.clip(np.nan_to_num(pixels.astype(float)) * 255, 0, 255).round().astype(np.uint8)
    n, h, w = pixels.shape[:3]
    down = -(-n // across)
    sheet = np.full((down * (h + 1) - 1, across * (w + 1) - 1, *pixels.shape[3:]), 128, dtype=np.uint8)
    for i in range(n):
        y, x = (i // across) * (h + 1), (i % across) * (w + 1)
        sheet[y : y + h, x : x + w] = pixels[i]
    return sheet
