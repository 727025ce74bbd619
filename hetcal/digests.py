"""Digests: equal content gives equal text."""

import hashlib
from pathlib import Path

import pandas as pd

from hetcal.progress import Progress, silent

BLOCK = 2**25  # bytes at a time


def file_digest(path: Path, progress: Progress = silent) -> str:
    """SHA-256 of a file's content, in hexadecimal."""
    digest, size = hashlib.sha256(), max(path.stat().st_size, 1)
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
            progress(min(file.tell() / size, 1.0), "Taking the fingerprint of the file")
    return digest.hexdigest()


def frame_digest(frame: pd.DataFrame) -> str:
    """SHA-256 of the names and values of a table, in hexadecimal; the index does not matter."""
    digest = hashlib.sha256(repr(list(frame.columns)).encode())
    for i in range(frame.shape[1]):
        column = frame.iloc[:, i]
        digest.update(str(column.dtype).encode())
        digest.update(pd.util.hash_pandas_object(column, index=False).to_numpy().tobytes())
    return digest.hexdigest()


def text_digest(text: str) -> str:
    """SHA-256 of a text, in hexadecimal."""
    return bytes_digest(text.encode())


def bytes_digest(content: bytes) -> str:
    """SHA-256 of bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()
