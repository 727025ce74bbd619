"""Arrays beside a table: what is read of them, and what is refused before it is read."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hetcal.data import array_files
from hetcal.data.array_files import (
    open_array,
    other_range,
    require_rows,
    with_embeddings,
    write_rows,
)
from hetcal.data.reading import Source
from hetcal.errors import TableError

IMAGES = np.random.default_rng(0).integers(0, 256, (40, 4, 3, 1)).astype(np.uint8)


def saved(path, values):
    np.save(path, values)
    return path


def refusal(path, wanted="image"):
    with pytest.raises(TableError) as error:
        open_array(path, wanted, path.parent)
    return str(error.value)


def test_an_array_says_its_shape_type_and_range(tmp_path):
    found = open_array(saved(tmp_path / "x.npy", IMAGES), "image", tmp_path)
    assert (found.shape, found.dtype) == ((40, 4, 3, 1), "uint8")
    assert (found.low, found.high) == (IMAGES.min(), IMAGES.max())
    assert found.words == f"4 × 3 × 1 of uint8, from {IMAGES.min()} to {IMAGES.max()}"


def test_an_array_with_an_archive_behind_it_is_only_an_array(tmp_path):
    np.savez(tmp_path / "packed.npz", image=IMAGES[:7])
    both = saved(tmp_path / "x.npy", IMAGES)
    both.write_bytes(both.read_bytes() + (tmp_path / "packed.npz").read_bytes())
    assert open_array(both, "image", tmp_path).shape == IMAGES.shape


def test_a_range_is_that_of_finite_numbers_in_every_block(tmp_path, monkeypatch):
    values = np.linspace(-3, 5, 600).reshape(200, 3)
    values[7, 0], values[9, 1] = np.nan, np.inf
    monkeypatch.setattr(array_files, "_BLOCK", 64)
    found = open_array(saved(tmp_path / "x.npy", values), "x", tmp_path)
    assert (found.low, found.high) == (-3, 5)


def test_packed_arrays_and_lists_are_the_same_numbers(tmp_path):
    np.savez(tmp_path / "several.npz", image=IMAGES, other=IMAGES[:, 0])
    np.savez_compressed(tmp_path / "one.npz", anything=IMAGES)
    flat = IMAGES.reshape(40, 12)
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), 12)
    columns = {"image": IMAGES.tolist(), "fixed": fixed, "n": list(range(40))}
    pq.write_table(pa.table(columns), tmp_path / "lists.parquet", row_group_size=7)
    for file, wanted, expected in (
        ("several.npz", "image", IMAGES),
        ("one.npz", "image", IMAGES),
        ("lists.parquet", "image", IMAGES),
        ("lists.parquet", "fixed", flat),
    ):
        found = open_array(tmp_path / file, wanted, tmp_path)
        assert np.array_equal(np.load(found.path), expected), (file, wanted)
    assert "2 arrays: 'image', 'other'; none is called 'x'" in refusal(
        tmp_path / "several.npz", "x"
    )
    assert "2 columns of lists: 'image', 'fixed'" in refusal(tmp_path / "lists.parquet", "x")


def test_what_is_no_array_of_numbers_is_refused_in_words(tmp_path):
    objects = saved(tmp_path / "objects.npy", np.array([[1], [2, 3]], dtype=object))
    assert "Python objects, which are never opened" in refusal(objects)
    whole = saved(tmp_path / "whole.npy", IMAGES).read_bytes()
    (tmp_path / "cut.npy").write_bytes(whole[:-1])
    assert "ends before its last row" in refusal(tmp_path / "cut.npy")
    (tmp_path / "text.npy").write_text("a,b\n1,2\n")
    assert "beginning is not that of a .npy file" in refusal(tmp_path / "text.npy")
    assert "<U1" in refusal(saved(tmp_path / "words.npy", np.array([["a"], ["b"]])))
    assert "the shape (40,)" in refusal(saved(tmp_path / "flat.npy", IMAGES[:, 0, 0, 0]))
    assert "There is no array" in refusal(tmp_path / "none.npy")
    np.savez(tmp_path / "x.npz", image=IMAGES)
    packed = bytearray((tmp_path / "x.npz").read_bytes())
    packed[200] ^= 255
    (tmp_path / "x.npz").write_bytes(packed)
    assert "cannot be read to its end" in refusal(tmp_path / "x.npz")


def test_a_header_that_promises_too_much_is_refused_before_it_is_read(tmp_path):
    for number, shape in enumerate(((2**40, 2**20), (0, 3), (-1, 3), (2,) * 7)):
        path = tmp_path / f"{number}.npy"
        with path.open("wb") as file:
            header = {"descr": "<f8", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
        assert ("GiB" if number == 0 else "has the shape") in refusal(path)
    np.savez_compressed(tmp_path / "bomb.npz", image=np.zeros((300, 2**20), np.uint8))
    assert "takes 0.3 GiB" in refusal(tmp_path / "bomb.npz")


def test_lists_of_different_lengths_are_refused_with_their_row(tmp_path):
    pq.write_table(pa.table({"x": [[1, 2], [3, 4], [5]]}), tmp_path / "x.parquet")
    assert "see row 3" in refusal(tmp_path / "x.parquet")
    pq.write_table(pa.table({"x": [[1.0, None]]}), tmp_path / "y.parquet")
    assert "missing values" in refusal(tmp_path / "y.parquet")
    pq.write_table(pa.table({"x": [["a"]]}), tmp_path / "z.parquet")
    assert "not numbers" in refusal(tmp_path / "z.parquet")
    pq.write_table(pa.table({"x": [1]}), tmp_path / "plain.parquet")
    assert "holds 0 columns of lists" in refusal(tmp_path / "plain.parquet")


def test_another_number_of_rows_is_refused_with_both_numbers(tmp_path):
    found = open_array(saved(tmp_path / "x.npy", IMAGES), "image", tmp_path)
    with pytest.raises(TableError, match=r"'x\.npy' has 40 rows, and the table has 41"):
        require_rows(found, 41)


def test_new_rows_of_another_range_are_pointed_out(tmp_path):
    old = open_array(saved(tmp_path / "old.npy", IMAGES), "image", tmp_path)
    new = open_array(saved(tmp_path / "new.npy", IMAGES / 255), "image", tmp_path)
    assert "'new.npy' go from 0 to 1, those of the run went from 0 to 25" in other_range(old, new)
    assert other_range(new, old) is not None
    dim = open_array(saved(tmp_path / "dim.npy", IMAGES // 3), "image", tmp_path)
    assert other_range(old, dim) is None


@pytest.mark.parametrize("dtype", [">u2", "f8", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_are_written_in_any_order_shape_and_scale(tmp_path, dtype, order):
    values = np.asarray(IMAGES.astype(dtype), order=order)
    found = open_array(saved(tmp_path / "x.npy", values), "image", tmp_path)
    rows = np.array([5, 0, 39, 5])
    write_rows(found, rows, (12,), 1.0, tmp_path / "same.npy")
    written = np.load(tmp_path / "same.npy")
    assert written.dtype.isnative
    assert np.array_equal(written, values[rows].reshape(4, 12))
    write_rows(found, rows, (4, 3, 1), 255.0, tmp_path / "scaled.npy")
    scaled = values[rows] / np.array(255, "f8" if dtype == "f8" else "f4")
    assert np.load(tmp_path / "scaled.npy") == pytest.approx(scaled, abs=1e-7)


def test_embeddings_become_columns_beside_those_of_the_table(tmp_path):
    values = np.random.default_rng(1).normal(size=(5, 3))
    found = open_array(saved(tmp_path / "e.npy", values), "embeddings", tmp_path)
    source = Source(pd.DataFrame({"y": range(5)}), "digest", (), None)
    joined = with_embeddings(source, found)
    names = ["embedding_0", "embedding_1", "embedding_2"]
    assert list(joined.frame.columns) == ["y", *names]
    assert joined.frame[names].to_numpy() == pytest.approx(values)
    assert joined.digest != source.digest
    with pytest.raises(TableError, match="already has a column 'embedding_0'"):
        with_embeddings(joined, found)
