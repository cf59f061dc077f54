import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(1)
random = np.random.default_rng(1)
wide = random.normal(size=(24000, 10)).astype("float32")
deep = random.normal(size=(24000, 6)).astype("float32")
score = wide[:, 0] - wide[:, 1] + np.sin(2 * deep[:, 0]) * deep[:, 1] + 0.5 * deep[:, 2] ** 2
labels = (score > 0.5).astype("float32")

input_wide = keras.Input((10,), name="wide")
input_deep = keras.Input((6,), name="deep")
hidden = layers.Dense(32, activation="relu")(layers.BatchNormalization()(input_deep))
hidden = layers.Dense(32, activation="relu")(hidden)
joined = layers.Concatenate()([input_wide, hidden])
output = layers.Dense(1, activation="sigmoid", name="output")(joined)
model = keras.Model([input_wide, input_deep], output)
model.compile(optimizer=keras.optimizers.RMSprop(0.002), loss="binary_crossentropy",
              metrics=["accuracy", keras.metrics.AUC(name="auc")])
history = model.fit([wide[:20000], deep[:20000]], labels[:20000], batch_size=128, epochs=12, verbose=2,
                    callbacks=[keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True)],
                    validation_data=([wide[20000:], deep[20000:]], labels[20000:]))
predicted = model.predict([wide[20000:], deep[20000:]], verbose=0)[:, 0] > 0.5
accuracy = np.mean(predicted == labels[20000:])
