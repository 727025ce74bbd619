"""The seal of an artifact: a digest of every member and, with a key, a signature over them.

Digests tell damage. Only a signature (HMAC-SHA256) tells who wrote it: someone who has the key.
"""

import hashlib
import hmac
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

from hetcal.artifacts.archive import LARGEST_MODEL, LARGEST_SKETCH, read_entry
from hetcal.digests import BLOCK, bytes_digest
from hetcal.errors import ArtifactError
from hetcal.strict_json import JsonError, parse_object

DIGESTS, SIGNATURE = "digests.json", "signature"
LARGEST = LARGEST_MODEL + 4 * LARGEST_SKETCH
SHORTEST_KEY = 16  # bytes


def read_key(path: Path) -> bytes:
    """Read the key of a signature: all bytes of a file."""
    try:
        key = path.expanduser().read_bytes()
    except OSError as error:
        raise _key_refused(path, f"cannot be read ({error.strerror})") from error
    if len(key) < SHORTEST_KEY:
        raise _key_refused(path, f"has {len(key)} bytes")
    return key


def sealed(entries: Mapping[str, bytes], key: bytes | None = None) -> dict[str, bytes]:
    """Add the digests of all entries and, with a key, a signature over them."""
    digests = {name: bytes_digest(content) for name, content in entries.items()}
    listed = json.dumps(digests, indent=1).encode()
    signature = {} if key is None else {SIGNATURE: _signed(listed, key)}
    return {**entries, DIGESTS: listed, **signature}


def check_seal(archive: zipfile.ZipFile, key: bytes | None = None) -> bool:
    """Refuse members that are not as they were written; with a key, what it has not signed.

    Returns whether there is a seal: artifacts before format 3 have none.
    """
    names = archive.namelist()
    if key is not None:
        _check_signature(archive, key)
    if len(set(names)) < len(names):
        raise JsonError("it has an entry twice")
    if DIGESTS not in names:
        return False
    digests = parse_object(read_entry(archive, DIGESTS))
    if set(names) - {DIGESTS, SIGNATURE} != set(digests.names):
        raise JsonError("it has not the entries that it was written with")
    if sum(each.file_size for each in archive.infolist()) > LARGEST:
        raise JsonError(f"it unpacks to more than {LARGEST // 2**20:,} MB")
    for name in digests.names:
        if _digest(archive, name) != digests.text(name):
            raise JsonError(f"its entry {name!r} is not as it was written")
    return True


def _check_signature(archive: zipfile.ZipFile, key: bytes) -> None:
    if not {DIGESTS, SIGNATURE} <= set(archive.namelist()):
        raise ArtifactError(
            "The artifact is not signed.",
            "With a key only artifacts are taken that were signed with it.",
            "Ask whoever wrote it for a signed one (hetcal run --sign KEYFILE).",
        )
    expected = _signed(read_entry(archive, DIGESTS), key)
    if not hmac.compare_digest(read_entry(archive, SIGNATURE), expected):
        raise ArtifactError(
            "The artifact was signed with another key, or it was changed since.",
            "With a key only artifacts are taken that were signed with it.",
            "Check the key file, or ask whoever wrote the artifact for it again.",
        )


def _signed(listed: bytes, key: bytes) -> bytes:
    return hmac.new(key, listed, "sha256").hexdigest().encode()


def _digest(archive: zipfile.ZipFile, name: str) -> str:
    digest = hashlib.sha256()
    with archive.open(name) as entry:
        while block := entry.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _key_refused(path: Path, why: str) -> ArtifactError:
    return ArtifactError(
        f"The key file '{path}' {why}.",
        f"A key is a file of at least {SHORTEST_KEY} bytes that nobody else can read or guess.",
        "Name another file, or make one with: openssl rand -out KEYFILE 32",
    )
