"""Random small models, one for each layer that Cairn has a name for, with random arguments."""

import keras
from keras import layers as L

ACTIVATIONS = ["linear", "relu", "relu6", "leaky_relu", "sigmoid", "hard_sigmoid", "tanh", "softmax",
               "softplus", "softsign", "elu", "selu", "gelu", "swish", "silu", "exponential",
               "celu", "hard_silu", "hard_swish", "hard_tanh", "hard_shrink", "soft_shrink",
               "log_sigmoid", "log_softmax", "mish", "sparse_plus", "sparse_sigmoid", "squareplus",
               "tanh_shrink"]
# Functions that a recurrent layer takes.
RECURRENT = ["tanh", "sigmoid", "relu", "hard_sigmoid", "softsign", "linear"]


def head(tensor):
    """Reduces any output to 3 numbers, on which the loss is."""
    if len(tensor.shape) > 2:
        tensor = L.Flatten()(tensor)
    return L.Dense(3, name="head")(tensor)


def _through(shape, *layers, **kwargs):
    inputs = keras.Input(shape, **kwargs)
    tensor = inputs
    for layer in layers:
        tensor = layer(tensor)
    return keras.Model(inputs, head(tensor))


def _image(draw, least=6):
    return (draw.between(least, 9), draw.between(least, 9), draw.between(1, 4))


def _series(draw, least=6):
    return (draw.between(least, 10), draw.between(1, 5))


def _activation(draw):
    return draw.of(*ACTIVATIONS)


def dense(draw):
    shape = draw.of((5,), (4, 6), (2, 3, 4))
    return _through(shape, L.Dense(draw.between(1, 6), activation=_activation(draw),
                                   **draw.kernel()))


def embedding(draw):
    rows, steps = draw.between(3, 9), draw.between(2, 6)
    inputs = keras.Input((steps,), dtype="int32")
    masked = draw.yes()
    tensor = L.Embedding(rows, draw.between(2, 5), mask_zero=masked,
                         embeddings_initializer=keras.initializers.RandomNormal(seed=draw.seed()),
                         embeddings_regularizer=draw.regularizer(),
                         embeddings_constraint=draw.constraint())(inputs)
    if masked:
        tensor = draw.of(L.GlobalAveragePooling1D(), L.GRU(3), L.LSTM(2), L.SimpleRNN(3))(tensor)
    return keras.Model(inputs, head(tensor))


def _convolution(draw, rank):
    size = lambda: draw.between(1, 3) if rank == 1 else draw.of(  # noqa: E731
        draw.between(1, 3), (draw.between(1, 3), draw.between(1, 3)))
    arguments = {"kernel_size": size(), "padding": draw.of("valid", "same"),
                 "activation": _activation(draw)}
    if draw.yes():
        arguments["strides"] = draw.between(1, 2) if rank == 1 else draw.of(
            2, (draw.between(1, 2), draw.between(1, 2)))
    return arguments, size


def _dilated(draw, arguments):
    if "strides" not in arguments and draw.yes():
        arguments["dilation_rate"] = 2
    return arguments


def conv1d(draw):
    arguments, _ = _convolution(draw, 1)
    if draw.yes():
        arguments["padding"] = "causal"
    groups = draw.of(1, 1, 2)
    shape = (draw.between(6, 10), 4)
    return _through(shape, L.Conv1D(2 * draw.between(1, 3), groups=groups,
                                    **_dilated(draw, arguments), **draw.kernel()))


def conv2d(draw):
    arguments, _ = _convolution(draw, 2)
    shape = (draw.between(6, 9), draw.between(6, 9), 4)
    return _through(shape, L.Conv2D(2 * draw.between(1, 3), groups=draw.of(1, 1, 2),
                                    **_dilated(draw, arguments), **draw.kernel()))


def _square(draw, arguments):
    """TensorFlow's depthwise convolutions take equal strides only."""
    if "strides" in arguments:
        arguments["strides"] = draw.between(1, 2)
    return arguments


def depthwise1d(draw):
    arguments, _ = _convolution(draw, 1)
    return _through(_series(draw), L.DepthwiseConv1D(
        depth_multiplier=draw.between(1, 3), **_square(draw, arguments),
        **draw.kernel("depthwise")))


def depthwise2d(draw):
    arguments, _ = _convolution(draw, 2)
    return _through(_image(draw), L.DepthwiseConv2D(
        depth_multiplier=draw.between(1, 3), **_dilated(draw, _square(draw, arguments)),
        **draw.kernel("depthwise")))


