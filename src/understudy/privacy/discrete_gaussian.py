"""Many exact discrete Gaussian samples at once: Pr[k] ~ exp(-k^2 / (2 sigma^2)), with no rounding in it.

Rejection from a staircase (von Neumann 1951). With blocks of m >= sigma sqrt(2 ln 2) whole numbers, block i is proposed with
chance 2^-(i+1), a place j within it evenly, and k = i m + j is accepted with chance

    p = 2^i exp(-k^2 / (2 sigma^2)),    at most 1, because i ln 2 <= (i m)^2 / (2 sigma^2) for every whole i;

then a fair sign, and no second zero. So each k has the chance that it should have, in proportion. Blocks, places and signs
are random bits, used as they are. "With chance p" compares p with a uniform number, of which 53 bits are drawn; where those are
too close to p for floating point to tell, decimals of as many digits as it takes are compared with as many bits as it takes (as
for Gumbel noise in OpenDP). A machine's rounding therefore decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
RandomBytes = Callable[[int], bytes]

# Slightly more than sqrt(2 ln 2) = 1.17741, so that rounding cannot make a block too narrow.
_BLOCK = 1.1775
# In blocks below the 64th p is wrong by less than this: unless p is below it too, its logarithm is a difference of two numbers
# below 2^7, each of which is right but for its last digits.
_UNSURE = 2.0**-36
_FARTHEST = 64
_BITS = 53
_BATCH = 1 << 16


def draw(sigma: float, size: int, random_bytes: RandomBytes) -> Ints:
    """`size` samples; `random_bytes` are independent fair bits. About 0.2 microseconds each."""
    found: list[Ints] = []
    missing = size
    while missing > 0:
        some = _accepted(sigma, min(2 * missing + 64, _BATCH), random_bytes)[:missing]
        found.append(some)
        missing -= len(some)
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def _accepted(sigma: float, proposals: int, random_bytes: RandomBytes, unsure: float = _UNSURE) -> Ints:
    """The samples among so many proposals; about half of them."""
    width = max(math.ceil(sigma * _BLOCK), 1)
    block = _leading(proposals, random_bytes)
    place, word = _words(proposals, random_bytes), _words(proposals, random_bytes)
    even = place <= np.uint64(2**64 // width * width - 1)
    place = (place % np.uint64(width)).astype(np.int64)
    uniform, negative = word >> np.uint64(64 - _BITS), (word & np.uint64(1)).astype(bool)
    size = block * width + place
    with np.errstate(over="ignore"):
        ratio = size / sigma
        chance = np.exp(np.minimum(block * math.log(2) - ratio * ratio / 2, 0.0))
    low = uniform.astype(np.float64) * 2.0**-_BITS
    taken = low + 2.0**-_BITS <= chance - unsure
    for at in np.flatnonzero(~taken & ((low < chance + unsure) | (block >= _FARTHEST))):
        taken[at] = _below(
            int(uniform[at]), int(block[at]), int(block[at]) * width + int(place[at]), sigma, random_bytes
        )
    kept = taken & even & ~(negative & (size == 0))
    return np.where(negative, -size, size)[kept]


def _words(size: int, random_bytes: RandomBytes) -> Words:
    return np.frombuffer(random_bytes(8 * size), dtype=np.uint64)


def _leading(size: int, random_bytes: RandomBytes) -> Ints:
    """How many zero bits come before the first one: i with chance 2^-(i+1)."""
    word = _words(size, random_bytes)
    zeros = np.bitwise_count(~word & (word - np.uint64(1))).astype(np.int64)
    more = np.flatnonzero(word == 0)
    if len(more):
        zeros[more] += _leading(len(more), random_bytes)
    return zeros


def _below(uniform: int, block: int, size: int, sigma: float, random_bytes: RandomBytes) -> bool:
    """Whether a uniform number that begins with these bits is below p, in exact arithmetic."""
    if size == 0:
        return True  # p is one
    bits, digits, scale = _BITS, 40, Decimal(sigma)
    while True:
        context = Context(prec=digits, rounding=ROUND_HALF_EVEN, Emin=-(10**9), Emax=10**9)
        exponent = context.divide(Decimal(-(size**2)), context.multiply(context.multiply(2, scale), scale))
        # Products and quotients are right but for their last digit, and so is `exp`: ten digits are more than they lose.
        chance = Fraction(context.exp(exponent)) * 2**block
        slack = chance * Fraction(math.ceil(exponent.copy_abs()) + 1, 10 ** (digits - 10))
        if Fraction(uniform + 1, 2**bits) <= chance - slack:
            return True
        if Fraction(uniform, 2**bits) >= chance + slack:
            return False
        uniform = (uniform << 64) | int.from_bytes(random_bytes(8), "little")
        bits, digits = bits + 64, digits + 20
