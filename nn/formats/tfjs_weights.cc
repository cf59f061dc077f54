#include "nn/formats/tfjs_weights.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

// A weight's entry in the manifest; its values are read later.
struct Entry {
  NamedTensor tensor;
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

absl::Status CheckFloat32(const JsonNode& node, const std::string& name) {
  CAIRN_ASSIGN_OR_RETURN(const JsonNode dtype_node, node.Member("dtype"));
  CAIRN_ASSIGN_OR_RETURN(const std::string dtype, dtype_node.String());
  if (dtype != "float32") {
    return dtype_node.Error(
        absl::StrCat("weight '", name, "' is ", dtype, "; only float32 is supported"));
  }
  if (const auto quantization = node.Find("quantization"); quantization.has_value()) {
    return quantization->Error(absl::StrCat("weight '", name,
                                            "' is quantized; only plain float32 is supported: "
                                            "convert the model without quantization"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Entry> ReadEntry(const JsonNode& node) {
  Entry entry;
  CAIRN_ASSIGN_OR_RETURN(const JsonNode name, node.Member("name"));
  CAIRN_ASSIGN_OR_RETURN(entry.tensor.name, name.String());
  CAIRN_RETURN_IF_ERROR(CheckFloat32(node, entry.tensor.name));
  CAIRN_ASSIGN_OR_RETURN(const JsonNode shape, node.Member("shape"));
  CAIRN_ASSIGN_OR_RETURN(const auto dimensions, shape.Elements());
  entry.bytes = sizeof(float);
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

// Moves the first entry->bytes of `bytes` to the tensor's values.
absl::Status TakeValues(const JsonNode& group, std::string_view* bytes, Entry* entry) {
  if (entry->bytes > static_cast<int64_t>(bytes->size())) {
    return group.Error(absl::StrCat("the files end inside weight '", entry->tensor.name, "': ",
                                    entry->bytes, " bytes wanted, ", bytes->size(), " left"));
  }
  entry->tensor.values.resize(entry->bytes / sizeof(float));
  std::memcpy(entry->tensor.values.data(), bytes->data(), entry->bytes);
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