def _separable(draw):
    return {**draw.kernel("depthwise"), "pointwise_initializer": draw.initializer(),
            "pointwise_regularizer": draw.regularizer(),
            "pointwise_constraint": draw.constraint()}


def separable1d(draw):
    arguments, _ = _convolution(draw, 1)
    return _through(_series(draw), L.SeparableConv1D(
        draw.between(1, 4), depth_multiplier=draw.between(1, 3), **_square(draw, arguments),
        **_separable(draw)))


def separable2d(draw):
    arguments, _ = _convolution(draw, 2)
    return _through(_image(draw), L.SeparableConv2D(
        draw.between(1, 4), depth_multiplier=draw.between(1, 3), **_square(draw, arguments),
        **_separable(draw)))


def _transposed(draw, arguments):
    # Keras rejects output_padding that is not smaller than the stride.
    if arguments.get("strides") == 2 and draw.yes():
        arguments["output_padding"] = draw.between(0, 1)
    return arguments


def conv1d_transpose(draw):
    arguments, _ = _convolution(draw, 1)
    return _through(_series(draw, 3), L.Conv1DTranspose(
        draw.between(1, 4), **_transposed(draw, arguments), **draw.kernel()))


def conv2d_transpose(draw):
    arguments, _ = _convolution(draw, 2)
    return _through(_image(draw, 3), L.Conv2DTranspose(
        draw.between(1, 4), **_transposed(draw, arguments), **draw.kernel()))


def conv3d_transpose(draw):
    arguments = {"strides": draw.of(1, 2, (2, 1, 2)), "padding": draw.of("valid", "same")}
    if arguments["strides"] == 2 and draw.yes():
        arguments["output_padding"] = draw.between(0, 1)
    shape = (draw.between(1, 4), draw.between(2, 4), draw.between(2, 3), draw.between(1, 3))
    return _through(shape, L.Conv3DTranspose(
        draw.between(1, 4), _triple(draw, 1, 3), activation=_activation(draw), **arguments,
        **draw.kernel()))


def conv_lstm(rank):
    def build(draw):
        arguments, _ = _convolution(draw, rank)
        kind = getattr(L, f"ConvLSTM{rank}D")
        shape = (draw.between(2, 4), *(draw.between(5, 7) for _ in range(rank)), 2)
        return _through(shape, kind(
            draw.between(1, 3), return_sequences=draw.yes(), go_backwards=draw.yes(),
            unit_forget_bias=draw.yes(), recurrent_activation=draw.of("sigmoid", "hard_sigmoid"),
            recurrent_initializer=keras.initializers.Orthogonal(seed=draw.seed()),
            recurrent_regularizer=draw.regularizer(), recurrent_constraint=draw.constraint(),
            **{**_dilated(draw, arguments), "activation": draw.of(*RECURRENT)}, **draw.kernel()))
    return build


def _pooling(draw, rank):
    pair = lambda low, high: draw.between(low, high) if rank == 1 or draw.yes() else (  # noqa: E731
        draw.between(low, high), draw.between(low, high))
    return {"pool_size": pair(1, 3), "strides": draw.of(None, pair(1, 3)),
            "padding": draw.of("valid", "same")}


def max_pooling1d(draw):
    return _through(_series(draw), _mixing1d(), L.MaxPooling1D(**_pooling(draw, 1)))


def max_pooling2d(draw):
    return _through(_image(draw), _mixing2d(), L.MaxPooling2D(**_pooling(draw, 2)))


def average_pooling1d(draw):
    return _through(_series(draw), _mixing1d(), L.AveragePooling1D(**_pooling(draw, 1)))


def average_pooling2d(draw):
    return _through(_image(draw), _mixing2d(), L.AveragePooling2D(**_pooling(draw, 2)))


def _volume(draw, least=3):
    return (draw.between(least, 6), draw.between(least, 5), draw.between(least, 6),
            draw.between(1, 3))


def _triple(draw, low, high):
    return draw.of(draw.between(low, high), tuple(draw.between(low, high) for _ in range(3)))


def conv3d(draw):
    return _through(_volume(draw), L.Conv3D(
        draw.between(1, 4), _triple(draw, 1, 3), strides=draw.of(1, _triple(draw, 1, 2)),
        padding=draw.of("valid", "same"), activation=_activation(draw), **draw.kernel()))


def pooling3d(kind):
    """TensorFlow's gradient of MaxPooling3D goes to all inputs within 1e-5 of the maximum, so they
    are scaled up for it."""
    return lambda draw: _through(_volume(draw), _mixing(3), L.Rescaling(1000.0), kind(
        pool_size=_triple(draw, 1, 3), strides=draw.of(None, _triple(draw, 1, 3)),
        padding=draw.of("valid", "same")), L.Rescaling(0.001))


