// Model files: a .keras file, an .h5 file, an ONNX file, a Keras architecture, or a TF.js
// model.json followed by a zero byte and its weight file. An accepted model is planned as in a
// submission: shapes, variables and blocks on 3 ps.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "cluster/partition_map.h"
#include "common/check.h"
#include "nn/formats/model_file.h"
#include "nn/formats/onnx_reader.h"
#include "nn/model.h"
#include "tests/fuzz/fuzz_target.h"

namespace cairn::fuzz {
namespace {

constexpr int kPsCount = 3;

// The bytes after the model, divided among the weight files that it names.
std::vector<std::string> Deal(std::string_view bytes, size_t files) {
  std::vector<std::string> contents(files);
  for (size_t i = 0; i < files; ++i) {
    const size_t part = i + 1 == files ? bytes.size() : bytes.size() / (files - i);
    contents[i] = std::string(bytes.substr(0, part));
    bytes.remove_prefix(part);
  }
  return contents;
}

bool CanBePlaced(const nn::Model& model) {
  std::vector<cluster::VariableExtent> extents;
  for (const nn::VariableSpec& variable : model.variables()) {
    CAIRN_CHECK(variable.element_count() > 0);
    extents.push_back({variable.name, variable.shape, true, kPsCount});
  }
  const auto partition = cluster::PlaceVariables(extents, kPsCount, cluster::Placement::kBalanced);
  if (!partition.ok()) return false;
  for (const auto& block : partition->blocks()) {
    CAIRN_CHECK(block.ps() < kPsCount && block.row_begin() < block.row_end());
  }
  return true;
}

}  // namespace

bool RunInput(std::string_view input) {
  const bool is_binary = input.substr(0, 4) == "PK\x03\x04" || input.substr(0, 4) == "\x89HDF" ||
                         nn::IsOnnxFile(input);
  const size_t end = is_binary ? input.size() : std::min(input.find('\0'), input.size());
  const std::string_view json = input.substr(0, end);
  const std::string_view bytes = input.substr(std::min(end + 1, input.size()));

  const auto files = nn::ModelWeightFiles(json, "model");
  if (!files.ok()) {
    CAIRN_CHECK(absl::IsInvalidArgument(files.status()));
    return false;
  }
  const auto imported = nn::ReadModel(json, Deal(bytes, files->size()));
  if (!imported.ok()) return false;
  for (const nn::NamedTensor& tensor : imported->weights) {
    int64_t elements = 1;
    for (const int64_t size : tensor.shape) elements *= size;
    CAIRN_CHECK(static_cast<size_t>(elements) == tensor.values.size());
  }
  const auto model = nn::Model::Create(imported->spec);
  return model.ok() && CanBePlaced(**model);
}

}  // namespace cairn::fuzz
