#include "nn/formats/tfjs_layer_config.h"

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/formats/struct_json.h"

namespace cairn::nn {
namespace {

using nlohmann::json;

constexpr double kKerasDefaultPenalty = 0.01;

// TF.js has float32 and int32 only; all integer types become int32.
void TranslateInput(json* config) {
  (*config)["batch_input_shape"] = (*config)["batch_shape"];
  config->erase("batch_shape");
  if ((*config)["dtype"] != "float32") (*config)["dtype"] = "int32";
  (*config)["sparse"] = false;
}

// TF.js has one regularizer class, L1L2.
void TranslateRegularizer(json* regularizer) {
  const bool named = regularizer->is_string();
  if (!named && !regularizer->is_object()) return;
  const json name = named ? *regularizer : regularizer->value("class_name", json());
  if (!name.is_string()) return;
  const std::string kind = absl::AsciiStrToLower(name.get_ref<const std::string&>());
  if (kind != "l1" && kind != "l2") return;
  json penalty = kKerasDefaultPenalty;
  if (!named && (*regularizer)["config"].is_object()) {
    penalty = (*regularizer)["config"].value(kind, penalty);
  }
  const json penalties = {{"l1", kind == "l1" ? penalty : json(0)},
                          {"l2", kind == "l2" ? penalty : json(0)}};
  *regularizer = {{"class_name", "L1L2"}, {"config", penalties}};
}

void TranslateInitializer(json* initializer) {
  if (!initializer->is_object()) return;
  const auto name = initializer->find("class_name");
  if (name == initializer->end()) return;
  if (*name == "LecunNormal") *name = "LeCunNormal";
  if (*name == "LecunUniform") *name = "LeCunUniform";
}

absl::Status Refuse(const proto::LayerSpec& layer, const std::string& argument) {
  return absl::InvalidArgumentError(
      absl::StrCat("layer '", layer.name(), "' (", layer.class_name(), "): TF.js has no '",
                   argument, "', so the exported model would compute something else"));
}

bool IsNot(const json& config, const char* argument, double neutral) {
  const auto it = config.find(argument);
  return it != config.end() && it->is_number() && *it != neutral;
}

constexpr const char* kUnknownToTfjs[] = {"ActivityRegularization",
                                          "AdaptiveAveragePooling1D",
                                          "AdaptiveAveragePooling2D",
                                          "AdaptiveAveragePooling3D",
                                          "AdaptiveMaxPooling1D",
                                          "AdaptiveMaxPooling2D",
                                          "AdaptiveMaxPooling3D",
                                          "AdditiveAttention",
                                          "AlphaDropout",
                                          "Attention",
                                          "AveragePooling3D",
                                          "CenterCrop",
                                          "Conv1DTranspose",
                                          "Conv3D",
                                          "Conv3DTranspose",
                                          "ConvLSTM1D",
                                          "ConvLSTM2D",
                                          "Cos",
                                          "Cropping1D",
                                          "Cropping3D",
                                          "DepthwiseConv1D",
                                          "Discretization",
                                          "EinsumDense",
                                          "Erf",
                                          "Floor",
                                          "GlobalAveragePooling3D",
                                          "GlobalMaxPooling3D",
                                          "GroupNormalization",
                                          "Hashing",
                                          "Identity",
                                          "IntegerLookup",
                                          "Log",
                                          "MaxPooling3D",
                                          "MultiHeadAttention",
                                          "Normalization",
                                          "RMSNormalization",
                                          "RNN",
                                          "RandomBrightness",
                                          "RandomContrast",
                                          "RandomCrop",
                                          "RandomErasing",
                                          "RandomFlip",
                                          "RandomGrayscale",
                                          "RandomInvert",
                                          "RandomRotation",
                                          "RandomShear",
                                          "RandomTranslation",
                                          "RandomZoom",
                                          "Reciprocal",
                                          "SeparableConv1D",
                                          "Sign",
                                          "Sin",
                                          "Solarization",
                                          "SpatialDropout2D",
                                          "SpatialDropout3D",
                                          "Sqrt",
                                          "StringLookup",
                                          "Subtract",
                                          "TextVectorization",
                                          "TimeDistributed",
                                          "UnitNormalization",
                                          "UpSampling1D",
                                          "UpSampling3D",
                                          "ZeroPadding1D",
                                          "ZeroPadding3D"};

bool Is(const json& config, const char* argument, const json& value) {
  const auto it = config.find(argument);
  return it != config.end() && *it == value;
}

absl::Status RefuseWhatTfjsIgnores(const proto::LayerSpec& layer, const std::string& class_name,
                                   const json& config) {
  for (const char* unknown : kUnknownToTfjs) {
    if (class_name == unknown) return Refuse(layer, class_name);
  }
  if (class_name == "ReLU") {
    for (const char* argument : {"negative_slope", "threshold"}) {
      if (IsNot(config, argument, 0)) return Refuse(layer, argument);
    }
  }
  if (class_name == "GRU" && !Is(config, "reset_after", false)) {
    return Refuse(layer, "reset_after");
  }
  if (class_name == "UpSampling2D" && Is(config, "interpolation", "bilinear")) {
    return Refuse(layer, "half_pixel_centers");
  }
  if (class_name == "Resizing") return Refuse(layer, "half_pixel_centers");
  for (const char* argument : {"groups", "output_padding"}) {
    if (IsNot(config, argument, 1)) return Refuse(layer, argument);
  }
  return absl::OkStatus();
}

bool IsRecurrent(const std::string& class_name) {
  return class_name == "SimpleRNN" || class_name == "LSTM" || class_name == "GRU";
}

// Activations that TF.js has under no name.
constexpr const char* kActivationsUnknownToTfjs[] = {
    "hard_silu",   "hard_swish",     "hard_tanh",  "hard_shrink", "soft_shrink", "log_sigmoid",
    "sparse_plus", "sparse_sigmoid", "squareplus", "tanh_shrink", "erf",         "floor"};

// Translates the arguments of a layer or, recursively, of a wrapped layer.
absl::Status TranslateArguments(const proto::LayerSpec& layer, const std::string& class_name,
                                json* config) {
  for (auto& [argument, value] : config->items()) {
    if (absl::EndsWith(argument, "_regularizer")) {
      TranslateRegularizer(&value);
      if (value.is_object() && value.value("class_name", "") == "OrthogonalRegularizer") {
        return Refuse(layer, "OrthogonalRegularizer");
      }
    }
    if (absl::EndsWith(argument, "_initializer")) TranslateInitializer(&value);
    if (argument == "activation" && value == "silu") value = "swish";
    if (argument == "activation" && value == "celu") value = "elu";
    for (const char* unknown : kActivationsUnknownToTfjs) {
      if (absl::EndsWith(argument, "activation") && value == unknown) return Refuse(layer, unknown);
    }
    if (value == "hard_sigmoid") return Refuse(layer, "hard_sigmoid of Keras 3");
    if (value == "hard_sigmoid_keras2") value = "hard_sigmoid";
    const bool is_layer = (argument == "layer" || argument == "backward_layer") &&
                          value.is_object() && value["config"].is_object();
    if (!is_layer) continue;
    CAIRN_RETURN_IF_ERROR(
        TranslateArguments(layer, value.value("class_name", ""), &value["config"]));
  }
  // Keras's defaults are written explicitly, because TF.js has the older ones of Keras 2.
  if (IsRecurrent(class_name) && class_name != "SimpleRNN") {
    config->emplace("recurrent_activation", "sigmoid");
  }
  if (class_name == "Bidirectional") config->emplace("merge_mode", "concat");
  return RefuseWhatTfjsIgnores(layer, class_name, *config);
}

}  // namespace

absl::StatusOr<json> TfjsLayerConfig(const proto::LayerSpec& layer) {
  json config = json::object();
  for (const auto& [argument, value] : layer.config().fields()) {
    config[argument] = JsonFromValue(value);
  }
  CAIRN_RETURN_IF_ERROR(TranslateArguments(layer, layer.class_name(), &config));
  config["name"] = layer.name();
  for (const char* own : {"gradient_of_tfjs", "ignores_mask", "reverses_mask"}) config.erase(own);
  if (layer.class_name() == "InputLayer") TranslateInput(&config);
  if (layer.class_name() == "LeakyReLU" && config.contains("negative_slope")) {
    config["alpha"] = config["negative_slope"];
    config.erase("negative_slope");
  }
  return config;
}

}  // namespace cairn::nn
