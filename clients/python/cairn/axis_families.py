"""Operations of Keras that divide, move, repeat or pad the elements along axes."""

from cairn.tensors import WEIGHTS

_MOST_FLIPPED = 64  # Each element of the axis becomes layers.


def product(sizes):
    result = 1
    for each in sizes:
        result *= each
    return result


def part(op, tensor, shape, axis, begin, end):
    """Elements of an axis of a tensor of this shape, with all axes before it as one."""
    outer, inner = product(shape[:axis]), product(shape[axis + 1:])
    tensor = op.reshape(tensor, [outer, shape[axis], inner])
    return op.add("Cropping2D", {"cropping": [[0, 0], [begin, shape[axis] - end]]}, tensor,
                  [outer, end - begin, inner])


def joined(op, tensors, axis):
    op.must_be_of_examples(*tensors)
    if len({(each.rank, each.kind) for each in tensors}) > 1:
        op.fails("of a weight and a tensor, or of tensors with different numbers of axes")
    shape = list(tensors[0].shape)
    shape[axis] = sum(each.shape[axis] for each in tensors)
    if len(tensors) == 1:
        return op.add("Identity", {}, tensors[0], shape)
    return op.add("Concatenate", {"axis": axis + 1}, tensors, shape)


def permuted(op, tensor, axes):
    """axes: those of Keras's tensor."""
    first = 0 if tensor.kind == WEIGHTS else 1
    if first and (not axes or axes[0] != 0):
        op.fails("of the axis of the examples")
    return op.permute(tensor, [axis - first for axis in axes[first:]])


def _rank(tensor):
    """The number of axes of Keras's tensor."""
    return tensor.rank + (tensor.kind != WEIGHTS)


def _axis(op, value, tensor):
    if value is None:
        op.fails("over the axis of the examples")
    [axis] = op.axes(value, tensor)
    return axis


def _between(op, tensor, axis, begin, end):
    """The elements [begin, end) of an axis, as the output of a layer of its own."""
    shape = list(op.known(tensor))
    tensor = part(op, tensor, shape, axis, begin, end)
    shape[axis] = end - begin
    return op.reshape(tensor, shape)


def _split(op, tensor):
    """A result for each part."""
    axis = _axis(op, op.config.get("axis", 0), tensor)
    size, parts = op.known(tensor)[axis], op.config["indices_or_sections"]
    if isinstance(parts, int):
        # The first ones have one element more, if they have not all as many.
        less, more = divmod(size, parts)
        cuts = [i * less + min(i, more) for i in range(1, parts)]
    else:
        cuts = [each + size if each < 0 else each for each in parts]
    ends = list(zip([0, *cuts], [*cuts, size]))
    if any(not 0 <= begin < end <= size for begin, end in ends):
        op.fails(f"an axis of {size} at {cuts}: each part must have elements")
    return [_between(op, tensor, axis, begin, end) for begin, end in ends]


def _slice(op):
    """Of a start for each axis and as many elements, -1: all that follow."""
    tensor, starts = (op.arguments + [None])[:2]
    sizes = list(op.config["shape"])
    first = _rank(tensor) - tensor.rank
    if not isinstance(starts, list) or not all(isinstance(each, int) for each in starts):
        op.fails("with starts that are no numbers")
    if first and (starts[0] != 0 or sizes[0] not in (-1, None)):
        op.fails("of the axis of the examples")
    for axis, (begin, count) in enumerate(zip(starts[first:], sizes[first:])):
        size = op.known(tensor)[axis]
        end = size if count == -1 else begin + count
        if (begin, end) != (0, size):
            tensor = _between(op, tensor, axis, begin, end)
    return tensor


def _unstack(op, tensor):
    axis = _axis(op, op.config.get("axis", 0), tensor)
    shape = list(op.known(tensor))
    return [op.reshape(part(op, tensor, shape, axis, i, i + 1), shape[:axis] + shape[axis + 1:])
            for i in range(shape[axis])]


def _roll(op, tensor):
    shifts, axes = op.config["shift"], op.config.get("axis")
    if isinstance(axes, (list, tuple)):
        shifts = list(shifts) if isinstance(shifts, (list, tuple)) else [shifts] * len(axes)
    else:
        shifts, axes = [shifts], [axes]
    result = tensor
    for shift, each in zip(shifts, axes):
        axis = _axis(op, each, tensor)
        size = op.known(tensor)[axis]
        cut = -shift % size
        if cut:
            result = joined(op, [_between(op, result, axis, cut, size),
                                 _between(op, result, axis, 0, cut)], axis)
    return result


