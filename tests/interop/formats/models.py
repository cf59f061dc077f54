"""Keras models that between them have every layer which the formats can say, with random weights."""

import zlib

import keras
import numpy as np

L = keras.layers


def image(*layers, shape=(9, 8, 3)):
    return keras.Sequential([keras.Input(shape), *layers, L.Flatten(), L.Dense(2)])


def sequence(*layers, shape=(7, 4)):
    return keras.Sequential([keras.Input(shape), *layers, L.Flatten(), L.Dense(2)])


def rows(*layers, shape=(6,)):
    return keras.Sequential([keras.Input(shape), *layers, L.Dense(2)])


def activations():
    names = ["relu", "relu6", "elu", "selu", "sigmoid", "tanh", "softplus", "softsign", "silu",
             "gelu", "exponential", "hard_sigmoid", "linear", "softmax", "leaky_relu", "celu",
             "hard_silu", "hard_tanh", "hard_shrink", "soft_shrink", "log_sigmoid", "log_softmax",
             "mish", "sparse_plus", "sparse_sigmoid", "squareplus", "tanh_shrink"]
    i = keras.Input((6,))
    return keras.Model(i, L.Concatenate()([L.Dense(3, activation=n)(i) for n in names]))


def activation_layers():
    i = keras.Input((6,))
    layers = [L.ReLU(max_value=1.5, negative_slope=.1, threshold=.2), L.LeakyReLU(.2), L.ELU(.7),
              L.PReLU(), L.Softmax(), L.Activation("tanh")]
    return keras.Model(i, L.Concatenate()([layer(i) for layer in layers]))


def operations():
    i = keras.Input((6,))
    positive = L.Dense(3, activation="softplus")(i)
    return keras.Model(i, L.Concatenate()([getattr(keras.ops, each)(positive) for each in (
        "cos", "erf", "floor", "log", "reciprocal", "sign", "sin", "sqrt")]))


def merges():
    a, b = keras.Input((4, 3)), keras.Input((4, 3))
    x, y = L.Dense(3)(a), L.Dense(3)(b)
    ends = [L.Add()([x, y, a]), L.Subtract()([x, y]), L.Multiply()([x, y]), L.Average()([x, y, b]),
            L.Maximum()([x, y]), L.Minimum()([x, y]), L.Dot(axes=(2, 2))([x, y]),
            L.Concatenate(axis=1)([x, y])]
    return keras.Model([a, b], L.Concatenate()([L.Flatten()(e) for e in ends]))


def branches():
    """Keras numbers the layers of the longer branch first."""
    i = keras.Input((4,))
    short = L.Dense(3, name="short")(i)
    long = L.Dense(3, name="last")(L.Dense(3, name="middle")(L.Dense(3, name="first")(i)))
    x = L.Add()([short, long])
    return keras.Model(i, [L.Dense(2, name="out")(x), L.Dense(2, name="aside")(short)])


def shared_and_nested():
    a, b = keras.Input((4,)), keras.Input((4,))
    dense = L.Dense(3, name="twice")
    inner = keras.Sequential([keras.Input((3,)), L.Dense(4, name="dense"), L.BatchNormalization(),
                              L.Dense(3, name="other")], name="inner")
    x = inner(L.Add()([dense(a), dense(b)]))
    return keras.Model([a, b], L.Dense(2, name="dense")(inner(x, training=False)))


def attention():
    i = keras.Input((5, 6))
    x = L.MultiHeadAttention(2, 3, value_dim=4, output_shape=5)(i, i, use_causal_mask=True)
    x = L.LayerNormalization(epsilon=.01)(x)
    x = L.MultiHeadAttention(1, 3, use_bias=False)(x, i, i)
    return keras.Model(i, L.GlobalAveragePooling1D()(x))


def attention_mask():
    i, m, n = keras.Input((5, 6)), keras.Input((1, 5)), keras.Input((2, 5, 5))
    x = L.MultiHeadAttention(2, 3, dropout=.1)(i, i, attention_mask=L.ReLU()(m))
    x = L.MultiHeadAttention(2, 3)(x, i, i, attention_mask=L.ReLU()(n), use_causal_mask=True)
    return keras.Model([i, m, n], L.GlobalAveragePooling1D()(x))


