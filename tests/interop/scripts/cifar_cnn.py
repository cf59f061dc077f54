import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(1)
random = np.random.default_rng(1)
labels = random.integers(0, 4, (1600, 1))
classes = random.uniform(60, 190, (4, 4, 4, 3)).repeat(8, 1).repeat(8, 2)
noise = random.normal(0, 50, (1600, 32, 32, 3))
images = np.clip(classes[labels[:, 0]] + noise, 0, 255).astype("uint8")

model = keras.Sequential([
    keras.Input((32, 32, 3)),
    layers.RandomFlip("horizontal"),
    layers.Rescaling(1 / 255),
    layers.Conv2D(8, 3, padding="same", use_bias=False),
    layers.BatchNormalization(momentum=0.9),
    layers.Activation("relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(16, 3, activation="relu"),
    layers.MaxPooling2D(),
    layers.Dropout(0.25),
    layers.Flatten(),
    layers.Dense(32, activation="relu"),
    layers.Dense(4, activation="softmax"),
])
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(images[:1200], labels[:1200], batch_size=50, epochs=4, verbose=2,
                    validation_split=0.1)
accuracy = np.mean(model.predict(images[1200:], verbose=0).argmax(1) == labels[1200:, 0])