def zero_padding3d(draw):
    return _through(_volume(draw, 1), _mixing(3),
                    L.ZeroPadding3D(draw.of(2, (1, 0, 2), ((1, 0), (2, 1), (0, 1)))))


def cropping3d(draw):
    return _through(_volume(draw), _mixing(3),
                    L.Cropping3D(draw.of(1, (1, 0, 1), ((1, 0), (1, 1), (0, 2)))))


def up_sampling3d(draw):
    return _through(_volume(draw, 1), _mixing(3), L.UpSampling3D(_triple(draw, 1, 3)))


def _mixing1d():
    """A layer with weights below the one in question, so that its input's gradient matters."""
    return L.Conv1D(3, 2, padding="same", name="below")


def _mixing2d():
    return L.Conv2D(3, 2, padding="same", name="below")


def _mixing(rank):
    return L.Dense(4, name="below")


def global_pooling(kind, rank):
    def build(draw):
        shape = {1: _series, 2: _image, 3: _volume}[rank](draw)
        below = {1: _mixing1d, 2: _mixing2d, 3: lambda: _mixing(3)}[rank]()
        return _through(shape, below, kind(keepdims=draw.yes()))
    return build


def adaptive_pooling(kind, rank):
    def build(draw):
        # Keras cannot pool axes of one pixel. TensorFlow divides by 0 if the output has one pixel.
        # In 3D inputs are scaled up as for MaxPooling3D.
        shape = {1: _series, 2: _image, 3: lambda draw: _volume(draw, 3)}[rank](draw)
        size = draw.of(draw.between(2, 4), tuple(draw.between(2, 5) for _ in range(rank)))
        if rank < 3:
            return _through(shape, {1: _mixing1d, 2: _mixing2d}[rank](), kind(size))
        return _through(shape, _mixing(3), L.Rescaling(1000.0), kind(size), L.Rescaling(0.001))
    return build


def zero_padding1d(draw):
    return _through(_series(draw), _mixing1d(),
                    L.ZeroPadding1D(draw.of(2, (1, 3), (0, 1))))


def zero_padding2d(draw):
    return _through(_image(draw), _mixing2d(),
                    L.ZeroPadding2D(draw.of(2, (1, 2), ((1, 0), (2, 3)))))


def cropping1d(draw):
    return _through(_series(draw), _mixing1d(), L.Cropping1D(draw.of(2, (1, 3), (0, 1))))


def cropping2d(draw):
    return _through(_image(draw), _mixing2d(),
                    L.Cropping2D(draw.of(2, (1, 2), ((1, 0), (2, 1)))))


def up_sampling1d(draw):
    return _through(_series(draw), _mixing1d(), L.UpSampling1D(draw.between(1, 3)))


def up_sampling2d(draw):
    return _through(_image(draw, 3), _mixing2d(), L.UpSampling2D(
        draw.of(2, (2, 3)), interpolation=draw.of("nearest", "bilinear")))


def resizing(draw):
    return _through(_image(draw, 3), _mixing2d(), L.Resizing(
        draw.between(2, 12), draw.between(2, 12), interpolation=draw.of("nearest", "bilinear")))


def batch_normalization(draw):
    shape = draw.of((5,), (4, 3), (3, 4, 2))
    return _through(shape, _mixing(0), L.BatchNormalization(
        momentum=draw.number(0.5, 0.99), epsilon=draw.number(0.001, 0.1), center=draw.yes(),
        scale=draw.yes(), gamma_initializer=keras.initializers.RandomUniform(0.5, 1.5, seed=1),
        beta_regularizer=draw.regularizer(), gamma_constraint=draw.constraint(),
        beta_constraint=draw.constraint()))


def layer_normalization(draw):
    shape = draw.of((5,), (4, 3), (3, 4, 2))
    arguments = {"axis": draw.of(-1, [-1])}
    return _through(shape, _mixing(0), L.LayerNormalization(
        epsilon=draw.number(0.001, 0.1), center=draw.yes(), scale=draw.yes(),
        gamma_initializer=keras.initializers.RandomUniform(0.5, 1.5, seed=1), **arguments))


def group_normalization(draw):
    shape = draw.of((5,), (4, 3), (3, 4, 2))
    return _through(shape, _mixing(0), L.GroupNormalization(
        groups=draw.of(1, 2, 4, -1), epsilon=draw.number(0.001, 0.1), center=draw.yes(),
        scale=draw.yes(), beta_regularizer=draw.regularizer(),
        gamma_initializer=keras.initializers.RandomUniform(0.5, 1.5, seed=1)))


