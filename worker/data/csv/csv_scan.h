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

// Parses the blocks of a file, several in parallel, and passes on the results in the order of the
// file. Belongs to one thread.
class CsvScan {
 public:
  // Both get the slot of the block. A slot has one block at a time.
  using Visit = absl::FunctionRef<absl::Status(int slot, const CsvRecord&)>;
  using Take = absl::FunctionRef<absl::Status(int slot)>;

  // `threads` is at least 1. With 1, or if the system has no more threads, the caller's thread does
  // all the work. `blocks` must outlive it.
  CsvScan(CsvBlocks* blocks, char delimiter, int threads);

  // Slots are 0 to SlotsOf(threads) - 1.
  static int SlotsOf(int threads) { return threads == 1 ? 1 : 2 * threads; }

  // Visits all records; may be called once. The records of a block are visited in order, on one
  // thread. The first record of the file, if it has no error, is visited before all others. Calls
  // `take` for each block after its records, in the order of the blocks, on the caller's thread.
  // Returns the first error in the order of the file: the visitor's, or that of CsvBlocks or
  // CsvParser, with the file's name. The block with the error is taken too, because it may have
  // records before the error. Throws what the callbacks throw.
  absl::Status Run(Visit visit, Take take);

 private:
  struct Slot {
    explicit Slot(char delimiter) : parser(delimiter) {}
    CsvBlock block;
    CsvParser parser;
    bool busy = false;  // Used only by the thread of Run.
    bool has_records = false;
    absl::Status status;
    std::exception_ptr thrown;  // Such as std::bad_alloc.
  };

  void Parse(int slot, Visit visit);
  absl::Status Finish(int slot, Take take);

  CsvBlocks* const blocks_;
  const int threads_;
  std::vector<std::unique_ptr<Slot>> slots_;

  Mutex mutex_;
  ConditionVariable changed_;
  // By slot: true if its block has been parsed and Run may use the slot again.
  std::vector<bool> parsed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_CSV_CSV_SCAN_H_