def embedding():
    i = keras.Input((5,), dtype="int32")
    x = L.Embedding(9, 4, mask_zero=True)(i)
    x = L.LSTM(3, return_sequences=True)(x)
    return keras.Model(i, L.Dense(2)(L.GRU(3)(x)))


def states():
    """An encoder whose last states are the initial states of a decoder."""
    i, j = keras.Input((5, 2)), keras.Input((4, 3))
    _, h, c = L.LSTM(3, return_state=True, name="encoder")(i)
    both = L.Bidirectional(L.GRU(3, return_sequences=True, return_state=True, use_bias=False))
    x, forward, backward = both(j, initial_state=[h, c])
    y = L.SimpleRNN(3, return_sequences=True, go_backwards=True)(x, initial_state=forward)
    z, last, _ = L.LSTM(3, return_sequences=True, return_state=True, name="decoder")(
        y, initial_state=[backward, c])
    return keras.Model([i, j], [L.Dense(2)(z), L.Dense(2, name="states")(
        L.Concatenate()([last, forward]))])


def one_way_states():
    """The same without a bidirectional layer."""
    i, j = keras.Input((5, 2)), keras.Input((4, 3))
    x, h, c = L.LSTM(3, return_state=True, return_sequences=True)(i)
    y = L.SimpleRNN(3, return_sequences=True, go_backwards=True)(j, initial_state=h)
    z, last, _ = L.LSTM(3, return_sequences=True, return_state=True)(y, initial_state=[h, c])
    g, state = L.GRU(3, return_state=True)(z, initial_state=last)
    return keras.Model([i, j], L.Dense(2)(L.Concatenate()(
        [L.Flatten()(x), L.Flatten()(z), g, state])))


def masked_states():
    """Keras 3 does not mask a layer that is called with initial states."""
    i, j = keras.Input((5,), dtype="int32"), keras.Input((4,), dtype="int32")
    _, h = L.GRU(3, return_state=True)(L.Embedding(9, 4, mask_zero=True)(i))
    x = L.GRU(3)(L.Embedding(9, 4, mask_zero=True)(j), initial_state=h)
    return keras.Model([i, j], L.Dense(2)(x))


def stacked_cells():
    """A job has a layer for each cell."""
    i = keras.Input((5, 2))
    x = L.RNN([L.LSTMCell(3), L.GRUCell(2), L.LSTMCell(4)], return_sequences=True,
              go_backwards=True)(i)
    return keras.Model(i, L.Dense(2)(L.RNN(L.SimpleRNNCell(3))(x)))


def masked_stack():
    i = keras.Input((5,), dtype="int32")
    x = L.Embedding(9, 3, mask_zero=True)(i)
    x = L.RNN([L.LSTMCell(3), L.GRUCell(2), L.LSTMCell(4)], return_sequences=True,
              go_backwards=True)(x)
    return keras.Model(i, L.Dense(2)(L.SimpleRNN(3)(x)))


def masking():
    i = keras.Input((5, 2))
    x = L.LSTM(3, return_sequences=True)(L.Masking(.5)(i))
    return keras.Model(i, L.Dense(2, activity_regularizer="l2")(L.GRU(3)(x)))


def categories():
    i, j = keras.Input((3,), dtype="int32"), keras.Input((1,), dtype="int32")
    one_hot = L.CategoryEncoding(5, output_mode="one_hot")
    ends = [L.CategoryEncoding(6)(i), L.Flatten()(one_hot(i)), one_hot(j),
            L.Flatten()(L.Embedding(5, 2)(L.Flatten()(i)))]
    return keras.Model([i, j], L.Dense(2)(L.Concatenate()(ends)))


def merged_masks():
    i, j = keras.Input((4,), dtype="int32"), keras.Input((4,), dtype="int32")
    a = L.Embedding(9, 3, mask_zero=True)(i)
    b = L.Embedding(9, 3, mask_zero=True)(j)
    c = L.Embedding(9, 3)(j)
    merged = [L.Add()([a, b]), L.Average()([a, c]), L.Multiply()([a, L.Dense(3)(a)]),
              L.Concatenate()([a, b]), L.Concatenate()([a, c]), L.Concatenate(axis=1)([a, b]),
              L.Concatenate(axis=1)([c, a])]
    ends = [L.GRU(2)(x) for x in merged] + [L.LSTM(2)(L.Subtract()([merged[0], a]))]
    return keras.Model([i, j], L.Dense(2)(L.Concatenate()(ends)))


