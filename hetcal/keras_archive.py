"""Equal networks as equal bytes."""

import json
import zipfile
from pathlib import Path
from typing import Any

_EPOCH = (1980, 1, 1, 0, 0, 0)


def settle(path: Path) -> None:
    """Rewrite a `.keras` file without what changes from run to run.

    That is the date of saving and the memory addresses by which Keras tells
    shared objects apart; these become 1, 2, 3 in order of appearance.
    """
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    metadata = json.loads(members["metadata.json"])
    metadata.pop("date_saved", None)
    members["metadata.json"] = json.dumps(metadata).encode()
    config = json.loads(members["config.json"])
    _number_shared_objects(config, {})
    members["config.json"] = json.dumps(config).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(members):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), members[name])


def _number_shared_objects(value: Any, known: dict[int, int]) -> None:
    if isinstance(value, dict):
        if "shared_object_id" in value:
            old = value["shared_object_id"]
            value["shared_object_id"] = known.setdefault(old, len(known) + 1)
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            _number_shared_objects(each, known)
