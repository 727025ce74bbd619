"""The figure of a network in training."""

import pandas as pd
import plotly.graph_objects as go

from hetcal.figures.base import colour, draw, scatter


def training_figure(history: pd.DataFrame, best_epoch: int | None = None) -> go.Figure:
    """Draw `train_auc` and `validation_auc` after each `epoch`, and mark the best epoch."""
    traces = [
        scatter(
            x=history["epoch"].tolist(),
            y=history[f"{role}_auc"].tolist(),
            name=role,
            mode="lines+markers",
            line={
                "width": 2.5,
                "color": colour(role),
                "dash": "dash" if role == "train" else "solid",
            },
            hovertemplate=f"epoch %{{x}}<br>{role} AUC %{{y:.4f}}<extra></extra>",
        )
        for role in ("train", "validation")
    ]
    best = history[history["epoch"] == best_epoch]
    if len(best):
        kept = scatter(
            x=best["epoch"].tolist(),
            y=best["validation_auc"].tolist(),
            name="kept",
            mode="markers",
            marker={"symbol": "star", "size": 16, "color": colour("after")},
            hovertemplate="kept: epoch %{x}<br>validation AUC %{y:.4f}<extra></extra>",
        )
        traces.append(kept)
    every = 1 if len(history) <= 20 else None
    return draw(traces, 320, x={"title": "epoch", "dtick": every}, y={"title": "AUC"})
