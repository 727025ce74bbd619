"""The file of options that `run --config` reads, and that a run writes into its folder.

Every value is read as the same words on the command line would be, so both refuse the same.
"""

import argparse
import csv
import io
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hetcal.cli.output import array_in, is_path
from hetcal.errors import HetcalError, did_you_mean

PLACES: dict[str, tuple[str, ...]] = {
    "score": (
        "model",
        "inputs",
        "scale",
        "array",
        "array_scale",
        "images",
        "image_column",
        "output",
        "positive_unit",
        "layer",
    ),
    "model": ("score", "score_kind"),
    "split": ("fractions", "split_by_time"),
    "fractions": ("split",),
    "split_by_time": ("split",),
}
"""By option, those that it takes the place of: what the command line names wins over the file."""


def with_file(
    given: dict[str, Any], known: Sequence[str], parser: argparse.ArgumentParser
) -> dict[str, Any]:
    """Add the options of the file that is named by `config` to those of the command line.

    `known` names all options, and `parser` reads them.
    """
    path = Path(given["config"]).expanduser()
    found = read_config(path, [name for name in known if name != "config"], parser)
    taken = {other for name in given for other in PLACES.get(name, ())}
    kept = {name: value for name, value in found.items() if name not in taken}
    own = {name: value for name, value in given.items() if name != "config"}
    return kept | own


def read_config(
    path: Path, known: Sequence[str], parser: argparse.ArgumentParser
) -> dict[str, Any]:
    """Read the options of a file; those that are not `known` are refused."""
    folder, words, table = path.parent.absolute(), [], []
    for key, value in _content(path).items():
        name = key.replace("-", "_")
        if name not in known or "_" in key:
            raise _unknown(path, key, [each.replace("_", "-") for each in known])
        if value is False:
            continue
        if name == "array":
            listed = value if isinstance(value, list) else [value]
            value = [
                array_in(str(each), lambda at: str(folder / at.expanduser())) for each in listed
            ]
        text = None if value is True else _in_folder(name, _text(path, key, value), folder)
        if name == "table":
            table = [str(text)]  # absolute, so that it does not begin like an option
        else:
            words.append(f"--{key}" if text is None else f"--{key}={text}")
    found = vars(parser.parse_args([*words, *table]))
    return {name: value for name, value in found.items() if value is not None}


def _content(path: Path) -> dict[str, Any]:
    try:
        # Names of files need not be UTF-8.
        return tomllib.loads(path.read_bytes().decode("utf-8", "surrogateescape"))
    except tomllib.TOMLDecodeError as error:
        raise HetcalError(
            f"The file '{path}' is not TOML: {error}.",
            'It has a line for each option, such as label = "churned" or max-depth = 3.',
            "Correct it, or take the run.toml that a run wrote into its folder.",
        ) from None


def _text(path: Path, key: str, value: object) -> str:
    """Write a value as on the command line."""
    if isinstance(value, str | int | float):
        return str(value)
    if not isinstance(value, list) or not all(isinstance(v, str | int | float) for v in value):
        raise HetcalError(
            f"The option '{key}' in '{path}' is neither text, nor a number, true or false, nor a "
            "list of texts or numbers.",
            "Every option has one value, as on the command line.",
            'Write it like label = "churned", max-depth = 3 or ignore = ["name", "phone"].',
        )
    line = io.StringIO()
    csv.writer(line).writerow(map(str, value))
    return line.getvalue().removesuffix("\r\n")


def _in_folder(name: str, text: str, folder: Path) -> str:
    """Find the file that an option names from the folder of the file of options."""
    if name == "inputs" and text.startswith("@"):
        return f"@{folder / Path(text[1:]).expanduser()}"
    return str(folder / Path(text).expanduser()) if is_path(name, text) else text


def _unknown(path: Path, key: str, known: Sequence[str]) -> HetcalError:
    return HetcalError(
        f"There is no option '{key}' for '{path}' to set.",
        "It sets options of `run` by their long names, without the two dashes.",
        did_you_mean(key.replace("_", "-"), known, "`python -m hetcal run --help` lists them."),
    )
