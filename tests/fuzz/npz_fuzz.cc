// NumPy's .npz files: zip archives of .npy files.

#include <cstdint>
#include <vector>

#include "common/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"
#include "worker/data/npz_file.h"

namespace cairn::fuzz {

bool RunInput(std::string_view input) {
  const MemoryFile file(input);
  worker::DataStorage storage({.memory_bytes = 1 << 20, .spool_bytes = 1 << 24});
  const auto arrays = worker::ReadNpzArrays(file.path(), {"x", "y"}, &storage);
  if (!arrays.ok()) return false;
  for (const worker::Array& array : *arrays) {
    int64_t rows = 0;
    std::vector<double> row(array.rows() == 0 ? 0 : array.elements());
    const absl::Status status = array.ForEachRow([&](int64_t, const char* bytes) {
      array.RowToDoubles(bytes, row.data());
      ++rows;
      return absl::OkStatus();
    });
    CAIRN_CHECK(status.ok() && rows == array.rows());
  }
  return true;
}

}  // namespace cairn::fuzz
