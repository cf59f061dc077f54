#include "nn/formats/tfjs_weights.h"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/half.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

// The form of a weight's values in the files: float32, or quantized as tensorflowjs_converter does.
enum class Encoding { kFloat32, kFloat16, kUint16, kUint8 };

int64_t BytesOf(Encoding encoding) {
  return encoding == Encoding::kFloat32 ? 4 : encoding == Encoding::kUint8 ? 1 : 2;
}

// A weight's entry in the manifest; its values are read later.
struct Entry {
  NamedTensor tensor;
  Encoding encoding = Encoding::kFloat32;
  // A value is scale * (an unsigned integer) + min.
  double scale = 1;
  double min = 0;
  int64_t bytes = 0;
};

absl::Status CheckPath(const JsonNode& node, const std::string& path) {
  bool inside = !path.empty() && path[0] != '/' && !absl::StrContains(path, std::string(1, '\0'));
  for (absl::string_view part : absl::StrSplit(path, '/')) inside &= part != "..";
  if (inside) return absl::OkStatus();
  return node.Error(absl::StrCat("'", path, "' is not a path inside the model's folder"));
}

absl::StatusOr<std::vector<std::string>> ReadGroupPaths(const JsonNode& group) {
  CAIRN_ASSIGN_OR_RETURN(const JsonNode node, group.Member("paths"));
  CAIRN_ASSIGN_OR_RETURN(const auto elements, node.Elements());
  std::vector<std::string> paths;
  for (const JsonNode& element : elements) {
    CAIRN_ASSIGN_OR_RETURN(paths.emplace_back(), element.String());
    CAIRN_RETURN_IF_ERROR(CheckPath(element, paths.back()));
  }
  return paths;
}

absl::StatusOr<double> ReadNumber(const JsonNode& object, const std::string& key) {
  CAIRN_ASSIGN_OR_RETURN(const JsonNode node, object.Member(key));
  const double number = node.json().is_number() ? node.json().get<double>() : NAN;
  if (!std::isfinite(number)) return node.Error("is not a number");
  return number;
}

absl::Status ReadQuantization(const JsonNode& node, Entry* entry) {
  CAIRN_ASSIGN_OR_RETURN(const JsonNode dtype_node, node.Member("dtype"));
  CAIRN_ASSIGN_OR_RETURN(const std::string dtype, dtype_node.String());
  if (dtype == "float16") {
    entry->encoding = Encoding::kFloat16;
    return absl::OkStatus();
  }
  if (dtype != "uint8" && dtype != "uint16") {
    return dtype_node.Error(absl::StrCat("weight '", entry->tensor.name, "' is quantized as ",
                                         dtype, "; known: float16, uint16, uint8"));
  }
  entry->encoding = dtype == "uint8" ? Encoding::kUint8 : Encoding::kUint16;
  CAIRN_ASSIGN_OR_RETURN(entry->scale, ReadNumber(node, "scale"));
  CAIRN_ASSIGN_OR_RETURN(entry->min, ReadNumber(node, "min"));
  return absl::OkStatus();
}

absl::Status ReadType(const JsonNode& node, Entry* entry) {
  CAIRN_ASSIGN_OR_RETURN(const JsonNode dtype_node, node.Member("dtype"));
  CAIRN_ASSIGN_OR_RETURN(const std::string dtype, dtype_node.String());
  if (dtype != "float32") {
    return dtype_node.Error(absl::StrCat("weight '", entry->tensor.name, "' is ", dtype,
                                         "; only float32 is supported"));
  }
  const auto quantization = node.Find("quantization");
  return quantization.has_value() ? ReadQuantization(*quantization, entry) : absl::OkStatus();
}

absl::StatusOr<Entry> ReadEntry(const JsonNode& node) {
  Entry entry;
  CAIRN_ASSIGN_OR_RETURN(const JsonNode name, node.Member("name"));
  CAIRN_ASSIGN_OR_RETURN(entry.tensor.name, name.String());
  CAIRN_RETURN_IF_ERROR(ReadType(node, &entry));
  CAIRN_ASSIGN_OR_RETURN(const JsonNode shape, node.Member("shape"));
  CAIRN_ASSIGN_OR_RETURN(const auto dimensions, shape.Elements());
  entry.bytes = BytesOf(entry.encoding);
  for (const JsonNode& dimension : dimensions) {
    CAIRN_ASSIGN_OR_RETURN(const int64_t size, dimension.Integer());
    if (size <= 0) return dimension.Error(absl::StrCat("is ", size, "; it must be 1 or more"));
    if (__builtin_mul_overflow(entry.bytes, size, &entry.bytes)) {
      return shape.Error(absl::StrCat("weight '", entry.tensor.name, "' is too large"));
    }
    entry.tensor.shape.push_back(size);
  }
  return entry;
}

