"""Image files that a column of the table names, decoded in a child process into an array.

Paths are below one folder that the user names, and lead through no links, or in one zip. This
process reads bytes only; what they mean is up to the child, which is shut in as for models.
"""

import os
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hetcal.data.array_files import MOST_BYTES, ArrayFile, in_axes, open_array
from hetcal.digests import bytes_digest
from hetcal.errors import ModelError, TableError
from hetcal.files import write_file
from hetcal.models.child import Child, Report, read_bytes
from hetcal.models.config import ModelInput
from hetcal.models.process import new_directory
from hetcal.models.sandbox import Limits

MOST_FILE_BYTES = 32 * 2**20
MOST_DECODED = MOST_BYTES // 4
_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
_TOO_LARGE = "it is no file, or one of more than 32 MB"
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def takes_images(spec: ModelInput) -> bool:
    """Whether an input takes images of one size, grey or in colours."""
    shape = spec.shape or ()
    return len(shape) == 3 and shape[2] in (1, 3) and None not in shape


def decode_images(paths: pd.Series, images: Path, spec: ModelInput, unpacked: Path) -> ArrayFile:
    """Decode the image of every row into an array of bytes from 0 to 255, put into `unpacked`.

    `images` is the folder or the zip in which the paths lead to PNG and JPEG files.
    """
    shape = spec.shape or ()
    if not takes_images(spec):
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
        ends = _gather([str(each) for each in paths], images, directory / "images_bytes")
        request = {"ends": ends, "shape": whole, "names": [str(each) for each in paths]}
        child = Child("decode", request, directory, _limits(ends[-1], whole))
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    try:
        content = read_bytes(child.finish() / "decoded.npy", MOST_DECODED + 2**12)
    finally:
        child.close()
    place = unpacked / f"{bytes_digest(content)}.npy"
    write_file(place, content)
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


def _gather(names: Sequence[str], images: Path, place: Path) -> list[int]:
    """Write the bytes of all files one after another; return where each ends."""
    root = images.expanduser().resolve()
    if not root.is_file():
        return _write(names, partial(_of_folder, root), place)
    try:
        with zipfile.ZipFile(root) as archive:
            return _write(names, partial(_of_zip, archive, _members(archive)), place)
    except zipfile.BadZipFile as error:
        raise TableError(
            f"'{images.name}' is neither a folder nor a zip that can be read.",
            "Image files are in a folder, or in one zip.",
            "Name the folder, or pack the files again.",
        ) from error


def _write(names: Sequence[str], read: Callable[[str, int], bytes], place: Path) -> list[int]:
    ends, end = [], 0
    with place.open("wb") as out:
        for row, name in enumerate(names):
            content = read(name, row)
            if not content.startswith((_PNG, _JPEG)):
                raise _refused(name, row, "it is neither PNG nor JPEG")
            end += out.write(content)
            ends.append(end)
            if end > MOST_DECODED:
                raise _refused(name, row, "all files together are too large")
    return ends


def _of_folder(root: Path, name: str, row: int) -> bytes:
    path = root / name
    if Path(name).is_absolute() or ".." in Path(name).parts or not name:
        raise _refused(name, row, "it is no path below the folder of images")
    try:
        if path.resolve(strict=True) != path:
            raise _refused(name, row, "it leads through a link")
        with open(path, "rb", opener=lambda name, _: os.open(name, _FLAGS)) as file:
            about = os.fstat(file.fileno())
            if not stat.S_ISREG(about.st_mode) or about.st_size > MOST_FILE_BYTES:
                raise _refused(name, row, _TOO_LARGE)
            return file.read(MOST_FILE_BYTES)
    except (OSError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        raise _refused(name, row, "there is no such file that can be read") from error


def _of_zip(archive: zipfile.ZipFile, members: Mapping[str, str], name: str, row: int) -> bytes:
    """Read a member; its size in the zip's index may lie, so never more than a file may have."""
    try:
        with archive.open(members[name]) as file:
            content = file.read(MOST_FILE_BYTES + 1)
    except (KeyError, OSError, ValueError, EOFError, zlib.error, NotImplementedError) as error:
        raise _refused(name, row, "there is no such file that can be read") from error
    except (zipfile.BadZipFile, RuntimeError) as error:  # damaged, or with a password
        raise _refused(name, row, "it is damaged or encrypted in its zip") from error
    if len(content) > MOST_FILE_BYTES:
        raise _refused(name, row, _TOO_LARGE)
    return content


def _members(archive: zipfile.ZipFile) -> dict[str, str]:
    """Return the members by their paths, also without the folder that all of them are in."""
    names = archive.namelist()
    tops = {name.partition("/")[0] for name in names} - {"__MACOSX"}
    inside = {name.partition("/")[2]: name for name in names if len(tops) == 1}
    return inside | {name: name for name in names}


def _refused(name: str, row: int, why: str) -> TableError:
    return TableError(
        f"The image '{name[:120]}' of row {row + 1:,} cannot be used: {why}.",
        "Each row names a PNG or JPEG file by its path from the folder or zip of images.",
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
