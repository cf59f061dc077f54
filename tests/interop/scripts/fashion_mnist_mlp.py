import keras
import numpy as np
from fashion_mnist import load_data

keras.utils.set_random_seed(1)
(x_train, y_train), (x_test, y_test) = load_data()
x_train = x_train.reshape(-1, 784).astype("float32") / 255
x_test = x_test.reshape(-1, 784).astype("float32") / 255

model = keras.Sequential([
    keras.Input((784,)),
    keras.layers.Dense(128, activation="relu"),
    keras.layers.Dropout(0.1),
    keras.layers.Dense(10, activation="softmax"),
])
schedule = keras.optimizers.schedules.CosineDecay(0.001, decay_steps=3 * 469)
model.compile(optimizer=keras.optimizers.Adam(schedule),
              loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x_train, y_train, batch_size=128, epochs=3, verbose=2,
                    validation_data=(x_test, y_test))
accuracy = np.mean(model.predict(x_test, verbose=0).argmax(1) == y_test)
