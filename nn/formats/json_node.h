#ifndef CAIRN_NN_FORMATS_JSON_NODE_H_
#define CAIRN_NN_FORMATS_JSON_NODE_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cairn::nn {

// A value in a JSON document with its path, so that error messages can name the place. A view: the
// document must outlive it. Accessors return INVALID_ARGUMENT and never throw.
class JsonNode {
 public:
  JsonNode(const nlohmann::json* json, std::string path) : json_(json), path_(std::move(path)) {}

  const nlohmann::json& json() const { return *json_; }
  const std::string& path() const { return path_; }

  // "PATH: REASON".
  absl::Status Error(std::string_view reason) const;

  absl::StatusOr<JsonNode> Member(const std::string& key) const;
  // The member, or nullopt if this is not an object, the member is missing, or it is null.
  std::optional<JsonNode> Find(const std::string& key) const;

  absl::StatusOr<std::string> String() const;
  absl::StatusOr<int64_t> Integer() const;
  absl::StatusOr<std::vector<JsonNode>> Elements() const;
  // All members, ordered by key; empty if this is not an object.
  std::vector<std::pair<std::string, JsonNode>> Members() const;

 private:
  const nlohmann::json* json_;
  std::string path_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_JSON_NODE_H_
