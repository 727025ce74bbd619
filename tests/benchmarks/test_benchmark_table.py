from dataclasses import replace

from hetcal.benchmarks.benchmark import ContenderResult, ModelResult
from hetcal.benchmarks.tables import NOTES, data_set_table, model_table, summary_table


def result(name, training_seconds=None, **contenders):
    """Contenders by name, each with AUC, z and seconds."""
    made = (
        ContenderResult(key.replace("_", " "), auc, log_loss=0.4, z=z, seconds=seconds)
        for key, (auc, z, seconds) in contenders.items()
    )
    return ModelResult(name, 5222, training_seconds, tuple(made))


ONE = result(
    "one",
    network=(0.75, 0, 0.0),
    tree=(0.74, -2.5, 0.1),
    auto=(0.76, 3.1, 30),
    boosted_trees=(0.7605, 2, 2),
)
TWO = result(
    "two",
    training_seconds=5,
    network=(0.80, 0, 0.0),
    tree=(0.83, 6, 0.3),
    auto=(0.82, 2.1, 10),
    boosted_trees=(0.8206, 1.9, 2),
)


def test_a_model_has_a_line_for_each_contender():
    first, headings, *lines = model_table(TWO).strip().splitlines()
    assert first == "two: 5,222 test rows, trained in 2.5 ×"
    assert headings.split() == ["scheme", "AUC", "lift", "z", "log", "loss", "time"]
    assert [line.split() for line in lines] == [
        ["network", "0.8000", "0.4000"],
        ["one", "tree", "0.8300", "+0.0300", "+6.0", "0.4000", "0.15", "×"],
        ["recommended", "scheme", "0.8200", "+0.0200", "+2.1", "0.4000", "5.0", "×"],
        ["boosted", "trees", "0.8206", "+0.0206", "+1.9", "0.4000", "1.0", "×"],
    ]


def test_the_columns_of_all_lines_end_below_their_headings():
    _, headings, *lines = model_table(TWO).strip().splitlines()
    assert {len(line) for line in (headings, *lines[1:])} == {len(headings)}
    assert lines[0].index("0.8000") + 6 == headings.index("AUC") + 3


def test_a_model_that_was_not_trained_here_has_no_training_time():
    assert model_table(ONE).strip().splitlines()[0] == "one: 5,222 test rows"


def test_the_summary_counts_harm_and_compares_auto_with_each_contender():
    counted, _, *lines = summary_table([ONE, TWO]).strip().splitlines()
    assert counted == "2 models"
    assert lines[4:] == list(NOTES)
    assert [line.split() for line in lines[:4]] == [
        ["network", "2", "100", "%"],
        ["one", "tree", "2", "+0.0100", "1", "1", "50", "%", "0.1", "×"],  # (-0.01 + 0.03) / 2
        ["recommended", "scheme", "2", "+0.0150", "0", "2", "10.0", "×"],
        # Behind by 0.0005, which still counts as good, and by 0.0006, which does not.
        ["boosted", "trees", "2", "+0.0155", "0", "1", "50", "%", "1.0", "×"],
    ]


def test_contenders_that_were_measured_in_some_models_are_counted_there():
    short = ModelResult("short", 10, None, ONE.contenders[:1])
    lines = summary_table([short, TWO]).splitlines()
    assert [line.split()[:2] for line in lines[3:5]] == [["network", "2"], ["one", "tree"]]


def test_a_summary_without_auto_and_without_a_unit_leaves_their_columns_empty():
    bare = ModelResult("bare", 10, None, ONE.contenders[:2])
    lines = summary_table([bare]).strip().splitlines()
    assert lines[0] == "1 model"
    assert lines[3].split() == ["one", "tree", "1", "-0.0100", "1", "0"]


def test_networks_of_one_data_set_count_once():
    results = [
        replace(each, model=name)
        for each, name in ((ONE, "bank-a"), (TWO, "bank-b"), (TWO, "higgs-a"))
    ]
    headings, *lines = data_set_table(results).strip().splitlines()
    assert headings.split() == ["median", "lift", "bank", "higgs", "median"]
    assert [line.split() for line in lines[:2]] == [
        ["one", "tree", "+0.0100", "+0.0300", "+0.0200"],  # -0.01 and 0.03; 0.03; their mean
        ["recommended", "scheme", "+0.0150", "+0.0200", "+0.0175"],
    ]
