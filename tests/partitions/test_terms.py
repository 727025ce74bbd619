import json

import numpy as np
import pandas as pd
import pytest

from hetcal.errors import PartitionError
from hetcal.partitions.nodes import Feature
from hetcal.partitions.terms import Axis, Curve, Pair, Terms, read_terms, terms_fields
from hetcal.strict_json import JsonError, parse_object

NONE = np.empty(0)
AGE = Axis(Feature("age", "number", whole=True), np.array([20.0, 40.0, 65.0]), NONE.astype(int))
JOB = Axis(Feature("job", "category", ("clerk", "cook", "none")), NONE, np.array([1, 0, 1]))
X = pd.DataFrame(
    {
        "age": [19.0, 20.0, 20.5, 65.0, 66.0, np.nan, np.inf, -np.inf],
        "job": ["clerk", "cook", "none", "pilot", None, "cook", "clerk", "none"],
    }
)
AGE_ENTRY, JOB_ENTRY = [0, 0, 1, 2, 3, 4, 3, 0], [1, 0, 1, 2, 3, 0, 1, 1]


def curve(axis, seed=0):
    rng = np.random.default_rng(seed)
    size = axis.entries
    return Curve(axis, rng.normal(size=size), rng.random(size), rng.integers(0, 90, size))


def pair(first, second, seed=0):
    rng = np.random.default_rng(seed)
    size = first.entries, second.entries
    return Pair(first, second, rng.normal(size=size), rng.random(size), rng.integers(0, 9, size))


@pytest.fixture(scope="module")
def terms():
    return Terms((curve(AGE, 1), pair(AGE, JOB, 2), curve(JOB, 3)))


def test_a_value_is_in_the_entry_up_to_the_next_cut_and_missing_ones_have_the_last():
    assert AGE.place(X).tolist() == AGE_ENTRY


def test_unseen_categories_are_other_and_missing_ones_come_last():
    assert JOB.place(X).tolist() == JOB_ENTRY


def test_entries_have_words():
    assert AGE.labels == ("up to 20", "20 to 40", "40 to 65", "above 65", "missing")
    assert JOB.labels == ("cook", "clerk, none", "other", "missing")
    nothing = Axis(Feature("flat", "number"), NONE, NONE.astype(int))
    assert nothing.labels == ("any value", "missing")
    for axis in (AGE, JOB, nothing):
        assert len(axis.labels) == axis.entries


def test_what_terms_add_is_read_off_their_tables(terms):
    age, both, job = terms.terms
    expected = [
        (age.values[i], both.values[i, j], job.values[j])
        for i, j in zip(AGE_ENTRY, JOB_ENTRY, strict=True)
    ]
    assert np.array_equal(terms.values(X), expected)
    assert terms.total(X) == pytest.approx(np.sum(expected, axis=1), abs=1e-14)
    assert terms.scaled(-2.0).total(X) == pytest.approx(-2 * terms.total(X), abs=1e-14)
    assert (terms.scaled(-2.0).terms[0].error == 2 * age.error).all()


def test_no_terms_add_nothing():
    assert Terms().total(X).tolist() == [0.0] * len(X)
    assert Terms().values(X).shape == (len(X), 0)
    assert (Terms().carrying, Terms().numbers) == (0, 0)


def test_names_features_and_numbers_are_counted(terms):
    assert terms.names == ("age", "age × job", "job")
    assert terms.features == (AGE.feature, JOB.feature)
    assert terms.numbers == 5 + 5 * 4 + 4
    assert ([*terms.curves], [*terms.pairs]) == ([*terms.terms[::2]], [terms.terms[1]])


def test_importance_is_the_deviation_over_the_training_rows(terms):
    for term, found in zip(terms.terms, terms.importance, strict=True):
        drawn = np.repeat(term.values.ravel(), term.rows.ravel())
        assert found == pytest.approx(drawn.std(), rel=1e-12)


