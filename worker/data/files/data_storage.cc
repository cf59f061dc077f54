#include "worker/data/files/data_storage.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace cairn::worker {
namespace {

// Reserves bytes, or nothing if `most` would be exceeded.
bool Take(uint64_t bytes, uint64_t most, std::atomic<uint64_t>* taken) {
  // Compare and exchange: several files are loaded in parallel, and together they must not exceed
  // the limit.
  uint64_t before = *taken;
  do {
    if (bytes > most || before > most - bytes) return false;
  } while (!taken->compare_exchange_weak(before, before + bytes));
  return true;
}

}  // namespace

DataStorage::DataStorage(Options options) : options_(std::move(options)) {}

bool DataStorage::TakeMemory(uint64_t bytes) {
  return Take(bytes, options_.memory_bytes, &memory_);
}

bool DataStorage::TakeSpareMemory(uint64_t bytes) {
  return Take(bytes, options_.memory_bytes - options_.memory_bytes / 8, &memory_);
}

absl::Status DataStorage::TakeSpool(uint64_t bytes, const std::string& name) {
  if (Take(bytes, options_.spool_bytes, &spooled_)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "data file ", name, ": unpacked, the job's data take more than ", options_.spool_bytes >> 20,
      " MiB; plain idx, npy and CIFAR files are read in "
      "place, however large"));
}

}  // namespace cairn::worker
