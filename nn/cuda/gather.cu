#include "nn/cuda/gather.h"
#include "nn/cuda/loops.h"

namespace cairn::nn::cuda {

Gather::Gather(Context* context, const std::vector<int64_t>& sources, int64_t inputs)
    : context_(context),
      inputs_(inputs),
      outputs_(static_cast<int64_t>(sources.size())),
      sources_(context, outputs_),
      begins_(context, inputs + 1),
      targets_(context, outputs_) {
  std::vector<int64_t> begins(inputs + 1);
  for (int64_t source : sources) {
    if (source >= 0) ++begins[source + 1];
  }
  for (int64_t i = 0; i < inputs; ++i) begins[i + 1] += begins[i];
  std::vector<int64_t> next(begins.begin(), begins.end() - 1);
  std::vector<int64_t> targets(outputs_);
  for (int64_t i = 0; i < outputs_; ++i) {
    if (sources[i] >= 0) targets[next[sources[i]]++] = i;
  }
  context->Upload(sources_.data(), sources);
  context->Upload(begins_.data(), begins);
  context->Upload(targets_.data(), targets);
}

void Gather::Forward(int64_t examples, const float* input, float* output) const {
  const int64_t* const sources = sources_.data();
  const int64_t inputs = inputs_;
  const Divisor outputs = outputs_;
  ForEach(context_, examples * outputs, [=] __device__(int64_t i) {
    const int64_t example = i / outputs;
    const int64_t source = sources[i - example * outputs];
    output[i] = source < 0 ? 0 : input[example * inputs + source];
  });
}

void Gather::Backward(int64_t examples, const float* output, float* input) const {
  const int64_t* const begins = begins_.data();
  const int64_t* const targets = targets_.data();
  const Divisor inputs = inputs_;
  const int64_t outputs = outputs_;
  ForEach(context_, examples * inputs, [=] __device__(int64_t i) {
    const int64_t example = i / inputs;
    const int64_t element = i - example * inputs;
    const float* const from = output + example * outputs;
    float sum = 0;
    for (int64_t t = begins[element]; t < begins[element + 1]; ++t) sum += from[targets[t]];
    input[i] = sum;
  });
}

void Gather::SumExamples(int64_t examples, const float* output, float* input) const {
  const int64_t* const begins = begins_.data();
  const int64_t* const targets = targets_.data();
  const int64_t outputs = outputs_;
  ForEachRow(context_, inputs_, examples, [=] __device__(int64_t i, const RowBlock& block) {
    double sum = 0;
    for (int64_t e = block.first(); e < examples; e += block.step()) {
      for (int64_t t = begins[i]; t < begins[i + 1]; ++t) sum += output[e * outputs + targets[t]];
    }
    sum = block.Sum(sum);
    if (block.first() == 0) input[i] = static_cast<float>(sum);
  });
}

}  // namespace cairn::nn::cuda
