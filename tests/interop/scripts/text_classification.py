import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(1)
random = np.random.default_rng(1)
words = {0: "awful boring dull poor waste".split(), 1: "great lovely superb fun moving".split()}
fillers = "the a film plot actor scene story with and of was it".split()
labels = random.integers(0, 2, 3000)
texts = [" ".join(random.permutation(np.concatenate([random.choice(fillers, 9),
                                                     random.choice(words[label], 2),
                                                     random.choice(words[1 - label], 1)])))
         for label in labels]

vectorize = layers.TextVectorization(max_tokens=100, output_sequence_length=12)
vectorize.adapt(texts[:2000])
x = np.array(texts, dtype=object)

model = keras.Sequential([
    keras.Input((1,), dtype="string"),
    vectorize,
    layers.Embedding(100, 16),
    layers.GRU(16),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="binary_crossentropy",
              metrics=["accuracy"])
history = model.fit(x[:2000], labels[:2000], batch_size=64, epochs=4, verbose=2,
                    validation_data=(x[2000:], labels[2000:]))
accuracy = np.mean((model.predict(x[2000:], verbose=0)[:, 0] > 0.5) == labels[2000:])
