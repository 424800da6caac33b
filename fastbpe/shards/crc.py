"""CRC-32 of files, as zlib has it, also where their beginning is known only when the rest is written; and of JSON.

It finds what happens by mistake: whatever damages one stretch of up to four bytes, and all but one in 2^32 of all else.
It is no defence against a file made to look the same, and takes next to no time beside encoding, unlike SHA-256.
"""

import json
from typing import Any, BinaryIO

from isal import isal_zlib

POLYNOMIAL = 0xEDB88320
READ_BYTES = 1 << 18

crc32 = isal_zlib.crc32


def shown(crc: int) -> str:
    """As a manifest has it."""
    return f"{crc:08x}"


def crc32_of_values(values: dict[str, Any]) -> str:
    """CRC-32, as a manifest has it, of what JSON says of the values in their order."""
    return shown(crc32(json.dumps(values).encode()))


def crc32_of_file(file: BinaryIO) -> int:
    """CRC-32 of what is left to read in an unbuffered file."""
    crc = 0
    buffer = memoryview(bytearray(READ_BYTES))
    while n := file.readinto(buffer):  # type: ignore[attr-defined]
        crc = crc32(buffer[:n], crc)
    return crc


def crc32_joined(first: int, second: int, n_second: int) -> int:
    """CRC-32 of two stretches of bytes, one after the other, by those of each and how long the second one is.

    A CRC is a polynomial over GF(2), the highest bit for x^0; bytes that follow multiply it by x^8 each.
    """
    return _times(_power(8 * n_second), first) ^ second


def _times(a: int, b: int) -> int:
    """a * b modulo the polynomial."""
    product = 0
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            product ^= b
        b = b >> 1 ^ POLYNOMIAL * (b & 1)
    return product


def _power(n: int) -> int:
    """x^n modulo the polynomial."""
    result, square = 1 << 31, 1 << 30
    while n:
        if n & 1:
            result = _times(result, square)
        square = _times(square, square)
        n >>= 1
    return result
