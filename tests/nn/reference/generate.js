// Writes cases.json: small models of one or two layers each, with TensorFlow.js's outputs and
// gradients. Needs node and npm; run in an empty folder:
//
//   npm install @tensorflow/tfjs && NODE_PATH=node_modules node PATH/generate.js > PATH/cases.json
//
// A layer's arguments are written as Keras writes them, without those that have Keras's default.
// Where TensorFlow.js has another default than Keras, `tfjs` says Keras's to it alone.
//
// A case has: `model` (a Keras architecture), `weights` (in the order of the model's variables),
// `inputs`, `output` (in inference), and `gradients` (of the mean of the squared output in training,
// in the order of the weights, null where there is none or TensorFlow.js cannot).

const tf = require('@tensorflow/tfjs');

let state = 12345;
function draw(count, scale = 1) {
  const values = [];
  for (let i = 0; i < count; ++i) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    values.push(Math.fround(((state >>> 8) / 2 ** 24 * 2 - 1) * scale));
  }
  return values;
}
const size = (shape) => shape.reduce((a, b) => a * b, 1);

// Layers in a row over inputs of `shapes`; with several inputs the first layer takes them all.
function architecture(shapes, layers, dtype, forTfjs) {
  const entries = shapes.map((shape, i) => ({
    class_name: 'InputLayer', name: `x${i}`, inbound_nodes: [],
    config: {name: `x${i}`, batch_input_shape: [null, ...shape], dtype: dtype || 'float32'},
  }));
  let from = shapes.map((_, i) => `x${i}`);
  layers.forEach(([className, config, tfjs], i) => {
    const name = `layer${i}`;
    entries.push({
      class_name: className, name, config: {name, ...config, ...(forTfjs ? tfjs : {})},
      inbound_nodes: [from.map((layer) => [layer, 0, 0, {}])],
    });
    from = [name];
  });
  return {class_name: 'Model', config: {
    name: 'model', layers: entries, input_layers: shapes.map((_, i) => [`x${i}`, 0, 0]),
    output_layers: [[from[0], 0, 0]],
  }};
}

async function run(name, shapes, layers, {dtype, batch = 2, gradients = true} = {}) {
  const model = await tf.models.modelFromJSON(
      {modelTopology: {keras_version: 'tfjs-layers', backend: 'tensor_flow.js',
                       model_config: architecture(shapes, layers, dtype, true)}});
  const weights = model.getWeights().map((w, i) => {
    const isVariance = model.weights[i].name.includes('variance');
    const values = draw(w.size, 0.7).map((v) => isVariance ? Math.abs(v) + 0.5 : v);
    return {shape: w.shape, values: values.map(Math.fround)};
  });
  model.setWeights(weights.map((w) => tf.tensor(w.values, w.shape)));
  const inputs = shapes.map((shape) => {
    const values = draw(batch * size(shape));
    const ids = values.map((v) => Math.floor((v + 1) * 2) % 4);
    return {shape: [batch, ...shape], values: dtype === 'int32' ? ids : values};
  });
  const tensors = inputs.map((x) => tf.tensor(x.values, x.shape, dtype || 'float32'));
  const x = tensors.length === 1 ? tensors[0] : tensors;
  const output = model.apply(x, {training: false});
  const result = {name, model: architecture(shapes, layers, dtype, false), weights, inputs,
                  output: {shape: output.shape, values: Array.from(output.dataSync())}};
  result.gradients = weights.map(() => null);
  if (gradients && model.trainableWeights.length > 0) {
    const {grads} = tf.variableGrads(() => tf.mean(tf.square(model.apply(x, {training: true}))));
    model.weights.forEach((w, i) => {
      const variable = w.val || w;
      const gradient = grads[variable.name];
      if (gradient) result.gradients[i] = Array.from(gradient.dataSync());
    });
  }
  return result;
}

const image = [[5, 4, 3]];
const steps = [[6, 3]];
const sigmoid = {recurrent_activation: 'sigmoid'};
const before = {reset_after: false};
const dense = ['Dense', {units: 3}];
const two = [[4], [4]];

