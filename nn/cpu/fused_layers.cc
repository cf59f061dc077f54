#include "nn/cpu/fused_layers.h"

#include <string>

namespace cairn::nn {
namespace {

// True for max(x, 0), with or without a max_value.
bool IsRelu(const Layer& layer) {
  const Activation activation = layer.activation();
  return (layer.class_name() == "Activation" || layer.class_name() == "ReLU") &&
         activation.kind == Activation::Kind::kRelu && activation.slope == 0 &&
         activation.threshold == 0;
}

bool IsAddOfTwo(const Layer& layer) {
  return layer.class_name() == "Add" && layer.inputs().size() == 2 &&
         layer.inputs()[0].shape == layer.inputs()[1].shape;
}

}  // namespace

bool HasFusedKernel(const Layer& first, const Layer& second) {
  if (first.class_name() == "BatchNormalization") return IsRelu(second);
  if (first.class_name() == "ZeroPadding2D") {
    return second.class_name() == "Conv2D" || second.class_name() == "DepthwiseConv2D";
  }
  return IsAddOfTwo(first) && IsRelu(second) && second.activation().is_plain_relu();
}

}  // namespace cairn::nn
