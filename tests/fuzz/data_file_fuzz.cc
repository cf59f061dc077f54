// The data files that a worker reads: idx (plain and gzip) and .npy, as arrays.

#include <cstdint>

#include "common/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"
#include "worker/data/array.h"
#include "worker/data/idx_file.h"
#include "worker/data/npy_file.h"

namespace cairn::fuzz {
namespace {

bool IsWhole(const absl::StatusOr<worker::Array>& array) {
  if (!array.ok()) return false;
  int64_t bytes = worker::ElementBytes(array->type);
  for (const int64_t size : array->shape) bytes *= size;
  CAIRN_CHECK(array->bytes.size() == array->data_offset + static_cast<size_t>(bytes));
  return true;
}

}  // namespace

bool RunInput(std::string_view input) {
  const MemoryFile file(input);
  const bool is_idx = IsWhole(worker::ReadIdxFile(file.path()));
  const bool is_npy = IsWhole(worker::ReadNpyFile(file.path()));
  return is_idx || is_npy;
}

}  // namespace cairn::fuzz
