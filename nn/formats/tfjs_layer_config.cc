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

// TF.js knows float32 and int32; smaller and larger whole numbers are int32 to it.
void TranslateInput(json* config) {
  (*config)["batch_input_shape"] = (*config)["batch_shape"];
  config->erase("batch_shape");
  if ((*config)["dtype"] != "float32") (*config)["dtype"] = "int32";
  (*config)["sparse"] = false;
}

// TF.js has one class for all regularizers.
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

absl::Status RefuseWhatTfjsIgnores(const proto::LayerSpec& layer, const json& config) {
  if (layer.class_name() == "ReLU") {
    for (const char* argument : {"negative_slope", "threshold"}) {
      if (IsNot(config, argument, 0)) return Refuse(layer, argument);
    }
  }
  if (layer.class_name() == "Conv2D" && IsNot(config, "groups", 1)) return Refuse(layer, "groups");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<json> TfjsLayerConfig(const proto::LayerSpec& layer) {
  json config = json::object();
  for (const auto& [argument, value] : layer.config().fields()) {
    json& translated = config[argument] = JsonFromValue(value);
    if (absl::EndsWith(argument, "_regularizer")) TranslateRegularizer(&translated);
    if (absl::EndsWith(argument, "_initializer")) TranslateInitializer(&translated);
    if (argument == "activation" && translated == "silu") translated = "swish";
  }
  config["name"] = layer.name();
  CAIRN_RETURN_IF_ERROR(RefuseWhatTfjsIgnores(layer, config));
  if (layer.class_name() == "InputLayer") TranslateInput(&config);
  if (layer.class_name() == "LeakyReLU" && config.contains("negative_slope")) {
    config["alpha"] = config["negative_slope"];
    config.erase("negative_slope");
  }
  return config;
}

}  // namespace cairn::nn