def rms_normalization(draw):
    shape = draw.of((5,), (4, 3), (3, 4, 2))
    return _through(shape, _mixing(0), L.RMSNormalization(epsilon=draw.number(0.001, 0.1)))


def unit_normalization(draw):
    shape, axis = draw.of(((5,), -1), ((4, 3), 1), ((3, 4, 2), (2, 3)), ((3, 4, 2), [1, 2]))
    return _through(shape, _mixing(0), L.UnitNormalization(axis=axis))


def normalization(draw):
    width = draw.between(2, 5)
    if draw.yes():
        layer = L.Normalization(mean=[draw.number(-1, 1) for _ in range(width)],
                                variance=[draw.number(0.5, 2) for _ in range(width)])
    else:
        layer = L.Normalization()
        layer.adapt(draw.random.normal(1, 2, (50, width)).astype("float32"))
    return _through((width,), layer)


def rescaling(draw):
    return _through((4,), L.Rescaling(draw.number(-2, 2), offset=draw.number(-1, 1)))


def activation_layer(draw):
    return _through((6,), _mixing(0), L.Activation(_activation(draw)))


def relu(draw):
    return _through((6,), _mixing(0), L.ReLU(
        max_value=draw.of(None, draw.number(0.5, 3)), negative_slope=draw.of(0, draw.number(0, 1)),
        threshold=draw.of(0, draw.number(0, 0.5))))


def leaky_relu(draw):
    return _through((6,), _mixing(0), L.LeakyReLU(negative_slope=draw.number(0, 1)))


def prelu(draw):
    shape, shared = draw.of(((6,), None), ((3, 4), [1]), ((3, 3, 2), [1, 2]))
    return _through(shape, _mixing(0), L.PReLU(
        alpha_initializer=keras.initializers.RandomUniform(0, 1, seed=1), shared_axes=shared,
        alpha_regularizer=draw.regularizer(), alpha_constraint=draw.constraint()))


def elu(draw):
    return _through((6,), _mixing(0), L.ELU(alpha=draw.number(0.1, 2)))


def softmax(draw):
    return _through(draw.of((6,), (3, 4)), _mixing(0), L.Softmax())


def operation(name):
    """One of keras.ops, of positive numbers."""
    return lambda draw: _through(draw.of((6,), (3, 4)), L.Dense(5, activation="softplus"),
                                 getattr(keras.ops, name.lower()))


def random_layer(make, shape):
    """A layer that does nothing in inference."""
    return lambda draw: _through(shape, make(draw))


def random_crop(draw):
    # Keras 3.15 does not crop in inference, although it says so; see doc/keras.md.
    return _through((8, 6, 2), L.RandomCrop(8, 6))


def merge(kind, count=None):
    def build(draw):
        inputs = [keras.Input((3, 4)) for _ in range(count or draw.between(2, 3))]
        tensors = [L.Dense(4)(each) for each in inputs]
        if draw.yes():  # Broadcasts.
            tensors[-1] = L.Reshape((1, 4))(L.Dense(4)(L.Flatten()(inputs[-1])))
        return keras.Model(inputs, head(kind()(tensors)))
    return build


def concatenate(draw):
    axis = draw.of(-1, 1, 2)
    inputs = [keras.Input((3, 4)), keras.Input((3, 4))]
    tensors = [L.Dense(4)(each) for each in inputs]
    return keras.Model(inputs, head(L.Concatenate(axis=axis)(tensors)))


def dot(draw):
    inputs = [keras.Input((3, 4)), keras.Input((5, 4))]
    tensors = [L.Dense(4)(each) for each in inputs]
    return keras.Model(inputs, head(L.Dot(axes=draw.of(2, -1, (2, 2)),
                                          normalize=draw.yes())(tensors)))


def flatten(draw):
    return _through((2, 3, 2), _mixing(0), L.Flatten())


def reshape(draw):
    return _through((3, 4), _mixing(0), L.Reshape(draw.of((2, 6), (-1, 2), (12,), (2, 3, -1))))


def permute(draw):
    return _through((2, 3, 4), _mixing(0), L.Permute(draw.of((2, 1, 3), (3, 1, 2), (1, 3, 2))))


def repeat_vector(draw):
    return _through((4,), _mixing(0), L.RepeatVector(draw.between(1, 4)), L.SimpleRNN(3))


def identity(draw):
    return _through((4,), _mixing(0), L.Identity())


