// HDF5 files: the tree of groups, all data sets, and attributes.

#include "common/check.h"
#include "nn/formats/hdf5_file.h"
#include "tests/fuzz/fuzz_target.h"

namespace cairn::fuzz {

bool RunInput(std::string_view input) {
  const auto file = nn::Hdf5File::Open(input);
  if (!file.ok()) {
    CAIRN_CHECK(absl::IsInvalidArgument(file.status()));
    return false;
  }
  bool reads = true;
  for (const std::string& path : file->DataSets()) {
    CAIRN_CHECK(file->HasDataSet(path));
    const auto tensor = file->Read(path);
    reads = reads && tensor.ok();
    if (!tensor.ok()) continue;
    CAIRN_CHECK(nn::CheckFilled(*tensor).ok() || tensor->values.empty());
    CAIRN_CHECK(tensor->values.size() <= input.size());
  }
  for (const char* attribute : {"model_config", "weight_names", "fixed"}) {
    for (const char* group : {"", "layers/dense"}) {
      const auto strings = file->Strings(group, attribute);
      if (!strings.ok()) return false;
      for (const std::string& text : *strings) CAIRN_CHECK(text.size() <= input.size());
    }
  }
  return reads;
}

}  // namespace cairn::fuzz