float Dequantized(std::string_view bytes, size_t index, const Entry& entry) {
  uint16_t number = static_cast<uint8_t>(bytes[index]);
  if (entry.encoding != Encoding::kUint8) {
    std::memcpy(&number, bytes.data() + index * sizeof(number), sizeof(number));
  }
  if (entry.encoding == Encoding::kFloat16) return FloatFromFloat16(number);
  return static_cast<float>(number * entry.scale + entry.min);
}

// Moves the first entry->bytes of `bytes` to the tensor's values.
absl::Status TakeValues(const JsonNode& group, std::string_view* bytes, Entry* entry) {
  if (entry->bytes > static_cast<int64_t>(bytes->size())) {
    return group.Error(absl::StrCat("the files end inside weight '", entry->tensor.name, "': ",
                                    entry->bytes, " bytes wanted, ", bytes->size(), " left"));
  }
  std::vector<float>& values = entry->tensor.values;
  values.resize(entry->bytes / BytesOf(entry->encoding));
  if (entry->encoding == Encoding::kFloat32) {
    std::memcpy(values.data(), bytes->data(), entry->bytes);
  } else {
    for (size_t i = 0; i < values.size(); ++i) values[i] = Dequantized(*bytes, i, *entry);
  }
  bytes->remove_prefix(entry->bytes);
  return absl::OkStatus();
}

absl::Status ReadGroup(const JsonNode& group, std::string_view bytes,
                       std::vector<NamedTensor>* weights) {
  CAIRN_ASSIGN_OR_RETURN(const JsonNode node, group.Member("weights"));
  CAIRN_ASSIGN_OR_RETURN(const auto elements, node.Elements());
  for (const JsonNode& element : elements) {
    CAIRN_ASSIGN_OR_RETURN(Entry entry, ReadEntry(element));
    CAIRN_RETURN_IF_ERROR(TakeValues(group, &bytes, &entry));
    weights->push_back(std::move(entry.tensor));
  }
  if (bytes.empty()) return absl::OkStatus();
  return group.Error(
      absl::StrCat("the files hold ", bytes.size(), " bytes more than the weights need"));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadWeightPaths(const JsonNode& manifest) {
  CAIRN_ASSIGN_OR_RETURN(const auto groups, manifest.Elements());
  std::vector<std::string> all;
  for (const JsonNode& group : groups) {
    CAIRN_ASSIGN_OR_RETURN(const auto paths, ReadGroupPaths(group));
    all.insert(all.end(), paths.begin(), paths.end());
  }
  return all;
}

absl::StatusOr<std::vector<NamedTensor>> ReadWeights(const JsonNode& manifest,
                                                     absl::Span<const std::string> file_contents) {
  CAIRN_ASSIGN_OR_RETURN(const auto paths, ReadWeightPaths(manifest));
  if (paths.size() != file_contents.size()) {
    return manifest.Error(
        absl::StrCat("names ", paths.size(), " files, but ", file_contents.size(), " were read"));
  }
  CAIRN_ASSIGN_OR_RETURN(const auto groups, manifest.Elements());
  std::vector<NamedTensor> weights;
  for (const JsonNode& group : groups) {
    CAIRN_ASSIGN_OR_RETURN(const auto group_paths, ReadGroupPaths(group));
    const auto parts = file_contents.subspan(0, group_paths.size());
    // A weight may span two files, so several files are concatenated. The common case of a single
    // file is not copied.
    const std::string joined = parts.size() > 1 ? absl::StrJoin(parts, "") : "";
    CAIRN_RETURN_IF_ERROR(ReadGroup(group, parts.size() == 1 ? parts[0] : joined, &weights));
    file_contents.remove_prefix(parts.size());
  }
  std::set<std::string> names;
  for (const NamedTensor& weight : weights) {
    if (!names.insert(weight.name).second) {
      return manifest.Error(absl::StrCat("weight '", weight.name, "' appears twice"));
    }
  }
  return weights;
}

}  // namespace cairn::nn
