"""A zip's member, unpacked a piece at a time, whatever its compression: no piece is larger than `PIECE_BYTES`.

Python's zipfile keeps to that for what is stored or deflated, as platforms' zips are. Of bzip2 and LZMA it unpacks all
that a piece of the packed data holds at once, and a few kilobytes of a bomb hold gigabytes: they are unpacked here.
"""

from __future__ import annotations

import bz2
import copy
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, cast

PIECE_BYTES = 1 << 20
MOST_DICTIONARY_BYTES = 64 << 20  # of LZMA, taken at once: what 7-Zip takes at its highest level
_PACKED_BYTES = 1 << 16  # read from the zip at a time


def pieces(opened: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes]:
    """What a member unpacks to, in pieces; raises what zipfile and decompressors do (damaged, or of an unknown kind)."""
    if member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with opened.open(member) as source:
            while piece := source.read(PIECE_BYTES):
                yield piece
        return
    if member.compress_type not in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        raise NotImplementedError(f"it is packed by a method that is not known here ({member.compress_type})")
    crc = 0
    with opened.open(_as_stored(member)) as source:
        packed = cast(BinaryIO, source)
        decompressor = bz2.BZ2Decompressor() if member.compress_type == zipfile.ZIP_BZIP2 else _lzma(packed)
        while not decompressor.eof:
            data = packed.read(_PACKED_BYTES) if decompressor.needs_input else b""
            if not data and decompressor.needs_input:
                if isinstance(decompressor, bz2.BZ2Decompressor):
                    raise EOFError("it ends too early")
                break  # LZMA may go without a mark at its end: the checksum tells
            piece = decompressor.decompress(data, PIECE_BYTES)
            crc = zlib.crc32(piece, crc)
            yield piece
    if crc != member.CRC:
        raise zipfile.BadZipFile("its checksum is wrong")


def _as_stored(member: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """The same member as zipfile would read it if it were not packed: the packed bytes, without a checksum."""
    stored = copy.copy(member)
    stored.compress_type, stored.file_size = zipfile.ZIP_STORED, member.compress_size
    del stored.CRC
    return stored


def _lzma(packed: BinaryIO) -> lzma.LZMADecompressor:
    """A decompressor for what follows the header of such a member (APPNOTE 5.8.8): version, and LZMA's properties."""
    _, length = struct.unpack("<HH", packed.read(4))
    first, dictionary = struct.unpack("<BI", packed.read(length))
    if dictionary > MOST_DICTIONARY_BYTES:
        raise NotImplementedError(f"it wants {dictionary >> 20:,} MiB of memory to be unpacked")
    rest, lc = divmod(first, 9)
    pb, lp = divmod(rest, 5)
    properties = {"id": lzma.FILTER_LZMA1, "lc": lc, "lp": lp, "pb": pb, "dict_size": dictionary}
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[properties])