def test_terms_that_carry_are_the_fewest_with_95_percent_of_the_variance():
    def swing(size):
        rows = np.array([1, 1, 0, 0])
        return Curve(JOB, size * np.array([1.0, -1.0, 0, 0]), np.zeros(4), rows)

    # variances 9, 4, 0.6 and 0.4: of 14 in all, 95 % are 13.3
    sizes = np.sqrt([0.4, 9.0, 0.6, 4.0])
    assert Terms(tuple(map(swing, sizes))).carrying == 3
    assert Terms(tuple(map(swing, sizes[[1, 3]]))).carrying == 2
    assert Terms((swing(10.0), swing(1.0))).carrying == 1


def through_json(terms):
    return read_terms(parse_object(json.dumps(terms_fields(terms))))


def test_json_gives_back_every_bit_but_of_errors_three_digits(terms):
    again = through_json(terms)
    assert np.array_equal(again.values(X), terms.values(X))
    assert terms_fields(again) == terms_fields(terms)
    for one, other in zip(again.terms, terms.terms, strict=True):
        assert np.array_equal(one.rows, other.rows)
        assert [axis.labels for axis in one.axes] == [axis.labels for axis in other.axes]
        assert one.error == pytest.approx(other.error, rel=0.005)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(more=1),
        lambda content: content["features"].pop(),
        lambda content: content["features"][0].update(kind="category"),
        lambda content: content["terms"][0].update(axes=[]),
        lambda content: content["terms"][0].update(axes=3 * content["terms"][0]["axes"]),
        lambda content: content["terms"][0].update(values=[1.0]),
        lambda content: content["terms"][0]["values"].append(0.0),
        lambda content: content["terms"][0]["values"].__setitem__(0, None),
        lambda content: content["terms"][0]["values"].__setitem__(0, "1"),
        lambda content: content["terms"][0]["error"].pop(),
        lambda content: content["terms"][0]["rows"].__setitem__(0, -1),
        lambda content: content["terms"][0]["rows"].__setitem__(0, 0.5),
        lambda content: content["terms"][0]["axes"][0].update(feature=-1),
        lambda content: content["terms"][0]["axes"][0].update(feature=2),
        lambda content: content["terms"][0]["axes"][0].update(cuts=[40.0, 20.0, 65.0]),
        lambda content: content["terms"][0]["axes"][0].update(cuts=[20.0, 20.0, 65.0]),
        lambda content: content["terms"][0]["axes"][0].update(groups=[0]),
        lambda content: content["terms"][2]["axes"][0].update(cuts=[1.0]),
        lambda content: content["terms"][2]["axes"][0].update(groups=[0, 1]),
        lambda content: content["terms"][2]["axes"][0].update(groups=[0, 2, 2]),
        lambda content: content["terms"][2]["axes"][0].update(groups=[0, 10**9, 1]),
        lambda content: content["terms"][1].pop("axes"),
        lambda content: content["terms"].append(3),
    ],
)
def test_json_that_is_no_terms_is_refused(terms, change):
    content = json.loads(json.dumps(terms_fields(terms)))
    change(content)
    with pytest.raises((PartitionError, JsonError)):
        read_terms(parse_object(json.dumps(content)))


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(wrong):
    good = curve(JOB)
    with pytest.raises(PartitionError, match="not finite"):
        Curve(JOB, np.full(4, wrong), good.error, good.rows)
    with pytest.raises(PartitionError, match="not finite"):
        Curve(JOB, good.values, np.full(4, wrong), good.rows)


def test_a_term_of_too_many_entries_is_refused(monkeypatch):
    monkeypatch.setattr("hetcal.partitions.terms.MOST_ENTRIES", 19)
    with pytest.raises(PartitionError, match="too many entries"):
        pair(AGE, JOB)


def test_a_column_that_is_not_there_is_refused(terms):
    with pytest.raises(PartitionError, match="job"):
        terms.total(X[["age"]])