def recurrent_arguments(draw, kind):
    arguments = {"units": draw.between(1, 5), "activation": draw.of(*RECURRENT),
                 "return_sequences": draw.yes(), "go_backwards": draw.yes(),
                 "recurrent_initializer": keras.initializers.Orthogonal(seed=draw.seed()),
                 "recurrent_regularizer": draw.regularizer(),
                 "recurrent_constraint": draw.constraint(), **draw.kernel()}
    if kind is not L.SimpleRNN:
        arguments["recurrent_activation"] = draw.of("sigmoid", "hard_sigmoid", "tanh")
    if kind is L.LSTM:
        arguments["unit_forget_bias"] = draw.yes()
    if kind is L.GRU:
        arguments["reset_after"] = draw.yes()
    return arguments


def recurrent(kind):
    return lambda draw: _through(_series(draw, 3), _mixing(0),
                                 kind(**recurrent_arguments(draw, kind)))


def rnn(draw):
    """RNN with one cell or several."""
    def cell():
        kind, layer = draw.of((L.SimpleRNNCell, L.SimpleRNN), (L.LSTMCell, L.LSTM),
                              (L.GRUCell, L.GRU))
        arguments = recurrent_arguments(draw, layer)
        for argument in ("return_sequences", "go_backwards"):
            del arguments[argument]
        return kind(**arguments)

    layer = L.RNN(draw.of(cell(), [cell(), cell(), cell()]), return_sequences=draw.yes(), go_backwards=draw.yes())
    if draw.yes():
        return _through(_series(draw, 3), _mixing(0), layer)
    inputs = keras.Input((5,), dtype="int32")
    tensor = L.Embedding(3, 4, mask_zero=True, embeddings_initializer=keras.initializers
                         .RandomNormal(seed=draw.seed()))(inputs)
    layer.return_sequences = False
    if isinstance(layer.cell, L.StackedRNNCells):
        layer.go_backwards = False  # Such stacks are refused with masks (doc/keras.md).
    return keras.Model(inputs, head(layer(tensor)))


def bidirectional(draw):
    kind = draw.of(L.SimpleRNN, L.LSTM, L.GRU)
    arguments = recurrent_arguments(draw, kind)
    arguments["go_backwards"] = False
    merge_mode = draw.of("concat", "sum", "mul", "ave")
    return _through(_series(draw, 3), _mixing(0),
                    L.Bidirectional(kind(**arguments), merge_mode=merge_mode))


def attention(draw):
    query, value = keras.Input((3, 4)), keras.Input((5, 6))
    # Keras adds the biases of heads of width 1 to the steps if there are as many; see doc/keras.md.
    arguments = {"num_heads": draw.of(1, 2, 4), "key_dim": draw.between(1, 4),
                 "use_bias": draw.yes(), "kernel_initializer": draw.initializer(),
                 "kernel_constraint": draw.constraint(),
                 "value_dim": draw.of(None, 3), "output_shape": draw.of(None, 5)}
    layer = L.MultiHeadAttention(**arguments)
    if draw.yes():
        return keras.Model([query, value], head(layer(L.Dense(4)(query), L.Dense(6)(value))))
    tensor = L.Dense(4)(query)
    return keras.Model(query, head(layer(tensor, tensor, use_causal_mask=draw.yes())))


def orthogonal_regularizer(draw):
    return _through((5,), *(L.Dense(
        4, kernel_regularizer=keras.regularizers.OrthogonalRegularizer(draw.number(0.01, 1), mode))
        for mode in ("rows", "columns")))


def activity_regularization(draw):
    return _through((3, 4), _mixing(0), L.ActivityRegularization(
        l1=draw.number(0, 0.1), l2=draw.number(0, 0.1)))


def activity_regularizer(draw):
    """Of a layer in the middle, of one called twice, and of the output."""
    regularizer = lambda: keras.regularizers.L1L2(draw.number(0, 0.1), draw.number(0, 0.1))  # noqa
    kind, shape = draw.of((lambda **kwargs: L.Dense(4, **kwargs), (4,)),
                          (lambda **kwargs: L.Conv1D(3, 2, padding="same", **kwargs), (5, 3)),
                          (lambda **kwargs: L.LSTM(4, return_sequences=True, **kwargs), (5, 4)),
                          (lambda **kwargs: L.BatchNormalization(**kwargs), (4, 3)))
    layer = kind(activity_regularizer=regularizer())
    inputs = keras.Input(shape)
    tensor = layer(layer(L.Dense(shape[-1])(inputs)))
    tensor = L.Activation("relu")(tensor)
    if len(shape) > 1:
        tensor = L.Flatten()(tensor)
    activation = draw.of("linear", "tanh", "sigmoid", "softmax")
    return keras.Model(inputs, L.Dense(3, activation=activation,
                                       activity_regularizer=regularizer())(tensor))


