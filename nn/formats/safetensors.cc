#include "nn/formats/safetensors.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

// Readers reject larger headers.
constexpr size_t kHeaderBytesMax = 100'000'000;

}  // namespace

absl::StatusOr<std::vector<std::string>> WriteSafetensors(const proto::ModelSpec& spec,
                                                          absl::Span<const NamedTensor> weights) {
  std::map<std::string, const NamedTensor*> by_name;
  for (const NamedTensor& tensor : weights) {
    CAIRN_RETURN_IF_ERROR(CheckFilled(tensor));
    if (!by_name.emplace(tensor.name, &tensor).second) {
      return absl::InvalidArgumentError(absl::StrCat("two weights are named ", tensor.name));
    }
  }
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"generated_by", "Cairn"}, {"model", spec.name()}};
  uint64_t offset = 0;
  for (const auto& [name, tensor] : by_name) {
    const uint64_t end = offset + tensor->values.size() * sizeof(float);
    header[name] = {{"dtype", "F32"}, {"shape", tensor->shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  if (text.size() > kHeaderBytesMax) {
    return absl::InvalidArgumentError("the model has too many weights for a safetensors file");
  }
  // The values are aligned in the file.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof(length));
  file += text;
  for (const auto& [name, tensor] : by_name) {
    file.append(reinterpret_cast<const char*>(tensor->values.data()),
                tensor->values.size() * sizeof(float));
  }
  return std::vector<std::string>{std::move(file)};
}

}  // namespace cairn::nn
