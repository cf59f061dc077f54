"""Operations of Keras that multiply matrices: products, einsum, attention."""

from cairn.axis_families import joined, part, product
from cairn.tensors import EXAMPLES, WEIGHTS, Tensor

_MOST_PRODUCTS = 64  # Of matrices for each example: each becomes layers.
_LEAST = -1e9  # Of a score that does not count: its softmax is 0.


def two(op):
    if len(op.arguments) != 2:
        op.fails()
    return op.arguments


def kernel_layer(op, weight, class_name, config, x, shape, variable="kernel"):
    """The output of a layer whose kernel is the weight."""
    op.must_be_of_examples(x)
    source = op.weights.call_kernel(weight, class_name, variable, config, op.input(x))
    return Tensor(source, tuple(shape), len(shape))


def _dot(op, left, right, kind=EXAMPLES):
    """The product of two matrices, or of a matrix and the rows of one for each example."""
    shape = (*left.shape[:-1], right.shape[-1])
    return op.add("Dot", {"axes": [left.rank, 1]}, [left, right], shape, len(shape), kind)


def _products(op, left, right):
    """[count, m, k] times [count, k, n], for each example."""
    count = left.shape[0]

    def matrix(tensor, i):
        shape = list(tensor.shape)
        return op.reshape(part(op, tensor, shape, 0, i, i + 1) if count > 1 else tensor, shape[1:])

    products = [_dot(op, matrix(left, i), matrix(right, i)) for i in range(count)]
    shape = [1, left.shape[1], right.shape[2]]
    return joined(op, [op.reshape(each, shape) for each in products], 0)


def _matrices(op, left, right):
    """The products of the last two axes; the others are the same, or have length 1."""
    outer = left.shape[:-2]
    count = product(outer)
    if left.kind == right.kind == EXAMPLES and outer == right.shape[:-2] and count <= _MOST_PRODUCTS:
        result = _products(op, op.reshape(left, [count, *left.shape[-2:]]),
                           op.reshape(right, [count, *right.shape[-2:]]))
        return op.reshape(result, [*outer, left.shape[-2], right.shape[-1]])
    left = op.reshape(left, [*left.shape, 1])
    right = op.reshape(right, [*right.shape[:-2], 1, *right.shape[-2:]])
    return op.reduce("Sum", op.times(left, right), [left.rank - 2])


def _product_of(op):
    left, right = two(op)
    if not isinstance(left, Tensor) or not isinstance(right, Tensor):
        left, right = (each if isinstance(each, Tensor) else op.weights.constant(each)
                       for each in (left, right))
    if op.kind == "Tensordot" and op.config.get("axes") != 1:
        op.fails(f"with the axes {op.config.get('axes')}: for the product of two vectors of each example "
                 f"use ops.sum(x * y, axis=-1, keepdims=True)")
    op.must_be_of_examples(left, right)
    if op.weights.is_kernel(right):
        units = right.shape[-1]
        return kernel_layer(op, right, "Dense", {"units": units, "use_bias": False}, left,
                            [*left.shape[:-1], units])
    kind = WEIGHTS if left.kind == right.kind == WEIGHTS else EXAMPLES
    if right.rank == 1 and right.kind == WEIGHTS or left.rank == right.rank == 1 and kind == WEIGHTS:
        return op.reduce("Sum", op.times(left, right), [left.rank - 1])
    if left.rank == 1 and right.rank == 2 and right.kind == WEIGHTS or left.rank == right.rank == 2:
        return _dot(op, left, right, kind)
    if left.rank == right.rank >= 3 and op.kind == "Matmul":
        return _matrices(op, left, right)
    return op.fails(f"of shapes {left.shape} and {right.shape}")


def _with_axes(op, tensor, letters, groups):
    """The tensor with an axis for each group of its letters, in this order."""
    order = [letter for group in groups for letter in group]
    if list(letters) != order:
        tensor = op.permute(tensor, [letters.index(letter) for letter in order])
    sizes = dict(zip(order, tensor.shape))
    return op.reshape(tensor, [product(sizes[letter] for letter in group) for group in groups])


