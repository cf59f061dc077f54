#include "worker/data/files/data_storage.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace cairn::worker {

DataStorage::DataStorage(Options options) : options_(std::move(options)) {}

bool DataStorage::TakeMemory(uint64_t bytes) {
  // Compare and exchange: several files are loaded in parallel, and together they must not exceed
  // the limit.
  uint64_t taken = memory_;
  do {
    if (bytes > options_.memory_bytes || taken > options_.memory_bytes - bytes) return false;
  } while (!memory_.compare_exchange_weak(taken, taken + bytes));
  return true;
}

absl::Status DataStorage::TakeSpool(uint64_t bytes, const std::string& name) {
  if (spooled_ += bytes; spooled_ <= options_.spool_bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "data file ", name, ": unpacked, the job's data take more than ", options_.spool_bytes >> 20,
      " MiB; plain idx, npy and CIFAR files are read in "
      "place, however large"));
}

}  // namespace cairn::worker
