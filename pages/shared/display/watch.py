"""What a check of newer rows has found."""

import streamlit as st

from hetcal.figures.watch import watch_figure
from hetcal.partitions.partition import Partition
from hetcal.watch.check import Checked, Labelled
from pages.shared.display.columns import WATCHED, WATCHED_MOVES
from pages.shared.display.messages import plain, without_options
from pages.shared.display.tables import draw_table
from pages.shared.display.widgets import cards, chart, definitions, shown

MOVED = {
    "leaves": "shares of the leaves",
    "scores": "scores",
    "labels": "positive labels",
    "missing": "missing values",
    "unknown": "rare or unseen categories",
}
# Columns that are named after rates are written in percent.
SHARES = {
    "rate": "rate_new",
    "expected": "rate_expected",
    "expected_reference": "rate_expected_reference",
}
TOO_FEW = "not tested: fewer than about 5 rows of a class are expected, here or in the run"


def show_check(checked: Checked, partition: Partition) -> None:
    """Draw the answer, then what it rests on."""
    say, icon = (st.success, "check") if checked.passed else (st.warning, "warning")
    say(plain(without_options(checked.verdict)), icon=f":material/{icon}:")
    st.markdown("\n".join(f"- {plain(each)}" for each in checked.reasons))
    if checked.labelled is not None:
        _show_labelled(checked, checked.labelled, partition)
    st.subheader("Have the rows moved?", anchor=False)
    moved = checked.moved.assign(what=checked.moved["what"].map(MOVED))
    sides = {name: _counts_or_shares(checked, name) for name in ("reference", "new")}
    draw_table(moved.assign(**sides), WATCHED_MOVES)
    for each in checked.notes:
        st.caption(plain(each))
    definitions("Stability index", "Corrected p-value")


def _show_labelled(checked: Checked, found: Labelled, partition: Partition) -> None:
    lift = found.lift
    cards(
        ("Labelled rows", f"{found.rows:,}"),
        ("Lift", shown(lift.auc, "+.4f"), "AUC after minus before, on these rows"),
        (
            "AUC of the model",
            shown(found.auc, ".4f"),
            "Of its own scores, on these rows",
            f"{found.auc_reference:.4f} on the test rows",
        ),
        ("Calibration error", shown(found.error, ".4f"), "Without the bias of sampling noise"),
    )
    st.subheader("Do the maps still hold?", anchor=False)
    chart(
        watch_figure(found.leaves, found.changed, partition.names),
        key="watch_leaves",
        alt="For all rows and each leaf: the share of positive labels, and the mean probability",
        how="Where a filled mark lies right of its ring, more labels are positive than was "
        "expected. Leaves in bold have changed.",
    )
    leaves = found.leaves.rename(columns=SHARES)
    leaves = leaves.assign(rule=leaves["leaf"].map(checked.rules))
    draw_table(leaves, WATCHED, TOO_FEW, marked=found.changed)


def _counts_or_shares(checked: Checked, name: str) -> list[str]:
    """Write the rows whose leaves and scores are compared, and the other shares in percent."""
    of_rows, values = checked.moved["what"].isin(["leaves", "scores"]), checked.moved[name]
    return [
        f"{value:,.0f} rows" if rows else f"{value:.1%}"
        for rows, value in zip(of_rows, values, strict=True)
    ]
