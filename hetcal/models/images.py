"""Image files that a column of the table names, decoded in a child process into an array.

Paths are below one folder that the user names, and lead through no links. This process reads
bytes only; what they mean is up to the child, which is shut in as for models.
"""

import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hetcal.data.array_files import MOST_BYTES, ArrayFile, in_axes, open_array
from hetcal.errors import ModelError, TableError
from hetcal.models.child import Child, Report, read_bytes
from hetcal.models.config import ModelInput
from hetcal.models.process import new_directory
from hetcal.models.sandbox import Limits

MOST_FILE_BYTES = 32 * 2**20
MOST_DECODED = MOST_BYTES // 4
_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def decode_images(paths: pd.Series, folder: Path, spec: ModelInput, unpacked: Path) -> ArrayFile:
    """Decode the image of every row into an array of bytes from 0 to 255, put into `unpacked`."""
    shape = spec.shape or ()
    if len(shape) != 3 or shape[2] not in (1, 3) or None in shape:
        raise ModelError(
            f"The input '{spec.name}' takes rows of {in_axes(shape) or 'one number'}.",
            "Image files feed an input of height × width × 1 or 3 colours.",
            "Give an array instead: --array NAME=FILE on the command line.",
        )
    sizes = [int(each or 0) for each in shape]
    whole = (len(paths), *sizes)
    if np.prod(whole, dtype=object) > MOST_DECODED:
        raise ModelError(
            f"The images of {len(paths):,} rows take more than {MOST_DECODED / 2**30:g} GiB.",
            "Decoded images may take that much together.",
            "Use fewer rows, or an array of --array.",
        )
    directory = new_directory()
    try:
        ends = _gather([str(each) for each in paths], folder, directory / "images_bytes")
        request = {"ends": ends, "shape": whole, "names": [str(each) for each in paths]}
        child = Child("decode", request, directory, _limits(ends[-1], whole))
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    try:
        content = read_bytes(child.finish() / "decoded.npy", MOST_DECODED + 2**12)
    finally:
        child.close()
    place = unpacked / f"{paths.name}.npy".replace("/", "_")
    place.write_bytes(content)
    found = open_array(place, spec.name, unpacked, name=f"images of {paths.name}")
    if (found.shape, found.dtype) != (whole, "uint8"):
        raise ModelError(
            "The process that decoded the images left no usable result.",
            "Every row needs an image of the model's size.",
            "Start it again, or use an array of --array.",
        )
    return found


def _limits(held: int, whole: Sequence[int]) -> Limits:
    usual, size = Limits(), int(np.prod(whole))
    return Limits(
        seconds=usual.seconds + (held + size) // 2**20,
        memory=usual.memory + 2 * held + 2 * size,
        file_bytes=max(usual.file_bytes, size + 2**12),
    )


def _gather(names: Sequence[str], folder: Path, place: Path) -> list[int]:
    """Write the bytes of all files one after another; return where each ends."""
    root, ends, end = folder.expanduser().resolve(), [], 0
    with place.open("wb") as out:
        for row, name in enumerate(names):
            content = _content(root, name, row)
            end += out.write(content)
            ends.append(end)
            if end > MOST_DECODED:
                raise _refused(name, row, "all files together are too large")
    return ends


def _content(root: Path, name: str, row: int) -> bytes:
    path = root / name
    if Path(name).is_absolute() or ".." in Path(name).parts or not name:
        raise _refused(name, row, "it is no path below the folder of images")
    try:
        if path.resolve(strict=True) != path:
            raise _refused(name, row, "it leads through a link")
        with open(path, "rb", opener=lambda name, _: os.open(name, _FLAGS)) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode) or about.st_size > MOST_FILE_BYTES:
                raise _refused(name, row, "it is no file, or one of more than 32 MB")
            content = file.read(MOST_FILE_BYTES)
    except (OSError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        raise _refused(name, row, "there is no such file that can be read") from error
    if not content.startswith((_PNG, _JPEG)):
        raise _refused(name, row, "it is neither PNG nor JPEG")
    return content


def _refused(name: str, row: int, why: str) -> TableError:
    return TableError(
        f"The image '{name[:120]}' of row {row + 1:,} cannot be used: {why}.",
        "Each row names a PNG or JPEG file by its path from the folder of --images.",
        "Correct the path or the file, or leave the row out.",
    )


def decode(request: dict[str, Any], report: Report) -> None:
    """In the child: decode all images of a request into `decoded.npy`; their sizes must fit."""
    import tensorflow as tf

    shape, start = tuple(request["shape"]), 0
    out = np.lib.format.open_memmap("decoded.npy", "w+", np.uint8, shape)
    content = Path("images_bytes").read_bytes()
    for row, (end, name) in enumerate(zip(request["ends"], request["names"], strict=True)):
        image, start = content[start:end], end
        try:
            found = _size(image, tf)
            if found != shape[1:3]:
                raise _refused(
                    name,
                    row,
                    f"it has {in_axes(found)} pixels, and the model takes {in_axes(shape[1:3])}",
                )
            values = tf.io.decode_image(image, channels=shape[3], expand_animations=False)
        except tf.errors.InvalidArgumentError as error:
            raise _refused(name, row, "it is damaged") from error
        out[row] = values.numpy()
        if row % 256 == 0:
            report({"rows_done": row, "rows": shape[0], "seconds_left": 0.0})


def _size(image: bytes, tf: Any) -> tuple[int, int]:
    """Return height and width before anything is decoded."""
    if image.startswith(_PNG):
        return int.from_bytes(image[20:24]), int.from_bytes(image[16:20])
    height, width, _ = tf.io.extract_jpeg_shape(image).numpy()
    return int(height), int(width)
