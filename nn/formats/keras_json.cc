#include "nn/formats/keras_json.h"

#include <nlohmann/json.hpp>

#include "common/status_macros.h"
#include "nn/formats/json_node.h"
#include "nn/formats/json_text.h"
#include "nn/formats/keras_topology.h"

namespace cairn::nn {

absl::StatusOr<proto::ModelSpec> ReadKerasJson(std::string_view json) {
  CAIRN_ASSIGN_OR_RETURN(const nlohmann::json document, ParseJson(json));
  return ReadKerasTopology(JsonNode(&document, "model"));
}

}  // namespace cairn::nn
