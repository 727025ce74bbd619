"""Artifacts with changed entries, sealed as if hetcal had written them so."""

import io
import zipfile

from hetcal.artifacts.archive import zipped
from hetcal.artifacts.seal import DIGESTS, sealed


def changed(data, name, change):
    """The same artifact with one entry changed, or dropped where the change gives None."""
    with zipfile.ZipFile(io.BytesIO(data)) as old:
        entries = {each: old.read(each) for each in old.namelist() if each != DIGESTS}
    if name in entries:
        entries[name] = change(entries[name])
    return zipped(sealed({each: held for each, held in entries.items() if held is not None}))


def repacked(data, **changes):
    """The same artifact with entries replaced, by their names without ending; None drops one."""
    with zipfile.ZipFile(io.BytesIO(data)) as old:
        names = {each.split(".")[0]: each for each in old.namelist()}
    for name, content in changes.items():
        data = changed(data, names.get(name, name), lambda _, content=content: content)
    return data
