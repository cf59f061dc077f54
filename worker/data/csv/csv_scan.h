#ifndef CAIRN_WORKER_DATA_CSV_CSV_SCAN_H_
#define CAIRN_WORKER_DATA_CSV_CSV_SCAN_H_

#include <exception>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "common/mutex.h"
#include "worker/data/csv/csv_blocks.h"
#include "worker/data/csv/csv_parser.h"

namespace cairn::worker {

// Parses a file's blocks, several at a time, and hands on what was made of them in the file's
// order. Belongs to one thread.
class CsvScan {
 public:
  // Both are told in which slot a block is; a slot has one block at a time.
  using Visit = absl::FunctionRef<absl::Status(int slot, const CsvRecord&)>;
  using Take = absl::FunctionRef<absl::Status(int slot)>;

  // `threads` is at least 1; 1: the caller's alone, which does all the work too if the system gives
  // no others. `blocks` must outlive it.
  CsvScan(CsvBlocks* blocks, char delimiter, int threads);

  // Slots are 0 to SlotsOf(threads) - 1.
  static int SlotsOf(int threads) { return threads == 1 ? 1 : 2 * threads; }

  // Visits all records, those of one block in their order on one thread, and the file's first
  // record, if it has no error, before all others; calls `take` for each block after its records,
  // in the order of the blocks, on the caller's thread. Once. Ends with the error that comes first
  // in the file: the visitor's, or those of CsvBlocks and CsvParser, with the file's name. The
  // block with the error is taken too: it may have records before it. Throws what these throw.
  absl::Status Run(Visit visit, Take take);

 private:
  struct Slot {
    explicit Slot(char delimiter) : parser(delimiter) {}
    CsvBlock block;
    CsvParser parser;
    bool busy = false;  // Of Run's thread.
    bool has_records = false;
    absl::Status status;
    std::exception_ptr thrown;  // For want of memory.
  };

  void Parse(int slot, Visit visit);
  absl::Status Finish(int slot, Take take);

  CsvBlocks* const blocks_;
  const int threads_;
  std::vector<std::unique_ptr<Slot>> slots_;

  Mutex mutex_;
  ConditionVariable changed_;
  // Of each slot: whether its block has been parsed, and the slot is Run's again.
  std::vector<bool> parsed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_SCAN_H_
