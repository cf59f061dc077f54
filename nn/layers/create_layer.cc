#include "nn/layers/create_layer.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nn/layer_config.h"
#include "nn/layers/activation_layer.h"
#include "nn/layers/add.h"
#include "nn/layers/batch_normalization.h"
#include "nn/layers/concatenate.h"
#include "nn/layers/conv2d.h"
#include "nn/layers/dense.h"
#include "nn/layers/dropout.h"
#include "nn/layers/embedding.h"
#include "nn/layers/global_average_pooling2d.h"
#include "nn/layers/input.h"
#include "nn/layers/pooling2d.h"
#include "nn/layers/reshape.h"

namespace cairn::nn {
namespace {

struct KnownLayer {
  const char* class_name;
  absl::StatusOr<std::unique_ptr<const Layer>> (*create)(LayerConfig& config);
};

// The layers that there are. A new one is a pair of files here, a kernel per device, and a line.
constexpr KnownLayer kKnownLayers[] = {
    {"Activation", ActivationLayer::Create},
    {"Add", AddLayer::Create},
    {"AveragePooling2D", Pooling2DLayer::Create},
    {"BatchNormalization", BatchNormalizationLayer::Create},
    {"Concatenate", ConcatenateLayer::Create},
    {"Conv2D", Conv2DLayer::Create},
    {"Dense", DenseLayer::Create},
    {"Dropout", DropoutLayer::Create},
    {"ELU", ActivationLayer::Create},
    {"Embedding", EmbeddingLayer::Create},
    {"Flatten", ReshapeLayer::Create},
    {"GlobalAveragePooling2D", GlobalAveragePooling2DLayer::Create},
    {"InputLayer", InputLayer::Create},
    {"LeakyReLU", ActivationLayer::Create},
    {"MaxPooling2D", Pooling2DLayer::Create},
    {"ReLU", ActivationLayer::Create},
    {"Reshape", ReshapeLayer::Create},
    {"Softmax", ActivationLayer::Create},
};

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> CreateLayer(const proto::LayerSpec& spec,
                                                         std::vector<TensorSpec> inputs) {
  std::string known_names;
  for (const KnownLayer& known : kKnownLayers) {
    if (spec.class_name() == known.class_name) {
      LayerConfig config(spec, std::move(inputs));
      return known.create(config);
    }
    absl::StrAppend(&known_names, known_names.empty() ? "" : ", ", known.class_name);
  }
  return absl::InvalidArgumentError(absl::StrCat("layer '", spec.name(), "': unknown class '",
                                                 spec.class_name(), "'; known: ", known_names));
}

}  // namespace cairn::nn
