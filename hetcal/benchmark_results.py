"""The results of the benchmark, saved as one JSON line per model so that it can be continued."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from hetcal.errors import HetcalError
from hetcal.strict_json import Fields, JsonError, parse_object


@dataclass(frozen=True)
class ContenderResult:
    """One contender on the test rows of one model.

    Parameters
    ----------
    name : str
        The contender.
    auc, log_loss : float
        Of the test rows.
    z : float
        Paired DeLong test against the network.
    seconds : float
        Time to fit and to score the test rows.
    """

    name: str
    auc: float
    log_loss: float
    z: float
    seconds: float


@dataclass(frozen=True)
class ModelResult:
    """All contenders on one model; `training_seconds` is None if it was not trained here."""

    model: str
    test_rows: int
    training_seconds: float | None
    contenders: tuple[ContenderResult, ...]

    def contender(self, name: str) -> ContenderResult | None:
        """Return the contender of this name, None if it was not measured."""
        return next((each for each in self.contenders if each.name == name), None)


def read_results(path: Path) -> dict[str, ModelResult]:
    """Read saved results by model; the last line of a model counts, an incomplete line does not."""
    found: dict[str, ModelResult] = {}
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    for number, line in enumerate(lines, start=1):
        try:
            result = _parse(parse_object(line))
        except JsonError as error:
            raise HetcalError(
                f"Line {number:,} of '{path}' is not a result of the benchmark: {error}.",
                "A file that is continued may hold nothing else.",
                "Name another file, or remove the line.",
            ) from error
        found[result.model] = result
    return found


def append_result(path: Path, result: ModelResult) -> None:
    """Add a line to saved results, in place of an incomplete one."""
    with path.open("ab") as file:
        file.truncate(path.read_bytes().rfind(b"\n") + 1)
        fields = asdict(result)
        fields["ways"] = fields.pop("contenders")  # their name in files since the first one
        file.write(json.dumps(fields).encode() + b"\n")


def _parse(fields: Fields) -> ModelResult:
    seconds = None
    if not fields.is_null("training_seconds"):
        seconds = fields.number("training_seconds", 0)
    contenders = tuple(
        ContenderResult(
            each.text("name"),
            auc=each.number("auc", 0, 1),
            log_loss=each.number("log_loss", 0),
            z=each.number("z"),
            seconds=each.number("seconds", 0),
        )
        for each in fields.objects("ways")
    )
    rows = fields.integer("test_rows", 1, 2**62)
    return ModelResult(fields.text("model"), rows, seconds, contenders)
