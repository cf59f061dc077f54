"""Writes the arrays that fit, evaluate and predict take as .npy files for the workers."""

import glob
import math
import os

import keras
import numpy as np

from cairn.errors import CairnError, NotSupported


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
            "the first one" if array.dtype.kind in "US" else ""
        raise NotSupported(f"{what} is an array of {array.dtype}; a job takes numbers{advice}")
    return array


def from_batches(what, value):
    """(x, y, sample_weight, size of a batch) of a dataset; None if `value` is not one.

    The dataset is a keras.utils.PyDataset or a tf.data.Dataset of batches, which must be finite. y
    and sample_weight may be None.
    """
    if isinstance(value, keras.utils.PyDataset):
        if value.num_batches is None:
            raise NotSupported(f"{what} is a dataset without an end: a job reads all its data once "
                               f"in each epoch")
        batches = [value[i] for i in range(value.num_batches)]
    elif hasattr(value, "as_numpy_iterator"):
        if value.cardinality() < 0:
            raise NotSupported(f"{what} is a dataset without an end or of an unknown size: a job "
                               f"reads all its data once in each epoch; "
                               f"tf.data.experimental.assert_cardinality says the size")
        batches = list(value.as_numpy_iterator())
    else:
        return None
    batches = [batch if isinstance(batch, tuple) else (batch,) for batch in batches]
    if not batches or len(batches[0]) > 3:
        raise NotSupported(f"{what} is a dataset that is empty, or whose batches are not "
                           f"(x, y, sample_weight)")
    sizes = [len(keras.tree.flatten(batch)[0]) for batch in batches]
    if any(size != sizes[0] for size in sizes[:-1]) or sizes[-1] > sizes[0]:
        raise NotSupported(f"{what} is a dataset with batches of different sizes; all but the last "
                           f"must be equal")
    try:
        columns = keras.tree.map_structure(lambda *parts: np.concatenate(parts), *batches)
    except ValueError as error:
        raise NotSupported(f"{what} is not a dataset of batches: {error}") from error
    return (*columns, *[None] * (3 - len(columns)), sizes[0])


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
    files = array if isinstance(array, (list, tuple)) else [array]
    names = [name for each in files for name in sorted(glob.glob(str(each))) or [str(each)]]
    try:
        shapes = [np.load(name, mmap_mode="r").shape for name in names]
    except (OSError, ValueError) as error:
        raise CairnError(f"cannot read {names[0]}: {error}") from error
    return (sum(shape[0] for shape in shapes), *shapes[0][1:])


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
