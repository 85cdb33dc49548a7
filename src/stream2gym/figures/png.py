"""Draws figures as PNG: the PDF of a figure, rendered by PDFium (the package pypdfium2, an extra of ours)."""

from __future__ import annotations

import struct
import zlib

from stream2gym.errors import BadInput, Mistake
from stream2gym.figures.figure import Figure
from stream2gym.figures.pdf import render_pdf

# Pixels for each point of the PDF; 1/72 inch is a point, so that this is 216 dots an inch.
SCALE = 3.0


def render_png(figure: Figure, width: float = 460) -> bytes:
    """The bytes of a PNG file with the figure on white. BadInput names the package that is missing."""
    try:
        import pypdfium2
    except ImportError:
        hint = "pip install 'stream2gym[png]'; or --svg or --pdf, which need nothing"
        raise BadInput(Mistake("--png", "needs the package pypdfium2", hint)) from None
    document = pypdfium2.PdfDocument(render_pdf(figure, width))
    try:
        bitmap = document[0].render(scale=SCALE, rev_byteorder=True)
        return _encode(bytes(bitmap.buffer), bitmap.width, bitmap.height, bitmap.stride, bitmap.n_channels)
    finally:
        document.close()


def _encode(pixels: bytes, width: int, height: int, stride: int, channels: int) -> bytes:
    """A PNG file of rows of RGB or RGBA pixels."""
    rows = b"".join(b"\0" + pixels[row * stride : row * stride + width * channels] for row in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 6 if channels == 4 else 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_make_chunk(kind, data) for kind, data in chunks)


def _make_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
