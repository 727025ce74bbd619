import pandas as pd

from hetcal.figures.training import training_figure

HISTORY = pd.DataFrame(
    {"epoch": [1, 2, 3], "train_auc": [0.7, 0.8, 0.9], "validation_auc": [0.7, 0.75, 0.72]}
)


def test_both_areas_are_drawn_after_each_epoch():
    train, validation, kept = training_figure(HISTORY, best_epoch=2).data
    assert (list(train.x), list(train.y)) == ([1, 2, 3], [0.7, 0.8, 0.9])
    assert list(validation.y) == [0.7, 0.75, 0.72]
    assert (train.line.dash, validation.line.dash) == ("dash", "solid")
    assert (list(kept.x), list(kept.y), kept.name) == ([2], [0.75], "kept")


def test_axes_and_hover_name_what_is_shown():
    figure = training_figure(HISTORY)
    assert [each.name for each in figure.data] == ["train", "validation"]
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("epoch", "AUC")
    assert figure.data[1].hovertemplate.startswith("epoch %{x}<br>validation AUC %{y:.4f}")


def test_training_that_has_not_begun_is_an_empty_plot():
    assert [len(each.x) for each in training_figure(HISTORY[:0]).data] == [0, 0]
