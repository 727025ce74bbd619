import hashlib
import hmac
import io
import json
import zipfile

import pytest

from hetcal.artifacts.archive import opened, zipped
from hetcal.artifacts.seal import check_seal, read_key, sealed
from hetcal.errors import ArtifactError

ENTRIES = {"manifest.json": b'{"format": 3}', "class_0/test.sketch": bytes(range(256))}
KEY, OTHER = b"k" * 32, b"o" * 32


def unpacked(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def check(entries, key=None):
    with opened(zipped(entries)) as archive:
        return check_seal(archive, key)


def test_every_entry_has_its_digest_and_a_key_signs_them():
    written = sealed(ENTRIES, KEY)
    expected = {name: hashlib.sha256(each).hexdigest() for name, each in ENTRIES.items()}
    assert json.loads(written["digests.json"]) == expected
    signature = hmac.new(KEY, written["digests.json"], hashlib.sha256).hexdigest()
    assert written["signature"] == signature.encode()
    assert check(written) is check(written, KEY) is check(sealed(ENTRIES)) is True
    assert check(ENTRIES) is False


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_that_is_changed_left_out_or_added_is_named(name):
    written = sealed(ENTRIES, KEY)
    for key in (None, KEY):
        with pytest.raises(ArtifactError, match=f"its entry '{name}' is not as it was written"):
            check(written | {name: ENTRIES[name][:-1] + b"!"}, key)
        with pytest.raises(ArtifactError, match="not the entries that it was written with"):
            check({each: held for each, held in written.items() if each != name}, key)
        with pytest.raises(ArtifactError, match="not the entries that it was written with"):
            check(written | {"more.json": b""}, key)


def test_an_entry_that_is_there_twice_is_refused():
    packed = io.BytesIO(zipped(sealed(ENTRIES)))
    with zipfile.ZipFile(packed, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("manifest.json", b"{}")
    with opened(packed.getvalue()) as archive, pytest.raises(ValueError, match="an entry twice"):
        check_seal(archive)


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (ENTRIES, "is not signed"),
        (sealed(ENTRIES), "is not signed"),
        (sealed(ENTRIES, OTHER), "signed with another key, or it was changed"),
        # Whoever changes an entry can make its digest anew, but not the signature.
        (sealed(ENTRIES, KEY) | sealed({"manifest.json": b"{}"}), "or it was changed"),
    ],
)
def test_with_a_key_only_what_it_signed_is_taken(entries, words):
    with pytest.raises(ArtifactError, match=words):
        check(entries, KEY)


def test_a_key_is_a_file_that_is_not_too_short(tmp_path):
    path = tmp_path / "key"
    with pytest.raises(ArtifactError, match="cannot be read"):
        read_key(path)
    path.write_bytes(KEY[:15])
    with pytest.raises(ArtifactError, match="has 15 bytes"):
        read_key(path)
    path.write_bytes(KEY[:16])
    assert read_key(path) == KEY[:16]
