// Writes what TensorFlow.js's optimizers make of known gradients: the reference for
// tests/nn/reference/tfjs_optimizer_test.cc. Needs node and npm's @tensorflow/tfjs (4.22.0 was
// used); from a folder where that is installed:
//   node .../tests/nn/reference/optimizers.mjs > .../tests/nn/reference/optimizers.txt
import {createRequire} from 'module';
import {pathToFileURL} from 'url';

const tf = createRequire(pathToFileURL(process.cwd() + '/'))('@tensorflow/tfjs');

const ELEMENTS = 12;
const UPDATES = [1, 2, 10, 100, 300];

// Exact as floats. The test has the same two.
const start = (i) => (i - 5) / 4;
const gradient = (t, i) => ((t * 7 + i * 13) % 29 - 14) / 8;

// The job file's form of an optimizer, as text of proto/job.proto, and TensorFlow.js's. Two are left
// out because TensorFlow.js 4.22 differs from Keras there: its adadelta divides by the accumulated
// gradient from before the update, its centered rmsprop subtracts epsilon.
const CASES = [
  ['name: "sgd" learning_rate: 0.05', () => tf.train.sgd(0.05)],
  ['name: "sgd" learning_rate: 0.05 momentum: 0.9', () => tf.train.momentum(0.05, 0.9, false)],
  ['name: "sgd" learning_rate: 0.05 momentum: 0.9 nesterov: true',
   () => tf.train.momentum(0.05, 0.9, true)],
  ['name: "adam"', () => tf.train.adam()],
  ['name: "adam" learning_rate: 0.01 beta_1: 0.8 beta_2: 0.95',
   () => tf.train.adam(0.01, 0.8, 0.95)],
  ['name: "adamax" learning_rate: 0.002', () => tf.train.adamax(0.002)],
  ['name: "adamax" learning_rate: 0.02 beta_1: 0.8 beta_2: 0.95',
   () => tf.train.adamax(0.02, 0.8, 0.95)],
  ['name: "adagrad" learning_rate: 0.1', () => tf.train.adagrad(0.1)],
  ['name: "adagrad" learning_rate: 0.1 initial_accumulator_value: 0.5',
   () => tf.train.adagrad(0.1, 0.5)],
  ['name: "rmsprop" learning_rate: 0.01', () => tf.train.rmsprop(0.01)],
  ['name: "rmsprop" learning_rate: 0.01 rho: 0.8 momentum: 0.5 epsilon: 0.001',
   () => tf.train.rmsprop(0.01, 0.8, 0.5, 0.001)],
];

await tf.setBackend('cpu');
const indices = [...Array(ELEMENTS).keys()];
for (const [text, create] of CASES) {
  const optimizer = create();
  const variable = tf.variable(tf.tensor1d(indices.map(start)), true, 'x');
  console.log(`optimizer ${text}`);
  for (let t = 0; t < UPDATES[UPDATES.length - 1]; ++t) {
    const g = tf.tensor1d(indices.map((i) => gradient(t, i)));
    optimizer.applyGradients({x: g});
    g.dispose();
    if (UPDATES.includes(t + 1)) console.log(`${t + 1} ${[...variable.dataSync()].join(' ')}`);
  }
  variable.dispose();
}
