"""Kept runs side by side: their lifts, the tests between them, one picture, what differs."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from hetcal.errors import HetcalError
from hetcal.figures.compare import compare_figure
from hetcal.results.compare import ComparedRun, RunComparison, compare_runs, difference_line
from hetcal.store.finished import compared_of
from hetcal.store.store import StoredRun
from pages.shared.display.messages import plain, show_error
from pages.shared.display.tables import draw_table
from pages.shared.display.widgets import chart

NUMBER = {"before": "%.4f", "after": "%.4f", "lift": "%+.4f", "low": "%+.4f", "high": "%+.4f"}


def choose_runs(runs: Sequence[StoredRun]) -> None:
    """Let the user choose two or more finished runs, and compare them."""
    finished = {each.id: each for each in runs if "lift" in each.about}
    if len(finished) < 2:
        return
    st.subheader("Compare runs", anchor=False)
    chosen = st.multiselect(
        "Finished runs; the others are compared with the first",
        list(finished),
        format_func=lambda number: _in_words(finished[number]),
        placeholder="choose two or more",
        key="compared_runs",
    )
    if len(chosen) < 2:
        return
    try:
        comparison = compare_runs(_named_apart([finished[each] for each in chosen]))
    except HetcalError as error:
        show_error(error)
        return
    show_comparison(comparison)


def show_comparison(comparison: RunComparison) -> None:
    """Show the runs of a comparison, the tests, the curves and the settings."""
    columns = {name: st.column_config.NumberColumn(format=each) for name, each in NUMBER.items()}
    draw_table(
        comparison.runs.drop(columns=["measure", "p"]),
        {
            "run": st.column_config.TextColumn("run"),
            "rows": st.column_config.NumberColumn("test rows", format="localized"),
            **columns,
            "log_loss_before": st.column_config.NumberColumn("log-loss before", format="%.4f"),
            "log_loss_after": st.column_config.NumberColumn("log-loss after", format="%.4f"),
        },
    )
    for each in comparison.differences.to_dict("records"):
        st.markdown(plain(difference_line(each)))
    chart(
        compare_figure(comparison),
        key="compared_curves",
        alt="ROC curves of the runs after calibration, and of the scores before",
        how="The higher the curve, the better the ranking. Dotted: the score before calibration.",
    )
    if len(comparison.settings):
        st.markdown("**Set differently**")
        table = comparison.settings.pivot(index="setting", columns="run", values="value")
        st.table(table.fillna(""))


def _in_words(run: StoredRun) -> str:
    about = run.about
    return f"{run.name}, {about.get('model')}, AUC {about['after']:.4f} ({run.id[:4]})"


def _named_apart(runs: Sequence[StoredRun]) -> list[ComparedRun]:
    """Return what is compared; runs of one name are told apart by the beginning of their ids."""
    names = [each.name for each in runs]
    return [
        replace(
            compared_of(run),
            name=run.name if names.count(run.name) == 1 else f"{run.name} ({run.id[:4]})",
        )
        for run in runs
    ]
