#include "nn/formats/json_node.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace cairn::nn {
namespace {

// The actual value for error messages, abbreviated.
std::string But(const nlohmann::json& value) {
  constexpr size_t kLongest = 60;
  const std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return absl::StrCat(", but ", text.substr(0, kLongest), text.size() > kLongest ? "..." : "");
}

}  // namespace

absl::Status JsonNode::Error(std::string_view reason) const {
  return absl::InvalidArgumentError(absl::StrCat(path_, ": ", std::string(reason)));
}

absl::StatusOr<JsonNode> JsonNode::Member(const std::string& key) const {
  if (!json_->is_object()) return Error("is not an object" + But(*json_));
  const auto it = json_->find(key);
  if (it == json_->end()) return Error(absl::StrCat("has no '", key, "'"));
  return JsonNode(&*it, absl::StrCat(path_, ".", key));
}

std::optional<JsonNode> JsonNode::Find(const std::string& key) const {
  if (!json_->is_object()) return std::nullopt;
  const auto it = json_->find(key);
  if (it == json_->end() || it->is_null()) return std::nullopt;
  return JsonNode(&*it, absl::StrCat(path_, ".", key));
}

absl::StatusOr<std::string> JsonNode::String() const {
  if (!json_->is_string()) return Error("is not a string" + But(*json_));
  return json_->get_ref<const std::string&>();
}

absl::StatusOr<int64_t> JsonNode::Integer() const {
  if (!json_->is_number_integer()) return Error("is not a whole number" + But(*json_));
  const bool fits = !json_->is_number_unsigned() ||
                    *json_->get_ptr<const nlohmann::json::number_unsigned_t*>() <=
                        static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (!fits) return Error("is too large");
  return json_->get<int64_t>();
}

absl::StatusOr<std::vector<JsonNode>> JsonNode::Elements() const {
  if (!json_->is_array()) return Error("is not a list" + But(*json_));
  std::vector<JsonNode> elements;
  elements.reserve(json_->size());
  for (const nlohmann::json& element : *json_) {
    elements.emplace_back(&element, absl::StrCat(path_, "[", elements.size(), "]"));
  }
  return elements;
}

std::vector<std::pair<std::string, JsonNode>> JsonNode::Members() const {
  std::vector<std::pair<std::string, JsonNode>> members;
  if (!json_->is_object()) return members;
  for (auto it = json_->begin(); it != json_->end(); ++it) {
    members.emplace_back(it.key(), JsonNode(&*it, absl::StrCat(path_, ".", it.key())));
  }
  return members;
}

}  // namespace cairn::nn
