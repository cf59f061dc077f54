#ifndef CAIRN_NN_LAYERS_EINSUM_DENSE_H_
#define CAIRN_NN_LAYERS_EINSUM_DENSE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/layer_config.h"

namespace cairn::nn {

// EinsumDense: output = activation(einsum(equation, input, kernel) + bias). The equation has the
// form "abc,cd->abd", "...c,cd->...d" or "ab...,bc->ac...". Its first axis is the batch, which the
// kernel does not have.
class EinsumDenseLayer : public Layer {
 public:
  // An axis of the equation without the batch. The stride in a tensor that does not have the axis
  // is 0. Strides in input and output are within an example.
  struct Axis {
    int64_t size = 1;
    int64_t input_stride = 0;
    int64_t kernel_stride = 0;
    int64_t output_stride = 0;
  };
  // The equation as matrix products of (batch x rows, inner) and (inner, columns), one for each
  // place of the shared axes.
  struct Equation {
    std::vector<Axis> shared;   // of input, kernel and output
    std::vector<Axis> rows;     // of input and output
    std::vector<Axis> inner;    // of input and kernel
    std::vector<Axis> columns;  // of kernel and output
  };

  static absl::StatusOr<std::unique_ptr<const Layer>> Create(LayerConfig& config);

  Activation activation() const override { return activation_; }
  const Equation& equation() const { return equation_; }
  // If true, the second variable is the bias. The first is the kernel.
  bool use_bias() const { return variables().size() > 1; }
  // By axis of the output: the stride in the bias, 0 if the bias is the same along the axis.
  const std::vector<int64_t>& bias_strides() const { return bias_strides_; }

 private:
  EinsumDenseLayer(Base base, TensorSpec output, std::vector<LayerVariable> variables,
                   Equation equation, std::vector<int64_t> bias_strides, Activation activation)
      : Layer(std::move(base), std::move(output), std::move(variables)),
        equation_(std::move(equation)),
        bias_strides_(std::move(bias_strides)),
        activation_(activation) {}

  const Equation equation_;
  const std::vector<int64_t> bias_strides_;
  const Activation activation_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_EINSUM_DENSE_H_
