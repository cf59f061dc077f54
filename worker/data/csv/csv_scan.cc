#include "worker/data/csv/csv_scan.h"

#include <string>
#include <system_error>
#include <utility>

#include "common/status_macros.h"
#include "common/thread_pool.h"

namespace cairn::worker {
namespace {

// Null if the system has no more threads.
std::unique_ptr<ThreadPool> PoolOf(int threads, int slots) {
  try {
    return std::make_unique<ThreadPool>(threads, "csv parsers", slots);
  } catch (const std::system_error&) {
    return nullptr;
  }
}

}  // namespace

CsvScan::CsvScan(CsvBlocks* blocks, char delimiter, int threads)
    : blocks_(blocks), threads_(threads), parsed_(SlotsOf(threads), false) {
  for (int i = 0; i < SlotsOf(threads); ++i) slots_.push_back(std::make_unique<Slot>(delimiter));
}

void CsvScan::Parse(int index, Visit visit) {
  Slot& slot = *slots_[index];
  try {
    slot.status = slot.parser.Parse(slot.block.text, slot.block.line, [&](const CsvRecord& record) {
      slot.has_records = true;
      return visit(index, record);
    });
  } catch (...) {
    slot.thrown = std::current_exception();
  }
  MutexLock lock(&mutex_);
  parsed_[index] = true;
  changed_.NotifyAll();
}

// Waits for the block of the slot, if there is one, and takes it.
absl::Status CsvScan::Finish(int index, Take take) {
  Slot& slot = *slots_[index];
  if (!slot.busy) return absl::OkStatus();
  {
    MutexLock lock(&mutex_);
    while (!parsed_[index]) changed_.Wait(&mutex_);
    parsed_[index] = false;
  }
  slot.busy = false;
  if (slot.thrown) std::rethrow_exception(slot.thrown);
  if (absl::IsInvalidArgument(slot.status)) {
    CAIRN_RETURN_IF_ERROR(take(index));
    return blocks_->Malformed(std::string(slot.status.message()));
  }
  CAIRN_RETURN_IF_ERROR(slot.status);
  return take(index);
}

absl::Status CsvScan::Run(Visit visit, Take take) {
  std::unique_ptr<ThreadPool> pool;  // Its destructor waits for all users of slots.
  int threads = threads_;
  bool has_records = false;  // The first record was visited without an error.
  const int count = static_cast<int>(slots_.size());
  absl::StatusOr<bool> found = true;
  int next = 0;
  while (true) {
    CAIRN_RETURN_IF_ERROR(Finish(next, take));
    found = blocks_->Next(&slots_[next]->block);
    if (!found.ok() || !*found) break;
    slots_[next]->busy = true;
    if (has_records && threads > 1 && pool == nullptr) {
      pool = PoolOf(threads, count);
      if (pool == nullptr) threads = 1;
    }
    if (pool != nullptr) {
      pool->Submit([this, next, &visit] { Parse(next, visit); });
    } else {
      Parse(next, visit);
      // The first record has the columns, so other blocks start only after its visit succeeded.
      CAIRN_RETURN_IF_ERROR(Finish(next, take));
      has_records = slots_[next]->has_records;
    }
    next = (next + 1) % count;
  }
  for (int i = 0; i < count; ++i) CAIRN_RETURN_IF_ERROR(Finish((next + i) % count, take));
  return found.status();
}

}  // namespace cairn::worker
