from hetcal.calibrators.leaf_calibrator import LeafMap
from hetcal.calibrators.shapes import Affine
from hetcal.partitions.partition import fallback_words


def with_reasons(*reasons):
    return [LeafMap(i, Affine(1.0, 0.0), 9, 4, reason) for i, reason in enumerate(reasons, 1)]


def test_leaves_without_a_map_of_their_own_are_named_once_for_each_reason():
    maps = with_reasons("few rows", None, "one class", "few rows", "few rows")
    assert fallback_words(maps) == "leaves 1, 4, 5 (few rows); leaf 3 (one class)"


def test_leaves_with_maps_of_their_own_need_no_words():
    assert fallback_words(with_reasons(None, None)) == ""