def _einsum_of_two(op, left, right, equation):
    """The sum of products of two tensors of examples: products of matrices.

    equation: of letters without spaces; the first one of each tensor is the axis of the examples.
    """
    inputs, output = equation.split("->")
    first, second = inputs.split(",")
    op.must_be_of_examples(left, right)
    if not first[:1] == second[:1] == output[:1] or first[:1] in first[1:] + second[1:] or \
            any(len(set(each)) < len(each) for each in (first, second, output)):
        op.fails(f"{equation}: give the axis of the examples the first letter, and each axis its own")
    first, second, output = first[1:], second[1:], output[1:]
    common = [each for each in first if each in second]
    outer = [each for each in common if each in output]
    summed = [each for each in common if each not in output]
    rows, columns = ([each for each in letters if each not in common] for letters in (first, second))
    if set(output) != {*outer, *rows, *columns}:
        op.fails(f"{equation}: it sums over an axis of one tensor; use ops.sum before")
    sizes = {**dict(zip(first, op.known(left))), **dict(zip(second, op.known(right)))}
    count = product(sizes[each] for each in outer)
    if count > _MOST_PRODUCTS:
        op.fails(f"{equation}: {count} products of matrices for each example, and a job has at most "
                 f"{_MOST_PRODUCTS}")
    result = _products(op, _with_axes(op, left, first, (outer, rows, summed)),
                       _with_axes(op, right, second, (outer, summed, columns)))
    letters = outer + rows + columns
    result = op.reshape(result, [sizes[each] for each in letters])
    if letters == list(output):
        return result
    return op.permute(result, [letters.index(each) for each in output])


def _einsum(op):
    operands = op.arguments[0] if isinstance(op.arguments[0], list) else op.arguments
    equation = op.config["subscripts"].replace(" ", "")
    if "..." in equation or "->" not in equation:
        op.fails(f"{equation}: write a letter for each axis, also of the result")
    if len(operands) != 2 or not all(isinstance(each, Tensor) for each in operands):
        op.fails("of other operands than two tensors of the model")
    x, weight = operands
    if not op.weights.is_kernel(weight):
        if x.kind == WEIGHTS or weight.kind == WEIGHTS:
            op.fails("of a weight that something else takes, too, or in front of the tensor")
        return _einsum_of_two(op, x, weight, equation)
    inputs, output = equation.split("->")
    sizes = dict(zip(reversed(inputs.split(",")[0]), reversed(x.shape)))
    sizes.update(zip(inputs.split(",")[1], weight.shape))
    shape = [sizes[letter] for letter in output[1:]]
    return kernel_layer(op, weight, "EinsumDense", {"equation": equation, "output_shape": shape}, x,
                        shape)


def _hidden(op, mask):
    """What is added to scores: 0 where the mask is true."""
    if isinstance(mask, Tensor):
        return op.rescale(op.truth(mask), -_LEAST, _LEAST)

    def each(value):
        return list(map(each, value)) if isinstance(value, list) else 0.0 if value else _LEAST

    return each(mask)


def _repeated(op, tensor, times):
    """Each head several times."""
    if times == 1:
        return tensor
    steps, heads, size = tensor.shape
    one = op.reshape(tensor, [steps, heads, 1, size])
    return op.reshape(joined(op, [one] * times, 2), [steps, heads * times, size])


def _attention(op):
    """The softmax of the products of queries and keys, times the values, for each head."""
    if len(op.arguments) != 3 or not all(isinstance(each, Tensor) for each in op.arguments):
        op.fails()
    query, key, value = op.arguments
    if any(each.rank != 3 or None in each.shape or each.kind != EXAMPLES for each in op.arguments):
        op.fails("of other tensors than with steps, heads and numbers of a known shape")
    times, rest = divmod(query.shape[1], key.shape[1])
    if rest:
        op.fails(f"{query.shape[1]} heads of queries, and {key.shape[1]} of keys")
    key, value = (_repeated(op, each, times) for each in (key, value))
    scale = op.named.get("scale")
    if scale is not None and not isinstance(scale, (int, float)):
        op.fails("its scale is no number")
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = _einsum_of_two(op, op.rescale(query, scale), key, "bqhd,bkhd->bhqk")
    if op.named.get("bias") is not None:
        scores = op.plus(scores, op.named["bias"])
    masks = [op.named["mask"]] if op.named.get("mask") is not None else []
    if op.config.get("is_causal"):
        masks.append([[k <= q for k in range(key.shape[0])] for q in range(query.shape[0])])
    for mask in masks:
        scores = op.plus(scores, _hidden(op, mask))
    return _einsum_of_two(op, op.apply("softmax", scores), value, "bhqk,bkhd->bqhd")


# As those of operation_families.
FAMILIES = {
    **dict.fromkeys(("Matmul", "Dot"), (_product_of, ())), "Tensordot": (_product_of, ("axes",)),
    "Einsum": (_einsum, ("subscripts",)),
    "DotProductAttention": (_attention, ("is_causal", "flash_attention")),
}
# Arguments that have a name in the call: {operation: names}.
NAMED = {"DotProductAttention": ("bias", "mask", "scale")}