def masking(draw):
    layer = draw.of(L.LSTM(3), L.GRU(2, go_backwards=True), L.SimpleRNN(3),
                    L.Bidirectional(L.LSTM(2)), L.GlobalAveragePooling1D())
    inputs = keras.Input((draw.between(3, 6),), dtype="int32")  # 0, 1 or 2.
    # Keras's average of masked steps only is NaN; the first step is not 0.
    value = 0.0 if isinstance(layer, L.GlobalAveragePooling1D) else draw.of(0.0, 0.5)
    tensor = L.Rescaling(0.5)(inputs)
    tensor = L.Reshape((-1, 1))(tensor)
    tensor = L.Masking(value)(tensor)
    if draw.yes():
        tensor = L.Dense(2, activation="tanh")(tensor)
    return keras.Model(inputs, head(layer(tensor)))


def recurrent_dropout(draw):
    layer = draw.of(L.SimpleRNN, L.LSTM, L.GRU)(
        draw.between(1, 5), dropout=draw.number(0.1, 0.9),
        recurrent_dropout=draw.of(0, draw.number(0.1, 0.9)), return_sequences=draw.yes())
    if draw.yes():
        layer = L.Bidirectional(layer)
    return _through(_series(draw, 3), layer)


def discretization(draw):
    mode = draw.of("int", "one_hot", "multi_hot", "count")
    boundaries = sorted(draw.number(-2, 2) for _ in range(draw.between(1, 5)))
    inputs = keras.Input((draw.between(2, 5),))
    tensor = L.Discretization(boundaries, output_mode=mode)(inputs)
    if mode == "int":
        tensor = L.Embedding(len(boundaries) + 1, 3)(tensor)
    return keras.Model(inputs, head(tensor))


def einsum_dense(draw):
    shape, equation, output, bias = draw.of(
        ((5,), "ab,bc->ac", 4, "c"), ((3, 4), "abc,cd->abd", (3, 5), "d"),
        ((3, 4), "abc,cde->abed", (3, 3, 2), "de"), ((3, 4), "abc,bcd->ad", 5, "d"),
        ((3, 4), "abc,bcd->adb", (2, 3), "db"), ((2, 3, 4), "...c,cd->...d", 5, "d"),
        ((2, 3, 4), "ab...,bc->ac...", 5, "c"), ((2, 3, 4), "abcd,cde->abe", (2, 6), None))
    arguments = draw.kernel()
    if not arguments.pop("use_bias"):
        bias = None
    return _through(shape, _mixing(0), L.EinsumDense(
        equation, output, bias_axes=bias, activation=_activation(draw),
        **arguments))


def score_attention(kind):
    def build(draw):
        arguments = {"use_scale": draw.yes()}
        if kind is L.Attention:
            arguments["score_mode"] = draw.of("dot", "concat")
        layer = kind(**arguments)
        causal = draw.yes()
        which = draw.of("itself", "value", "key", "masked")
        if which == "masked":
            inputs = keras.Input((5,), dtype="int32")
            tensor = L.Embedding(3, 4, mask_zero=True,
                                 embeddings_initializer=keras.initializers.RandomNormal(
                                     seed=draw.seed()))(inputs)
            tensor = layer([tensor, L.Dense(4)(tensor)], use_causal_mask=causal)
            return keras.Model(inputs, head(L.GlobalAveragePooling1D()(tensor)))
        query, value = keras.Input((3, 4)), keras.Input((5, 6))
        if which == "itself":
            tensor = L.Dense(4)(query)
            return keras.Model(query, head(layer([tensor, tensor], use_causal_mask=causal)))
        tensors = [L.Dense(4)(query), L.Dense(4 if which == "value" else 3)(value)]
        if which == "key":
            tensors.append(L.Dense(4)(value))
        return keras.Model([query, value], head(layer(tensors, use_causal_mask=causal)))
    return build


def time_distributed(draw):
    inner, shape = draw.of(
        (L.Dense(3, activation=_activation(draw), **draw.kernel()), (4, 3)),
        (L.Conv2D(2, 3, activation="relu", **draw.kernel()), (3, 5, 4, 2)),
        (L.LSTM(3), (2, 4, 3)), (L.Flatten(), (3, 2, 2)), (L.MaxPooling1D(2), (3, 4, 2)),
        (L.LayerNormalization(), (3, 4)), (L.TimeDistributed(L.Dense(2)), (2, 3, 3)))
    return _through(shape, _mixing(0), L.TimeDistributed(inner))


