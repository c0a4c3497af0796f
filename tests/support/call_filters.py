"""Filters of system calls: those that a process is under, and what one answers."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Sequence

Filter = Sequence[tuple[int, int, int, int]]
ALLOWED = 0x7FFF0000
_SEIZE, _INTERRUPT, _DETACH, _GET_FILTER = 0x4206, 0x4207, 17, 0x420C
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long] * 4
_libc.ptrace.restype = ctypes.c_long


def read(code: bytes) -> Filter:
    """The instructions of a filter as the kernel takes them."""
    return [struct.unpack_from("=HBBI", code, place) for place in range(0, len(code), 8)]


def filters_of(process: int) -> list[Filter]:
    """What a process is under. It is held for a moment. Raises `OSError`, without rights for example."""
    _ptrace(_SEIZE, process)
    try:
        _ptrace(_INTERRUPT, process)
        os.waitpid(process, 0x40000000)
        found: list[Filter] = []
        while True:
            try:
                count = _ptrace(_GET_FILTER, process, len(found))
            except FileNotFoundError:
                return found
            code = ctypes.create_string_buffer(8 * count)
            _ptrace(_GET_FILTER, process, len(found), ctypes.addressof(code))
            found.append(read(code.raw))
    finally:
        _ptrace(_DETACH, process)


def answer(filters: Sequence[Filter], convention: int, number: int, *arguments: int) -> int:
    """What a call gets: that of the filter which refuses it, else `ALLOWED`."""
    data = struct.pack("=IIQ6Q", number, convention, 0, *arguments, *[0] * (6 - len(arguments)))
    return next((found for one in filters if (found := _run(one, data)) != ALLOWED), ALLOWED)


def _run(code: Filter, data: bytes) -> int:
    value = place = 0
    while True:
        kind, yes, no, constant = code[place]
        place += 1
        if kind == 0x06:  # answer
            return constant
        if kind == 0x20:  # load
            (value,) = struct.unpack_from("=I", data, constant)
        elif kind == 0x54:  # and
            value &= constant
        elif kind == 0x05:  # jump
            place += constant
        else:
            tests = {0x15: value == constant, 0x25: value > constant, 0x35: value >= constant}
            place += yes if tests[kind] else no


def _ptrace(*arguments: int) -> int:
    found: int = _libc.ptrace(*arguments, *[0] * (4 - len(arguments)))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found
