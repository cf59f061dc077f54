"""Writes the arrays that fit, evaluate and predict take as .npy files for the workers."""

import glob
import itertools
import math
import os
import typing

import keras
import numpy as np

from cairn.errors import CairnError, NotSupported

# Of a dataset, which is read before the job starts.
_MOST_BYTES = 4 << 30


def is_files(value):
    """True for a file name or pattern, and for a list of them."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(is_files(each) for each in value)
    return isinstance(value, (str, os.PathLike))


def _as_array(what, value, takes_text):
    if is_files(value):
        return value
    if hasattr(value, "numpy") and not isinstance(value, np.ndarray):
        value = value.numpy()
    kind = type(value)
    if kind.__module__.split(".")[0] in ("tensorflow", "torch", "keras") or callable(value) or \
            hasattr(value, "__next__"):
        raise NotSupported(f"{what} is a {kind.__name__}: the workers read the data themselves; "
                           f"give arrays, or the names of .npy files")
    array = np.asarray(value)
    if array.dtype.kind == "f":
        return array.astype(np.float32, copy=False)
    if takes_text and array.dtype.kind in "USO":
        return array
    if array.dtype.kind not in "iub":
        advice = "; texts need a layer that looks them up (TextVectorization, StringLookup) as " \
            "the first one" if array.dtype.kind in "USO" else ""
        raise NotSupported(f"{what} is an array of {array.dtype}; a job takes numbers{advice}")
    return array


class Batches(typing.NamedTuple):
    """What a dataset has yielded. y and sample_weight may be None."""

    x: object
    y: object
    sample_weight: object
    batch_size: int
    shuffled: bool  # The dataset is in a new order each time it is read.


def _is_dataset(value):
    return isinstance(value, keras.utils.PyDataset) or hasattr(value, "as_numpy_iterator") or \
        hasattr(value, "__next__")


def _is_shuffled(dataset):
    """Whether a tf.data.Dataset has a shuffle in it."""
    return "Shuffle" in type(dataset).__name__ or any(map(_is_shuffled, dataset._inputs()))


def _iterate(dataset):
    """(iterator over the batches, their number: infinite, or None if it is not known)"""
    if isinstance(dataset, keras.utils.PyDataset):
        count = dataset.num_batches
        numbers = itertools.count() if count is None else range(count)
        return (dataset[i] for i in numbers), math.inf if count is None else count
    if hasattr(dataset, "as_numpy_iterator"):
        count = int(dataset.cardinality())
        return dataset.as_numpy_iterator(), {-1: math.inf, -2: None}.get(count, count)
    return dataset, None


def join(parts):
    """The parts one after the other; shorter examples get zeros at their end, as by padded_batch."""
    shapes = [part.shape[1:] for part in parts]
    if len(set(shapes)) > 1 and len(set(map(len, shapes))) == 1:
        longest = tuple(map(max, zip(*shapes)))
        parts = [pad(part, longest) for part in parts]
    return np.concatenate(parts)


def pad(array, shape):
    """The array with zeros behind each example, up to `shape`."""
    missing = [(0, size - there) for size, there in zip(shape, array.shape[1:])]
    return np.pad(array, [(0, 0), *missing])


def from_batches(what, value, steps=None, needs="steps"):
    """The Batches of a dataset; None if `value` is not one.

    The dataset is a keras.utils.PyDataset, a tf.data.Dataset of batches, or a generator of batches.
    steps: of a dataset without an end or of an unknown size so many batches are read. needs: what
    fit calls this number.
    """
    if not _is_dataset(value):
        return None
    iterator, count = _iterate(value)
    if count == math.inf and steps is None:
        raise NotSupported(f"{what} is a dataset without an end: it needs {needs}")
    is_finite = count is not None and count != math.inf
    batches, size = [], 0
    for batch in itertools.islice(iterator, None if is_finite else steps):
        batch = batch if isinstance(batch, tuple) else \
            tuple(batch) if isinstance(batch, list) and hasattr(value, "__next__") else (batch,)
        batch = keras.tree.map_structure(
            lambda each: keras.ops.convert_to_numpy(each) if hasattr(each, "numpy") else
            np.asarray(each), batch)
        size += sum(each.nbytes for each in keras.tree.flatten(batch))
        if size > _MOST_BYTES:
            raise NotSupported(f"{what} is a dataset of more than {_MOST_BYTES >> 30} GiB, all of "
                               f"which is read before the job; write .npy files, which the workers "
                               f"read, or give a smaller {needs}")
        batches.append(batch)
    if not batches or len(batches[0]) > 3:
        raise NotSupported(f"{what} is a dataset that is empty, or whose batches are not "
                           f"(x, y, sample_weight)")
    flat = [keras.tree.flatten(batch) for batch in batches]
    if any(each.ndim == 0 for each in flat[0]):
        raise NotSupported(f"{what} is a dataset of examples, not of batches: use "
                           f"dataset.batch(batch_size)")
    sizes = [len(batch[0]) for batch in flat]
    # batch().repeat() has a small batch at the end of each pass; the job fills it with the next one.
    is_regular = all(size == sizes[0] for size in sizes[:-1]) and sizes[-1] <= sizes[0]
    if count != math.inf and not is_regular:
        raise NotSupported(f"{what} is a dataset with batches of different sizes; all but the last "
                           f"must be equal")
    try:
        columns = keras.tree.map_structure(lambda *parts: join(parts), *batches)
    except ValueError as error:
        raise NotSupported(f"{what} is not a dataset of batches: {error}") from error
    # The order is new in each epoch only if the whole dataset was read.
    shuffled = hasattr(value, "as_numpy_iterator") and _is_shuffled(value) and (
        is_finite or steps is None or len(batches) < steps or
        count is None and next(iterator, None) is None)
    return Batches(*columns, *[None] * (3 - len(columns)), max(sizes), shuffled)


def as_arrays(what, value, names, takes_text=lambda position: False):
    """A list with the array, or the file, of each of the model's inputs or outputs.

    takes_text: whether the input at this position may have texts.
    """
    if isinstance(value, dict):
        missing = [name for name in names if name not in value]
        if missing:
            raise NotSupported(f"{what} has no entry {missing[0]!r}")
        value = [value[name] for name in names]
    elif not isinstance(value, (list, tuple)) or (
            len(names) == 1 and (is_files(value) or not hasattr(value[0], "shape"))):
        # One array, one list of numbers, or several files with the rows of one input.
        value = [value]
    if len(value) != len(names):
        raise NotSupported(f"{what} has {len(value)} arrays, the model has {len(names)}")
    return [_as_array(what, each, takes_text(i)) for i, each in enumerate(value)]


def shape_of(array):
    """Shape of an array or of the first file; the number of examples is that of all files."""
    if not is_files(array):
        return array.shape
    shapes = [each.shape for each in _opened(array)]
    return (sum(shape[0] for shape in shapes), *shapes[0][1:])


def first_row(array):
    """The first example of an array or of the first file, as an array of one."""
    return np.asarray((_opened(array)[0] if is_files(array) else array)[:1])


def _opened(files):
    """The arrays in files, which are read where they are used."""
    files = files if isinstance(files, (list, tuple)) else [files]
    names = [name for each in files for name in sorted(glob.glob(str(each))) or [str(each)]]
    try:
        return [np.load(name, mmap_mode="r") for name in names]
    except (OSError, ValueError) as error:
        raise CairnError(f"cannot read {names[0]}: {error}") from error


def split(arrays, fraction):
    """(the first part, the last `fraction`) of arrays, as Keras's validation_split."""
    at = int(math.floor(len(arrays[0]) * (1.0 - fraction)))
    return [each[:at] for each in arrays], [each[at:] for each in arrays]


class DataFolder:
    """The folder that the workers see under the same path.

    folder: None if there is none; then only files can be used, not arrays.
    """

    def __init__(self, folder):
        self.folder = os.path.abspath(folder) if folder else None

    def write(self, folder, name, array):
        """The absolute file name, or names, of an array that is written to `folder`."""
        if is_files(array):
            if isinstance(array, (list, tuple)):
                return [os.path.abspath(each) for each in array]
            return os.path.abspath(array)
        if self.folder is None:
            raise CairnError("arrays must be written where the workers see them: use "
                             "cairn.connect(..., data=FOLDER) with a folder that has the same path "
                             "on each worker's machine, or give the names of files")
        path = os.path.join(folder, name + ".npy")
        np.save(path, np.ascontiguousarray(array))
        return path
