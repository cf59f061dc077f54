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

// A value in a JSON document together with its path, so that whatever is wrong with it is said with
// its place. A view: the document must outlive it. Accessors return INVALID_ARGUMENT, never throw.
class JsonNode {
 public:
  JsonNode(const nlohmann::json* json, std::string path) : json_(json), path_(std::move(path)) {}

  const nlohmann::json& json() const { return *json_; }
  const std::string& path() const { return path_; }

  // "PATH: REASON".
  absl::Status Error(std::string_view reason) const;

  absl::StatusOr<JsonNode> Member(const std::string& key) const;
  // Nothing if this is no object, has no such member, or the member is null.
  std::optional<JsonNode> Find(const std::string& key) const;

  absl::StatusOr<std::string> String() const;
  absl::StatusOr<int64_t> Integer() const;
  absl::StatusOr<std::vector<JsonNode>> Elements() const;
  // Nothing if this is no object; in the order of the keys.
  std::vector<std::pair<std::string, JsonNode>> Members() const;

 private:
  const nlohmann::json* json_;
  std::string path_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_JSON_NODE_H_
