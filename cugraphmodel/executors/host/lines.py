"""Source lines of machine code, from the debug information that the check mode compiles in.

Reads version 4 of the DWARF format: "DWARF Debugging Information Format, Version 4" (2010),
section 6.2, in a 64-bit little-endian ELF file.
"""

from __future__ import annotations

import bisect
import functools
import struct
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["locate"]

Row = tuple[int, str, int]
"""Address, file, line."""


def locate(library: Path, address: int) -> tuple[str, int] | None:
    """File and line of the instruction at an offset into a library, as ``#line`` named them.

    None where the library does not say: code of the C library, or no debug information.
    """
    rows = _rows(library)
    position = bisect.bisect_right(rows, address, key=lambda row: row[0]) - 1
    if position < 0 or rows[position][2] == 0:
        return None
    return rows[position][1], rows[position][2]


@functools.lru_cache(maxsize=16)
def _rows(library: Path) -> list[Row]:
    """All rows by address; line 0 ends a run of code."""
    data = _section(library.read_bytes(), b".debug_line")
    rows: list[Row] = []
    position = 0
    while position < len(data):
        (length,) = struct.unpack_from("<I", data, position)
        rows += _Program(data[position + 4 : position + 4 + length]).rows()
        position += 4 + length
    return sorted(rows, key=lambda row: (row[0], row[2] != 0))


def _section(elf: bytes, name: bytes) -> bytes:
    """A section's bytes, empty if there is none.

    Offsets: "ELF-64 Object File Format", version 1.5, figures 2 and 5.
    """
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    entry_bytes, count, names_index = struct.unpack_from("<HHH", elf, 0x3A)

    def header(index: int) -> tuple[int, int, int]:
        at = table + index * entry_bytes
        (name_offset,) = struct.unpack_from("<I", elf, at)
        offset, size = struct.unpack_from("<QQ", elf, at + 0x18)
        return name_offset, offset, size

    _, names, _ = header(names_index)
    for index in range(count):
        name_offset, offset, size = header(index)
        start = names + name_offset
        if elf[start : elf.index(0, start)] == name:
            return elf[offset : offset + size]
    return b""


@dataclass
class _Reader:
    data: bytes
    position: int = 0

    def number(self, layout: str) -> int:
        (value,) = struct.unpack_from(f"<{layout}", self.data, self.position)
        self.position += struct.calcsize(f"<{layout}")
        return int(value)

    def leb128(self, *, signed: bool = False) -> int:
        """A number of variable length (section 7.6 of the standard)."""
        value = shift = 0
        while True:
            byte = self.number("B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value

    def string(self) -> str:
        end = self.data.index(0, self.position)
        text = self.data[self.position : end].decode(errors="replace")
        self.position = end + 1
        return text


@dataclass
class _State:
    address: int = 0
    file: int = 1
    line: int = 1


@dataclass
class _Program:
    """One line-number program, from after its length on."""

    data: bytes
    files: list[str] = field(default_factory=list)

    def rows(self) -> list[Row]:
        """Run the program."""
        reader = _Reader(self.data)
        version = reader.number("H")
        if version != 4:  # of the C library's start-up code, which no kernel calls
            return []
        program = reader.number("I") + reader.position
        self.minimum_step, _, _ = (reader.number("B") for _ in range(3))
        self.line_base, self.line_range = reader.number("b"), reader.number("B")
        self.opcode_base = reader.number("B")
        self.operand_counts = [reader.number("B") for _ in range(self.opcode_base - 1)]
        self._read_files(reader)
        reader.position = program
        state = _State()
        rows: list[Row] = []
        while reader.position < len(self.data):
            self._step(reader, state, rows)
        return rows

    def _read_files(self, reader: _Reader) -> None:
        folders = [""]
        while folder := reader.string():
            folders.append(folder)
        while name := reader.string():
            folder = folders[reader.leb128()]
            reader.leb128()  # time of change
            reader.leb128()  # size
            self.files.append(f"{folder}/{name}" if folder else name)

    def _step(self, reader: _Reader, state: _State, rows: list[Row]) -> None:
        opcode = reader.number("B")
        if opcode >= self.opcode_base:  # special: advances both and adds a row
            steps, lines = divmod(opcode - self.opcode_base, self.line_range)
            state.address += steps * self.minimum_step
            state.line += self.line_base + lines
            self._add(state, rows)
        elif opcode == 0:
            self._extended(reader, state, rows)
        elif opcode == 1:  # copy
            self._add(state, rows)
        elif opcode == 2:  # advance_pc
            state.address += reader.leb128() * self.minimum_step
        elif opcode == 3:  # advance_line
            state.line += reader.leb128(signed=True)
        elif opcode == 4:  # set_file
            state.file = reader.leb128()
        elif opcode == 8:  # const_add_pc
            state.address += (255 - self.opcode_base) // self.line_range * self.minimum_step
        elif opcode == 9:  # fixed_advance_pc
            state.address += reader.number("H")
        else:  # says nothing of lines
            for _ in range(self.operand_counts[opcode - 1]):
                reader.leb128()

    def _extended(self, reader: _Reader, state: _State, rows: list[Row]) -> None:
        end = reader.leb128() + reader.position
        opcode = reader.number("B")
        if opcode == 1:  # end_sequence
            rows.append((state.address, "", 0))
            state.address, state.file, state.line = 0, 1, 1
        elif opcode == 2:  # set_address
            state.address = reader.number("Q")
        reader.position = end

    def _add(self, state: _State, rows: list[Row]) -> None:
        rows.append((state.address, self.files[state.file - 1], state.line))