def center_crop(draw):
    return _through(_image(draw, 5), _mixing2d(), L.CenterCrop(draw.between(2, 10),
                                                               draw.between(2, 10)))


def category_encoding(draw):
    steps, mode = draw.of((1, "one_hot"), (4, "multi_hot"), (4, "count"))
    inputs = keras.Input((steps,), dtype="int32")
    return keras.Model(inputs, head(L.CategoryEncoding(7, output_mode=mode)(inputs)))


def shared_layer(draw):
    inputs = [keras.Input((4,)), keras.Input((4,))]
    layer = L.Dense(3, activation="tanh")
    return keras.Model(inputs, head(L.Concatenate()([layer(each) for each in inputs])))


def shared_normalization(draw):
    inputs = [keras.Input((4,)) for _ in range(draw.between(2, 4))]
    below, norm = L.Dense(3), L.BatchNormalization(momentum=draw.number(0.1, 0.9))
    return keras.Model(inputs, head(L.Concatenate()([norm(below(each)) for each in inputs])))


def model_as_layer(draw):
    inner = keras.Sequential([keras.Input((4,)), L.Dense(5, activation="relu", name="below"),
                              L.BatchNormalization(name="norm")], name="inner")
    inputs = keras.Input((4,))
    tensor = L.Dense(4, name="below")(inputs)
    return keras.Model(inputs, head(inner(tensor)))


def frozen(draw):
    layers = [L.Dense(4, activation="relu"), L.BatchNormalization(), L.Dense(4)]
    layers[draw.between(0, 2)].trainable = False
    return _through((4,), *layers)


RANDOM = {  # Layers whose training is random: only inference is compared.
    "Dropout": random_layer(lambda draw: L.Dropout(draw.number(0.1, 0.9)), (5,)),
    "SpatialDropout1D": random_layer(lambda draw: L.SpatialDropout1D(draw.number(0.1, 0.9)), (4, 3)),
    "SpatialDropout2D": random_layer(lambda draw: L.SpatialDropout2D(draw.number(0.1, 0.9)),
                                     (4, 4, 3)),
    "SpatialDropout3D": random_layer(lambda draw: L.SpatialDropout3D(draw.number(0.1, 0.9)),
                                     (3, 2, 4, 3)),
    "AlphaDropout": random_layer(lambda draw: L.AlphaDropout(draw.number(0.1, 0.9)), (5,)),
    "GaussianNoise": random_layer(lambda draw: L.GaussianNoise(draw.number(0.1, 0.9)), (5,)),
    "GaussianDropout": random_layer(lambda draw: L.GaussianDropout(draw.number(0.1, 0.9)), (5,)),
    "RandomFlip": random_layer(lambda draw: L.RandomFlip(
        draw.of("horizontal", "vertical", "horizontal_and_vertical")), (6, 6, 2)),
    "RandomCrop": random_crop,
    "RandomBrightness": random_layer(lambda draw: L.RandomBrightness(
        draw.of(draw.number(0.1, 1), (-0.2, 0.4)), value_range=draw.of((0, 255), (-1, 1))),
        (6, 5, 2)),
    "RandomContrast": random_layer(lambda draw: L.RandomContrast(
        draw.of(draw.number(0.1, 1), (0.2, 0.4)), value_range=draw.of((0, 255), (-1, 1))),
        (6, 5, 2)),
    "RandomTranslation": random_layer(lambda draw: L.RandomTranslation(
        draw.number(0.1, 1), (-0.2, 0.4), fill_mode=draw.of("wrap", "nearest")), (6, 5, 2)),
    "RandomRotation": random_layer(lambda draw: L.RandomRotation(
        draw.of(draw.number(0.1, 1), (-0.2, 0.4)), interpolation=draw.of("nearest", "bilinear")),
        (6, 5, 2)),
    "RandomZoom": random_layer(lambda draw: L.RandomZoom(
        draw.number(0.1, 0.9), draw.of(None, (-0.2, 0.4)), fill_mode="constant", fill_value=0.5),
        (6, 5, 2)),
    "RandomShear": random_layer(lambda draw: L.RandomShear(
        draw.number(0.1, 1), draw.of(0.0, (0.1, 0.4))), (6, 5, 2)),
    "RandomErasing": random_layer(lambda draw: L.RandomErasing(
        draw.of(draw.number(0, 1), (0.2, 0.4)), scale=(0.1, 0.2),
        fill_value=draw.of(None, 0.5, (0, 1, 2))), (6, 5, 3)),
    "RandomGrayscale": random_layer(lambda draw: L.RandomGrayscale(draw.number(0, 1)), (6, 5, 3)),
    "RandomInvert": random_layer(lambda draw: L.RandomInvert(
        draw.of(draw.number(0, 1), (0.2, 0.4)), value_range=draw.of((0, 255), (-1, 1))),
        (6, 5, 2)),
    "Solarization": random_layer(lambda draw: L.Solarization(
        draw.number(0, 1), draw.of(draw.number(0, 1), (0.2, 0.4)),
        value_range=draw.of((0, 255), (-1, 1))), (6, 5, 2)),
    "dropout of recurrent layers": recurrent_dropout,
}