def masked_ends():
    """Every layer that uses a mask, behind one."""
    i, j = keras.Input((4,), dtype="int32"), keras.Input((4, 2))
    a, c = L.Embedding(9, 4, mask_zero=True)(i), L.Embedding(9, 4, mask_zero=True)(i)
    b = L.Masking(.5)(j)
    ends = [L.GlobalAveragePooling1D()(x) for x in (
        a, b, L.MultiHeadAttention(2, 3)(a, a), L.MultiHeadAttention(1, 2)(c, b, use_causal_mask=True),
        L.Bidirectional(L.LSTM(2, return_sequences=True), merge_mode="ave")(a),
        L.RNN(L.GRUCell(3, reset_after=False), return_sequences=True, zero_output_for_mask=True,
              go_backwards=True)(L.Dropout(.1)(a)))]
    ends += L.Bidirectional(L.GRU(2, return_state=True))(b)
    ends.append(L.SimpleRNN(3, activation="softsign")(L.Dense(3)(a)))
    return keras.Model([i, j], L.Dense(2)(L.Concatenate()(ends)))


def normalization():
    layer = L.Normalization()
    layer.adapt(np.random.default_rng(1).normal(3, 2, (50, 6)).astype("f"))
    return rows(layer, L.Rescaling(.5, offset=1.), L.Normalization(mean=[1.] * 6, variance=[2.] * 6))


