import keras
import numpy as np
from fashion_mnist import load_data
from keras import layers

keras.utils.set_random_seed(1)
(x_train, y_train), (x_test, y_test) = load_data()
x_train = x_train[:20000, ..., None].astype("float32") / 255
y_train = keras.utils.to_categorical(y_train[:20000], 10)
x_test = x_test[..., None].astype("float32") / 255

model = keras.Sequential([
    keras.Input((28, 28, 1)),
    layers.Conv2D(16, 3, activation="relu", padding="same"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, activation="relu"),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dropout(0.2),
    layers.Dense(10, activation="softmax"),
])
schedule = keras.optimizers.schedules.CosineDecay(0.002, decay_steps=3 * 157)
model.compile(optimizer=keras.optimizers.Adam(schedule), loss="categorical_crossentropy",
              metrics=["accuracy"])
history = model.fit(x_train, y_train, batch_size=128, epochs=3, verbose=2, validation_split=0.1)
accuracy = np.mean(model.predict(x_test, verbose=0).argmax(1) == y_test)