def _flip(op, tensor):
    axes = op.config.get("axis")
    if axes is None:
        op.fails("over the axis of the examples")
    result = tensor
    for axis in op.axes(list(axes) if isinstance(axes, (list, tuple)) else axes, tensor):
        size = op.known(tensor)[axis]
        if size > _MOST_FLIPPED:
            op.fails(f"over an axis of {size} elements, and a job has at most {_MOST_FLIPPED}")
        result = joined(op, [_between(op, result, axis, i, i + 1) for i in range(size)][::-1], axis)
    return result


def _repeat(op, tensor):
    repeats = op.config["repeats"]
    repeats = repeats[0] if isinstance(repeats, list) and len(repeats) == 1 else repeats
    if not isinstance(repeats, int) or repeats < 1:
        op.fails(f"repeats is {repeats!r}, and no positive number")
    axis = _axis(op, op.config.get("axis"), tensor)
    shape = list(op.known(tensor))
    one = op.reshape(tensor, [*shape[:axis + 1], 1, *shape[axis + 1:]])
    shape[axis] *= repeats
    return op.reshape(joined(op, [one] * repeats, axis + 1), shape)


def _tile(op, tensor):
    repeats = op.config["repeats"]
    repeats = [repeats] if isinstance(repeats, int) else list(repeats)
    first, count = _rank(tensor) - tensor.rank, _rank(tensor)
    repeats = [1] * (count - len(repeats)) + repeats
    if len(repeats) > count or any(not isinstance(each, int) or each < 1 for each in repeats) or \
            first and repeats[0] != 1:
        op.fails(f"repeats is {op.config['repeats']!r}: a number for each axis, and 1 for that of the "
                 f"examples")
    for axis, times in enumerate(repeats[first:]):
        if times > 1:
            tensor = joined(op, [tensor] * times, axis)
    return tensor


def _moveaxis(op, tensor):
    count = _rank(tensor)
    moves = [op.config[key] for key in ("destination", "source")]
    moves = [[each] if isinstance(each, int) else list(each) for each in moves]
    to, of = [[axis % count for axis in each] for each in moves]
    axes = [axis for axis in range(count) if axis not in of]
    for destination, source in sorted(zip(to, of)):
        axes.insert(destination, source)
    return permuted(op, tensor, axes)


def _pad(op, tensor):
    widths = op.config["pad_width"]
    if op.config.get("mode", "constant") != "constant":
        op.fails(f"mode is {op.config['mode']!r}")
    first = _rank(tensor) - tensor.rank
    is_listed = isinstance(widths, list) and len(widths) == _rank(tensor) and \
        all(isinstance(each, list) and len(each) == 2 for each in widths)
    if not is_listed or first and any(widths[0]):
        op.fails(f"pad_width is {widths!r}: two numbers for each axis, and (0, 0) for that of the "
                 f"examples")
    shape = list(op.known(tensor))
    for axis, (before, after) in enumerate(widths[first:]):
        if not before and not after:
            continue
        outer, inner = product(shape[:axis]), product(shape[axis + 1:])
        view = op.reshape(tensor, [outer, shape[axis], inner])
        shape[axis] += before + after
        tensor = op.add("ZeroPadding2D", {"padding": [[0, 0], [before, after]]}, view,
                        [outer, shape[axis], inner])
    return op.reshape(tensor, shape)


def _one(function):
    return lambda op: function(op, op.arguments[0])


# As those of operation_families.
FAMILIES = {
    **dict.fromkeys(("Split", "ArraySplit"), (_one(_split), ("indices_or_sections", "axis"))),
    "Slice": (_slice, ("shape",)), "Unstack": (_one(_unstack), ("num", "axis")),
    "Roll": (_one(_roll), ("shift", "axis")), "Flip": (_one(_flip), ("axis",)),
    "Repeat": (_one(_repeat), ("repeats", "axis")), "Tile": (_one(_tile), ("repeats",)),
    "Moveaxis": (_one(_moveaxis), ("source", "destination")),
    "Pad": (_one(_pad), ("pad_width", "mode")),
}
