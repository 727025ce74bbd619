"""The figure of the schemes that were compared."""

import pandas as pd
import plotly.graph_objects as go

from hetcal.figures import PALETTE, draw, scatter, wrapped_text, zero_line

LINE = 44  # characters that fit below a name in a narrow window
LINE_HEIGHT = 13  # pixels


def candidate_figure(candidates: pd.DataFrame, measure: str = "AUC") -> go.Figure:
    """Draw the lift of every candidate with its interval, the simplest at the top.

    Parameters
    ----------
    candidates : DataFrame
        As in `hetcal.choice.Choice`.
    measure : str
        What the lift is measured in.
    """
    traces = []
    for chosen, name in ((False, "not chosen"), (True, "chosen")):
        shown = candidates[candidates["chosen"] == chosen]
        trace = scatter(
            x=shown["lift"],
            y=shown["name"],
            error_x={"array": shown["high"] - shown["lift"], "thickness": 2},
            customdata=shown[["words", "low", "high", "rows"]],
            mode="markers",
            name=name,
            marker={
                "size": 11,
                "color": PALETTE["after" if chosen else "quiet"],
                "symbol": "diamond" if chosen else "circle",
            },
            hovertemplate="%{customdata[0]}<br>lift %{x:+.4f} "
            + measure
            + "<br>95 % interval %{customdata[1]:+.4f} to %{customdata[2]:+.4f}"
            "<br>n = %{customdata[3]:,}<extra>%{y}</extra>",
        )
        traces.append(trace)
    names = candidates["name"].tolist()
    words = [wrapped_text(each, LINE) for each in candidates["words"]]
    row = 27 + LINE_HEIGHT * max(1 + each.count("<br>") for each in words)
    labels = [
        f'{name}<br><span style="font-size:10px">{each}</span>'
        for name, each in zip(names, words, strict=True)
    ]
    order = {"categoryorder": "array", "categoryarray": names[::-1]}
    return draw(
        traces,
        110 + row * len(names),
        x={"title": f"lift in {measure}, cross-fitted", "tickformat": ".6~f"},
        y={**order, "tickvals": names, "ticktext": labels},
        shapes=[zero_line()],
    )
