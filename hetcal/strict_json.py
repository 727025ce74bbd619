"""Read untrusted JSON: bounded, typed, no duplicate keys, finite numbers only."""

import json
import math
from typing import Any, NoReturn

MAX_TEXT = 64 * 2**20


class JsonError(ValueError):
    """The text is not the expected JSON; the message says why."""


def parse_object(text: str | bytes) -> "Fields":
    """Parse the text of one JSON object."""
    if len(text) > MAX_TEXT:
        raise JsonError(f"it is larger than {MAX_TEXT // 2**20} MB")
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        content = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    except JsonError:
        raise
    except (ValueError, RecursionError) as error:
        raise JsonError("it is not JSON text") from error
    return Fields(content, "the file")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise JsonError("it names a field twice")
    return content


def _float(value: float) -> float:
    """Convert a number; a whole number beyond all floats becomes infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _refuse(constant: str) -> NoReturn:
    raise JsonError(f"it contains the number {constant}")


class Fields:
    """Typed access to the fields of a JSON object; `where` names the object in errors."""

    def __init__(self, content: object, where: str) -> None:
        if not isinstance(content, dict):
            raise JsonError(f"{where} is not an object")
        self._content: dict[str, Any] = content
        self._where = where

    def __contains__(self, key: str) -> bool:
        return key in self._content

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the fields."""
        return tuple(self._content)

    def only(self, *keys: str) -> None:
        """Refuse any field beyond `keys`."""
        if not self._content.keys() <= set(keys):
            raise JsonError(f"{self._where} has a field that is not known")

    def text(self, key: str) -> str:
        """Return a text that can be shown."""
        return self._text(self._get(key), key)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(self._text(value, key) for value in self._list(key))

    def flag(self, key: str) -> bool:
        """Return true or false."""
        value = self._get(key)
        if not isinstance(value, bool):
            raise self._problem(key, "true or false")
        return value

    def integer(self, key: str, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`."""
        value = self._get(key)
        if type(value) is not int or not low <= value <= high:
            raise self._problem(key, f"a whole number from {low} to {high}")
        return value

    def number(self, key: str, low: float = -math.inf, high: float = math.inf) -> float:
        """Return a finite number from `low` to `high`."""
        value = self._get(key)
        if type(value) not in (int, float):
            raise self._problem(key, "a number")
        number = _float(value)
        if not math.isfinite(number) or not low <= number <= high:
            raise self._problem(key, f"a finite number from {low:g} to {high:g}")
        return number

    def number_or_nan(self, key: str, low: float = -math.inf, high: float = math.inf) -> float:
        """Return the same, or NaN where there is null."""
        return math.nan if self.is_null(key) else self.number(key, low, high)

    def numbers(self, key: str) -> tuple[float, ...]:
        """Return a list of finite numbers."""
        values = self._list(key)
        if not all(type(each) in (int, float) for each in values):
            raise self._problem(key, "a list of numbers")
        found = tuple(map(_float, values))
        if not all(map(math.isfinite, found)):
            raise self._problem(key, "a list of finite numbers")
        return found

    def integers(self, key: str, low: int, high: int) -> list[int]:
        """Return a list of whole numbers from `low` to `high`."""
        values = self._list(key)
        if not all(type(value) is int and low <= value <= high for value in values):
            raise self._problem(key, f"a list of whole numbers from {low} to {high}")
        return values

    def fields(self, key: str) -> "Fields":
        """Return one object."""
        return Fields(self._get(key), repr(key))

    def content(self, key: str) -> dict[str, Any]:
        """Return an object as it is."""
        return dict(self.fields(key)._content)

    def objects(self, key: str) -> list["Fields"]:
        """Return a list of objects."""
        found = enumerate(self._list(key))
        return [Fields(value, f"{key!r} number {position}") for position, value in found]

    def is_text(self, key: str) -> bool:
        """Return whether the field is text."""
        return isinstance(self._get(key), str)

    def is_null(self, key: str) -> bool:
        """Return whether the field is null."""
        return self._get(key) is None

    def _get(self, key: str) -> Any:
        if key not in self._content:
            raise JsonError(f"{self._where} has no {key!r}")
        return self._content[key]

    def _list(self, key: str) -> list[Any]:
        value = self._get(key)
        if not isinstance(value, list):
            raise self._problem(key, "a list")
        return value

    def _text(self, value: object, key: str) -> str:
        if not isinstance(value, str):
            raise self._problem(key, "text")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:  # half of a surrogate pair breaks every display
            raise self._problem(key, "valid text") from error
        return value

    def _problem(self, key: str, expected: str) -> JsonError:
        return JsonError(f"{key!r} of {self._where} is not {expected}")
