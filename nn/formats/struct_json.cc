#include "nn/formats/struct_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

using google::protobuf::Value;

constexpr int kMaxDepth = 16;

absl::StatusOr<Value> Convert(const JsonNode& node, int depth);

absl::StatusOr<Value> ConvertList(const JsonNode& node, int depth) {
  Value value;
  value.mutable_list_value();
  CAIRN_ASSIGN_OR_RETURN(const auto elements, node.Elements());
  for (const JsonNode& element : elements) {
    CAIRN_ASSIGN_OR_RETURN(*value.mutable_list_value()->add_values(), Convert(element, depth + 1));
  }
  return value;
}

absl::StatusOr<Value> ConvertObject(const JsonNode& node, int depth) {
  const nlohmann::json& json = node.json();
  const std::string class_name = json.contains("class_name") && json["class_name"].is_string()
                                     ? json["class_name"].get_ref<const std::string&>()
                                     : "";
  if (class_name == "__tuple__" || class_name == "TensorShape") {
    CAIRN_ASSIGN_OR_RETURN(const JsonNode items, node.Member("items"));
    return ConvertList(items, depth);
  }
  if (class_name == "function") {
    CAIRN_ASSIGN_OR_RETURN(const JsonNode name, node.Member("config"));
    return Convert(name, depth);
  }
  const bool wrapped = !class_name.empty() && json.contains("config");
  Value value;
  auto& fields = *value.mutable_struct_value()->mutable_fields();
  for (const auto& [key, member] : node.Members()) {
    if (wrapped && key != "class_name" && key != "config") continue;
    CAIRN_ASSIGN_OR_RETURN(fields[key], Convert(member, depth + 1));
  }
  return value;
}

absl::StatusOr<Value> Convert(const JsonNode& node, int depth) {
  if (depth > kMaxDepth) return node.Error(absl::StrCat("nested deeper than ", kMaxDepth));
  const nlohmann::json& json = node.json();
  if (json.is_object()) return ConvertObject(node, depth);
  if (json.is_array()) return ConvertList(node, depth);
  Value value;
  if (json.is_string()) {
    value.set_string_value(json.get_ref<const std::string&>());
  } else if (json.is_boolean()) {
    value.set_bool_value(json.get<bool>());
  } else if (json.is_number()) {
    value.set_number_value(json.get<double>());
  } else {
    value.set_null_value(google::protobuf::NULL_VALUE);
  }
  return value;
}

nlohmann::json JsonFromNumber(double number) {
  constexpr double kExact = 0x1p53;
  if (number == std::floor(number) && std::abs(number) < kExact) {
    return static_cast<int64_t>(number);
  }
  return number;
}

}  // namespace

absl::StatusOr<Value> ValueFromJson(const JsonNode& node) { return Convert(node, 0); }

nlohmann::json JsonFromValue(const Value& value) {
  switch (value.kind_case()) {
    case Value::kNumberValue:
      return JsonFromNumber(value.number_value());
    case Value::kStringValue:
      return value.string_value();
    case Value::kBoolValue:
      return value.bool_value();
    case Value::kListValue: {
      nlohmann::json list = nlohmann::json::array();
      for (const Value& element : value.list_value().values()) {
        list.push_back(JsonFromValue(element));
      }
      return list;
    }
    case Value::kStructValue: {
      nlohmann::json object = nlohmann::json::object();
      for (const auto& [key, member] : value.struct_value().fields()) {
        object[key] = JsonFromValue(member);
      }
      return object;
    }
    default:
      return nullptr;
  }
}

}  // namespace cairn::nn