const cases = [
  ['dense', [[5]], [['Dense', {units: 4, activation: 'tanh'}], dense]],
  ['conv2d', image, [['Conv2D', {filters: 4, kernel_size: 3}]]],
  ['conv2d_same', image, [['Conv2D', {filters: 4, kernel_size: [3, 2], strides: 2, padding: 'same', activation: 'relu'}]]],
  ['conv2d_dilated', [[7, 7, 2]], [['Conv2D', {filters: 3, kernel_size: 3, dilation_rate: 2}]], {gradients: false}],
  ['conv1d', steps, [['Conv1D', {filters: 4, kernel_size: 3}]]],
  ['depthwise', image, [['DepthwiseConv2D', {kernel_size: 3}]]],
  ['depthwise_same', image, [['DepthwiseConv2D', {kernel_size: 3, depth_multiplier: 2, padding: 'same', strides: 2}]]],
  ['separable', image, [['SeparableConv2D', {filters: 4, kernel_size: 3}]]],
  ['separable_same', image, [['SeparableConv2D', {filters: 2, kernel_size: 3, depth_multiplier: 2, padding: 'same'}]]],
  ['transpose', image, [['Conv2DTranspose', {filters: 2, kernel_size: 3}]]],
  ['transpose_strided', image, [['Conv2DTranspose', {filters: 2, kernel_size: 3, strides: 2, padding: 'same'}]]],
  ['transpose_valid', image, [['Conv2DTranspose', {filters: 2, kernel_size: 2, strides: 3}]]],
  ['zero_padding', image, [['ZeroPadding2D', {}]]],
  ['zero_padding_uneven', image, [['ZeroPadding2D', {padding: [[1, 2], [0, 3]]}]]],
  ['cropping', image, [['Cropping2D', {cropping: [[1, 0], [1, 1]]}]]],
  ['up_sampling', image, [['UpSampling2D', {}]]],
  ['max_pooling', image, [['MaxPooling2D', {}]]],
  ['max_pooling_same', image, [['MaxPooling2D', {pool_size: 3, strides: 2, padding: 'same'}]]],
  ['average_pooling', image, [['AveragePooling2D', {}]]],
  ['average_pooling_same', image, [['AveragePooling2D', {pool_size: 3, strides: 2, padding: 'same'}]]],
  ['max_pooling_1d', steps, [['MaxPooling1D', {}]]],
  ['average_pooling_1d', steps, [['AveragePooling1D', {pool_size: 3}]]],
  ['global_average', image, [['GlobalAveragePooling2D', {}]]],
  ['global_max', image, [['GlobalMaxPooling2D', {}]]],
  ['global_average_1d', steps, [['GlobalAveragePooling1D', {}]]],
  ['global_max_1d', steps, [['GlobalMaxPooling1D', {}]]],
  ['batch_normalization', image, [['BatchNormalization', {}]], {batch: 3}],
  ['layer_normalization', steps, [['LayerNormalization', {}]]],
  ['relu', [[6]], [['ReLU', {}], dense]],
  ['relu_max', [[6]], [['ReLU', {max_value: 0.5}], dense]],
  ['leaky_relu', [[6]], [['LeakyReLU', {}], dense]],
  ['prelu', [[6]], [['PReLU', {}], dense]],
  ['elu', [[6]], [['ELU', {}], dense]],
  ['softmax', [[6]], [['Softmax', {}], dense]],
  ['add', two, [['Add', {}], dense]],
  ['multiply', two, [['Multiply', {}], dense]],
  ['average', two, [['Average', {}], dense]],
  ['maximum', two, [['Maximum', {}], dense]],
  ['minimum', two, [['Minimum', {}], dense]],
  ['concatenate', two, [['Concatenate', {}], dense]],
  ['dot', two, [['Dot', {axes: -1}], dense]],
  ['dot_normalized', two, [['Dot', {axes: 1, normalize: true}], dense]],
  ['permute', [[2, 3, 4]], [['Permute', {dims: [2, 3, 1]}]]],
  ['repeat_vector', [[3]], [['RepeatVector', {n: 4}], dense]],
  ['reshape', [[2, 6]], [['Reshape', {target_shape: [3, 4]}], dense]],
  ['embedding', [[4]], [['Embedding', {input_dim: 4, output_dim: 3}]], {dtype: 'int32'}],
  ['simple_rnn', steps, [['SimpleRNN', {units: 4}]]],
  ['simple_rnn_sequences', steps, [['SimpleRNN', {units: 2, return_sequences: true, go_backwards: true}]]],
  ['lstm', steps, [['LSTM', {units: 4}, sigmoid]]],
  ['lstm_sequences', steps, [['LSTM', {units: 3, return_sequences: true}, sigmoid]]],
  ['gru_reset_before', steps, [['GRU', {units: 4, ...before}, sigmoid]]],
  ['lstm_masked', [[5]], [['Embedding', {input_dim: 4, output_dim: 3, mask_zero: true}],
                          ['LSTM', {units: 3}, sigmoid]], {dtype: 'int32', batch: 4}],
  ['bidirectional', steps, [['Bidirectional', {layer: {class_name: 'LSTM', config: {name: 'inner', units: 3, ...sigmoid}}},
                             {merge_mode: 'concat'}]]],
  ['bidirectional_sum', steps, [['Bidirectional', {layer: {class_name: 'SimpleRNN', config: {name: 'inner', units: 3, return_sequences: true}},
                                                   merge_mode: 'sum'}]]],
  ['rescaling', [[4]], [['Rescaling', {scale: 0.5, offset: 2}], dense]],
];

(async () => {
  const results = [];
  for (const [name, shapes, layers, options] of cases) {
    try {
      results.push(await run(name, shapes, layers, options));
    } catch (error) {
      console.error(`${name}: ${error.message}`);
      process.exitCode = 1;
    }
  }
  const lines = results.map((r) => JSON.stringify(r, (key, value) =>
    typeof value === 'number' ? Number(value.toPrecision(9)) : value));
  process.stdout.write('[\n' + lines.join(',\n') + '\n]\n');
})();