LAYERS = {
    "Dense": dense, "Embedding": embedding,
    "Conv1D": conv1d, "Conv2D": conv2d, "DepthwiseConv1D": depthwise1d,
    "DepthwiseConv2D": depthwise2d, "SeparableConv1D": separable1d, "SeparableConv2D": separable2d,
    "Conv1DTranspose": conv1d_transpose, "Conv2DTranspose": conv2d_transpose,
    "MaxPooling1D": max_pooling1d, "MaxPooling2D": max_pooling2d,
    "AveragePooling1D": average_pooling1d, "AveragePooling2D": average_pooling2d,
    "GlobalMaxPooling1D": global_pooling(L.GlobalMaxPooling1D, 1),
    "GlobalMaxPooling2D": global_pooling(L.GlobalMaxPooling2D, 2),
    "GlobalAveragePooling1D": global_pooling(L.GlobalAveragePooling1D, 1),
    "GlobalAveragePooling2D": global_pooling(L.GlobalAveragePooling2D, 2),
    **{f"Adaptive{kind}Pooling{rank}D":
       adaptive_pooling(getattr(L, f"Adaptive{kind}Pooling{rank}D"), rank)
       for kind in ("Average", "Max") for rank in (1, 2, 3)},
    "ZeroPadding1D": zero_padding1d, "ZeroPadding2D": zero_padding2d, "Cropping1D": cropping1d,
    "Cropping2D": cropping2d, "UpSampling1D": up_sampling1d, "UpSampling2D": up_sampling2d,
    "ConvLSTM1D": conv_lstm(1), "ConvLSTM2D": conv_lstm(2),
    "Conv3D": conv3d, "Conv3DTranspose": conv3d_transpose, "MaxPooling3D": pooling3d(L.MaxPooling3D),
    "AveragePooling3D": pooling3d(L.AveragePooling3D),
    "GlobalMaxPooling3D": global_pooling(L.GlobalMaxPooling3D, 3),
    "GlobalAveragePooling3D": global_pooling(L.GlobalAveragePooling3D, 3),
    "ZeroPadding3D": zero_padding3d, "Cropping3D": cropping3d, "UpSampling3D": up_sampling3d,
    "Resizing": resizing, "BatchNormalization": batch_normalization,
    "LayerNormalization": layer_normalization, "GroupNormalization": group_normalization,
    "RMSNormalization": rms_normalization, "UnitNormalization": unit_normalization,
    "Normalization": normalization,
    "Rescaling": rescaling, "Activation": activation_layer, "ReLU": relu, "LeakyReLU": leaky_relu,
    "PReLU": prelu, "ELU": elu, "Softmax": softmax,
    **{name: operation(name) for name in ("Cos", "Erf", "Floor", "Log", "Reciprocal", "Sign",
                                         "Sin", "Sqrt")},
    "Add": merge(L.Add), "Subtract": merge(L.Subtract, 2), "Multiply": merge(L.Multiply),
    "Average": merge(L.Average), "Maximum": merge(L.Maximum), "Minimum": merge(L.Minimum),
    "Concatenate": concatenate, "Dot": dot, "Flatten": flatten, "Reshape": reshape,
    "Permute": permute, "RepeatVector": repeat_vector, "Identity": identity,
    "SimpleRNN": recurrent(L.SimpleRNN), "LSTM": recurrent(L.LSTM), "GRU": recurrent(L.GRU),
    "RNN": rnn, "Bidirectional": bidirectional, "MultiHeadAttention": attention,
    "Discretization": discretization,
    "EinsumDense": einsum_dense,
    "Attention": score_attention(L.Attention),
    "AdditiveAttention": score_attention(L.AdditiveAttention),
    "CategoryEncoding": category_encoding, "TimeDistributed": time_distributed,
    "CenterCrop": center_crop,
    "Masking": masking, "ActivityRegularization": activity_regularization,
    "activity regularizer": activity_regularizer,
    "orthogonal regularizer": orthogonal_regularizer,
    "shared layer": shared_layer, "shared normalization": shared_normalization,
    "model as a layer": model_as_layer, "frozen layer": frozen,
    **RANDOM,
}