MODELS = {
    "rows": lambda: rows(L.Dense(5, activation="relu"), L.Dropout(.3), L.GaussianNoise(.1),
                         L.GaussianDropout(.1), L.Dense(3, use_bias=False), L.BatchNormalization(),
                         L.LayerNormalization(scale=False)),
    "activations": activations,
    "activation_layers": activation_layers,
    "operations": operations,
    "merges": merges,
    "branches": branches,
    "shared_and_nested": shared_and_nested,
    "attention": attention,
    "embedding": embedding,
    "normalization": normalization,
    "conv2d": lambda: image(L.Conv2D(4, (3, 2), strides=2, padding="same", activation="relu"),
                            L.BatchNormalization(scale=False, epsilon=.01),
                            L.Conv2D(6, 2, dilation_rate=2, groups=2, use_bias=False)),
    "conv_variants": lambda: image(L.DepthwiseConv2D(3, depth_multiplier=2, padding="same"),
                                   L.SeparableConv2D(4, 3, strides=2),
                                   L.Conv2DTranspose(3, 3, strides=2, padding="same")),
    "pooling2d": lambda: image(L.MaxPooling2D((2, 3), strides=2, padding="same"),
                               L.AveragePooling2D(2, strides=1, padding="same"),
                               L.AveragePooling2D(2)),
    "global_pooling": lambda: keras.Sequential([keras.Input((5, 4, 3)), L.SpatialDropout2D(.2),
                                                L.GlobalMaxPooling2D(), L.Dense(2)]),
    "global_average": lambda: keras.Sequential([keras.Input((5, 4, 3)),
                                                L.GlobalAveragePooling2D(), L.Dense(2)]),
    "rearranging": lambda: image(L.ZeroPadding2D(((1, 2), (0, 1))), L.Cropping2D(((1, 0), (1, 2))),
                                 L.Permute((2, 1, 3)), L.UpSampling2D((2, 1)),
                                 L.UpSampling2D(2, interpolation="bilinear"),
                                 L.Reshape((-1, 3))),
    "preprocessing": lambda: image(L.Resizing(6, 5), L.RandomFlip()),
    "changed_images": lambda: image(
        L.RandomRotation(.2), L.RandomTranslation(.1, (-.2, .1), fill_mode="wrap"),
        L.RandomZoom(.2, interpolation="nearest"), L.RandomShear((0, .2), fill_mode="constant"),
        L.RandomErasing(fill_value=1.), L.RandomInvert(), L.RandomGrayscale(),
        L.ActivityRegularization(.1)),
    "adaptive_pooling": lambda: image(L.AdaptiveMaxPooling2D(5), L.AdaptiveAveragePooling2D((3, 2))),
    "volumes": lambda: keras.Sequential([keras.Input((2, 3, 2, 2)), L.Conv3DTranspose(3, 2, 2),
                                         L.AdaptiveAveragePooling3D(2), L.Flatten(), L.Dense(2)]),
    "conv1d": lambda: sequence(L.Conv1D(5, 3, padding="causal", activation="tanh"),
                               L.SeparableConv1D(4, 2), L.DepthwiseConv1D(2, padding="same"),
                               L.Conv1DTranspose(3, 2, strides=2)),
    "pooling1d": lambda: sequence(L.ZeroPadding1D(2), L.Cropping1D((1, 0)), L.MaxPooling1D(2),
                                  L.UpSampling1D(2), L.AveragePooling1D(2, padding="same"),
                                  L.SpatialDropout1D(.2)),
    "recurrent": lambda: sequence(L.SimpleRNN(3, return_sequences=True, go_backwards=True),
                                  L.LSTM(4, return_sequences=True, recurrent_activation="hard_sigmoid"),
                                  L.GRU(3, reset_after=False, return_sequences=True),
                                  L.GRU(3, use_bias=False)),
    "unrolled": lambda: sequence(L.GRU(3, activation="softsign", return_sequences=True),
                                 L.Bidirectional(L.LSTM(2, recurrent_activation="tanh",
                                                        activation="elu"))),
    "bidirectional": lambda: sequence(
        L.Bidirectional(L.LSTM(3, return_sequences=True), merge_mode="sum"),
        L.Bidirectional(L.GRU(2))),
    "cell": lambda: sequence(L.RNN(L.SimpleRNNCell(3), return_sequences=True, go_backwards=True),
                             L.RNN(L.GRUCell(3, reset_after=True)),
                             L.RepeatVector(2), L.LSTM(3, recurrent_dropout=.2)),
    "states": states,
    "one_way_states": one_way_states,
    "stacked_cells": stacked_cells,
    "masked_states": masked_states,
    "masked_ends": masked_ends,
    "masking": masking,
    "merged_masks": merged_masks,
    "masked_stack": masked_stack,
    "conv_lstm": lambda: keras.Sequential([
        keras.Input((3, 5, 4, 2)), L.ConvLSTM2D(3, 2, return_sequences=True, padding="same"),
        L.Reshape((3, 20, 3)), L.ConvLSTM1D(2, 3), L.Flatten(), L.Dense(2)]),
    "repeat": lambda: keras.Sequential([keras.Input((4,)), L.RepeatVector(3), L.LSTM(2),
                                        L.Identity()]),
    "category": lambda: keras.Sequential([keras.Input((3,), dtype="int32"),
                                          L.CategoryEncoding(5, output_mode="count"), L.Dense(2)]),
    "categories": categories,
}


def make(name):
    """The model, with random weights that do not change in a step of training."""
    # The built-in hash differs between runs.
    seed = zlib.crc32(name.encode())
    keras.utils.clear_session()
    keras.utils.set_random_seed(seed)
    model = MODELS[name]()
    random = np.random.default_rng(seed)
    for layer in model._flatten_layers():
        if isinstance(layer, L.BatchNormalization):
            layer.momentum = 1.0
        for variable in layer._trainable_variables + layer._non_trainable_variables:
            if variable.dtype != "float32" or isinstance(layer, L.Normalization):
                continue
            low = .5 if "variance" in variable.path else -.5
            variable.assign(random.uniform(low, low + 1, variable.shape).astype("f"))
    return model


def inputs(model, examples=5):
    random = np.random.default_rng(7)
    arrays = []
    for tensor in model.inputs:
        shape = (examples, *tensor.shape[1:])
        arrays.append(random.integers(0, 5, shape).astype("int32") if tensor.dtype == "int32"
                      else random.normal(0, 1, shape).astype("f"))
    return arrays
