import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(1)
random = np.random.default_rng(1)
labels = random.integers(0, 3, 400)
classes = random.uniform(60, 195, (3, 2, 2, 3)).repeat(16, 1).repeat(16, 2)
noise = random.normal(0, 15, (400, 32, 32, 3))
images = np.clip(classes[labels] + noise, 0, 255).astype("float32")

mobile_net = keras.applications.MobileNetV2(input_shape=(32, 32, 3), alpha=0.35, include_top=False,
                                            weights=None)
base_model = keras.Model(mobile_net.input, mobile_net.get_layer("block_3_expand_relu").output)
# In place of downloaded weights: random ones, with the moving statistics of some images.
for layer in base_model.layers:
    layer.momentum = 0.0
base_model(images[:100] / 127.5 - 1, training=True)

base_model.trainable = False
inputs = keras.Input((32, 32, 3))
x = layers.RandomFlip("horizontal")(inputs)
x = keras.applications.mobilenet_v2.preprocess_input(x)
x = base_model(x, training=False)
x = layers.GlobalAveragePooling2D()(x)
x = layers.Dropout(0.2)(x)
outputs = layers.Dense(3, activation="softmax")(x)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(0.03), loss="sparse_categorical_crossentropy",
              metrics=["accuracy"], jit_compile=False)
history = model.fit(images[:300], labels[:300], batch_size=50, epochs=5, verbose=2,
                    validation_data=(images[300:], labels[300:]))

base_model.trainable = True
for layer in base_model.layers:
    if isinstance(layer, layers.BatchNormalization) or layer not in base_model.layers[-10:]:
        layer.trainable = False
model.compile(optimizer=keras.optimizers.Adam(0.001), loss="sparse_categorical_crossentropy",
              metrics=["accuracy"], jit_compile=False)
history = model.fit(images[:300], labels[:300], batch_size=50, epochs=9, verbose=2,
                    initial_epoch=len(history.epoch),
                    validation_data=(images[300:], labels[300:]))
accuracy = np.mean(model.predict(images[300:], verbose=0).argmax(1) == labels[300:])
