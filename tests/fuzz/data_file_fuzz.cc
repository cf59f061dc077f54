// The data files that a worker reads as arrays: idx and .npy, plain and gzip, and CIFAR.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "common/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"
#include "worker/data/array.h"
#include "worker/data/cifar_file.h"
#include "worker/data/files/load_file.h"
#include "worker/data/idx_file.h"
#include "worker/data/npy_file.h"

namespace cairn::fuzz {
namespace {

// Returns whether the file is an array. If so, all of its rows must be readable.
bool IsWhole(const absl::StatusOr<worker::Array>& array) {
  if (!array.ok()) return false;
  int64_t rows = 0;
  // Without rows, the size of a row is not checked against the file and may not fit into memory.
  std::vector<double> row(array->rows() == 0 ? 0 : array->elements());
  const absl::Status status = array->ForEachRow([&](int64_t, const char* bytes) {
    array->RowToDoubles(bytes, row.data());
    ++rows;
    return absl::OkStatus();
  });
  CAIRN_CHECK(status.ok() && rows == array->rows());
  return true;
}

absl::StatusOr<worker::Array> ReadCifarImages(std::shared_ptr<const worker::FileBytes> file) {
  auto arrays = worker::ReadCifarFile(std::move(file), worker::kCifar10);
  if (!arrays.ok()) return arrays.status();
  return arrays->images;
}

}  // namespace

bool RunInput(std::string_view input) {
  const MemoryFile file(input);
  worker::DataStorage storage({.memory_bytes = 1 << 20, .spool_bytes = 1 << 24});
  const auto contents = worker::LoadFile(file.path(), &storage);
  if (!contents.ok()) return false;
  const bool is_idx = IsWhole(worker::ReadIdxFile(*contents));
  const bool is_npy = IsWhole(worker::ReadNpyFile(*contents, &storage));
  const bool is_cifar = IsWhole(ReadCifarImages(*contents));
  return is_idx || is_npy || is_cifar;
}

}  // namespace cairn::fuzz
