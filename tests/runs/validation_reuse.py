"""What validation rows do to schemes: ``python -m tests.runs.validation_reuse [scheme, …]``.

For saved networks that chose their epoch on validation rows, in the folder that HETCAL_DATA names,
prints how much better each looks on them than on calibration rows (z of the AUC and the finding's
level), and the lift on test rows of schemes that are fitted with and without validation rows.
"""

import sys

import numpy as np
from sklearn.metrics import roc_auc_score

from hetcal import Roles, Settings, make_table, run
from hetcal.benchmarks.data import DATA_SETS, read_data_set
from hetcal.data.scores import make_scores
from tests.shared_data import shared_data


def main(*schemes: str) -> None:
    """Print one line for each network and scheme, then the means."""
    lifts = {scheme: [] for scheme in schemes}
    for data_set in DATA_SETS:
        read = read_data_set(data_set, shared_data() / "data")
        for path in sorted((shared_data() / "cases").glob(f"{data_set.name}-*-best-*.npz")):
            saved = np.load(path)
            y, logits, role = saved["y"], saved["s"].astype(np.float64), saved["split"]
            frame = read.X.assign(label=y, role=role)
            roles = Roles("label", positive="1", split="role", assume_group=False)
            table, scores = make_table(frame, roles), make_scores(logits, "", digest=path.stem)
            areas = [
                roc_auc_score(y[role == each], logits[role == each]) for each in ("val", "cal")
            ]
            for scheme in schemes:
                finished = [
                    run(table, scores, Settings(partition=scheme, use_validation=used))
                    for used in (True, False)
                ]
                (told,) = [e for e in finished[0].findings if e.code == "validation-reused"]
                lift = [each.evaluation.lift for each in finished]
                lifts[scheme].append([each.auc for each in lift])
                sys.stdout.write(
                    f"{path.stem:44s} {scheme:8s} validation {areas[0]:.4f} calibration "
                    f"{areas[1]:.4f} {told.level:7s} with {lift[0].auc:+.4f} (z {lift[0].z:+.1f}) "
                    f"without {lift[1].auc:+.4f} (z {lift[1].z:+.1f})\n"
                )
                sys.stdout.flush()
    for scheme, found in lifts.items():
        used, unused = np.array(found).T
        sys.stdout.write(
            f"{scheme}: median lift {np.median(used):.4f} with and {np.median(unused):.4f} without "
            f"validation rows; better with them for {int((used > unused).sum())} of {used.size}\n"
        )


if __name__ == "__main__":
    main(*(sys.argv[1:] or ("forest", "boosted")))
