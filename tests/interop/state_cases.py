"""Random small models in which the last states of a recurrent layer are the first ones of another, or
masks meet."""

import keras
from keras import layers as L
from layer_cases import head, recurrent_arguments


def states(draw):
    """An encoder whose last states are the initial states of a decoder."""
    kind = draw.of(L.SimpleRNN, L.LSTM, L.GRU)
    units = draw.between(1, 4)

    def layer(**more):
        arguments = {**recurrent_arguments(draw, kind), "units": units, **more}
        if draw.yes():
            cell = {L.SimpleRNN: L.SimpleRNNCell, L.LSTM: L.LSTMCell, L.GRU: L.GRUCell}[kind]
            of_layer = {name: arguments.pop(name)
                        for name in ("return_sequences", "go_backwards", "return_state")
                        if name in arguments}
            return L.RNN(cell(**arguments), **of_layer)
        return kind(**arguments)

    inputs = keras.Input((4,), dtype="int32")
    tensor = L.Embedding(3, 3, mask_zero=draw.yes(), embeddings_initializer=keras.initializers
                         .RandomNormal(seed=draw.seed()))(inputs)
    _, *last = layer(return_state=True)(tensor)
    target = keras.Input((3, 2))
    decoded = layer(return_state=draw.yes())(target, initial_state=last)
    tensors = decoded if isinstance(decoded, (list, tuple)) else [decoded]
    if draw.yes():
        tensors = [*tensors, last[-1]]
    return keras.Model([inputs, target],
                       head(L.Concatenate()([L.Flatten()(each) for each in tensors])))


def bidirectional_states(draw):
    kind = draw.of(L.SimpleRNN, L.LSTM, L.GRU)
    units = draw.between(1, 3)

    def layer():
        arguments = {**recurrent_arguments(draw, kind), "go_backwards": False, "units": units}
        return L.Bidirectional(kind(**arguments, return_state=True),
                               merge_mode=draw.of("concat", "sum", "mul", "ave"))

    inputs, target = keras.Input((4, 2)), keras.Input((3, 2))
    output, *last = layer()(L.Dense(2)(inputs))
    decoded = layer()(target, initial_state=last)
    return keras.Model([inputs, target], head(L.Concatenate()(
        [L.Flatten()(each) for each in (output, *decoded)])))


def masked_attention(draw, dropout=0.0):
    """Keras removes the masks of the inputs of MultiHeadAttention from what is computed later."""
    inputs = keras.Input((4,), dtype="int32")
    # Small numbers hide what the scores get of the gradient.
    tensor = L.Embedding(3, 3, mask_zero=True, embeddings_initializer=keras.initializers
                         .RandomNormal(stddev=draw.of(0.05, 1.0), seed=draw.seed()))(inputs)
    for _ in range(draw.between(1, 2)):
        other = L.Dense(3)(tensor) if draw.yes() else tensor
        attended = L.MultiHeadAttention(draw.between(1, 3), 2, dropout=dropout)(
            tensor, other, use_causal_mask=draw.yes())
        if draw.yes():
            attended = L.Add()([draw.of(tensor, other), attended])
        tensor = L.LayerNormalization()(attended)
    layer = draw.of(L.LSTM(3), L.GlobalAveragePooling1D())
    return keras.Model(inputs, head(layer(tensor)))


def attention_mask(draw, dropout=0.0):
    """An attention mask of numbers, about half of which are 0, beside masks of the inputs."""
    inputs = keras.Input((4,), dtype="int32")
    tensor = L.Embedding(3, 3, mask_zero=draw.yes(), embeddings_initializer=keras.initializers
                         .RandomNormal(seed=draw.seed()))(inputs)
    others, heads = keras.Input((5, 2)), draw.between(1, 3)
    value = L.Dense(3)(others) if draw.yes() else tensor
    shape = (draw.of(1, 4), draw.of(1, value.shape[1]))
    causal = value is tensor and draw.yes()
    # Keras takes the axis of the heads for that of the examples if there are other masks.
    if not causal and not any(getattr(each, "_keras_mask", None) is not None
                              for each in (tensor, value)):
        shape = draw.of(shape, (draw.of(1, heads), *shape))
    numbers = keras.Input(shape)
    attended = L.MultiHeadAttention(heads, 2, dropout=dropout)(
        tensor, value, attention_mask=L.ReLU()(numbers), use_causal_mask=causal)
    flat = L.Flatten()(L.Add()([tensor, attended]))
    return keras.Model([inputs, numbers, others][:2 + (value is not tensor)], head(flat))


def merged_masks(draw):
    """Two sequences that meet, of which any may have a mask."""
    inputs = [keras.Input((4,), dtype="int32") for _ in range(2)]
    tensors = [L.Embedding(3, 3, mask_zero=draw.yes(), embeddings_initializer=keras.initializers
                           .RandomNormal(seed=draw.seed()))(each) for each in inputs]
    merge = draw.of(L.Add(), L.Average(), L.Concatenate(), L.Concatenate(axis=1))
    tensor = merge([*tensors, *([L.Dense(3)(tensors[0])] if draw.yes() else [])])
    layer = draw.of(L.LSTM(3), L.GRU(2, go_backwards=True), L.GlobalAveragePooling1D(),
                    L.RNN([L.LSTMCell(2), L.GRUCell(3)], go_backwards=draw.yes()))
    return keras.Model(inputs, head(layer(tensor)))


def sequence_to_sequence(draw):
    """The model of the textbooks: it says 3 numbers for each of 5 steps."""
    encoder, decoder = keras.Input((4,), dtype="int32"), keras.Input((5,), dtype="int32")
    tables = [L.Embedding(3, 3, mask_zero=masked, embeddings_initializer=keras.initializers
                          .RandomNormal(seed=draw.seed())) for masked in (True, False)]
    _, h, c = L.LSTM(4, return_state=True, kernel_initializer=draw.initializer())(
        tables[0](encoder))
    sequence, _, _ = L.LSTM(4, return_sequences=True, return_state=True,
                            kernel_initializer=draw.initializer())(
        tables[1](decoder), initial_state=[h, c])
    return keras.Model([encoder, decoder], L.Dense(3, activation="softmax")(sequence))


RANDOM = {  # Only inference is compared.
    "of masked attention with dropout": lambda draw: masked_attention(draw, dropout=0.3),
    "of an attention mask with dropout": lambda draw: attention_mask(draw, dropout=0.3)}
STATES = {"of layers and cells": states, "of Bidirectional": bidirectional_states,
          "of merged masks": merged_masks, "of masked attention": masked_attention,
          "of an attention mask": attention_mask, **RANDOM}
