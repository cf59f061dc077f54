#ifndef CAIRN_WORKER_DATA_ENCODED_ROWS_H_
#define CAIRN_WORKER_DATA_ENCODED_ROWS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "worker/data/array.h"
#include "worker/data/data_reader.h"
#include "worker/data/files/file_bytes.h"

namespace cairn::worker {

// What readers of files with whole examples share, which encode them as rows of numbers: for each
// target, an input of the model or the labels of an output, a row.

// The examples of a file, or of a part of one.
struct EncodedFile {
  std::vector<std::shared_ptr<const FileBytes>> rows;  // By target.
  int64_t examples = 0;
  proto::DamagedRecords damaged;  // That were skipped.
};

// The layout of the rows of each target.
struct EncodedLayouts {
  int inputs = 0;  // The first so many targets; the others are labels.
  std::vector<Array::Layout> targets;
  bool has_passed = false;  // The last target is SourceArrays::passed.

  // The bytes of a row.
  int64_t row_bytes(int target) const;
  Array ArrayOf(int target, std::shared_ptr<const FileBytes> rows, int64_t examples) const;
};

// The arrays of a source whose rows the encoder checks; without rows, yet.
SourceArrays ArraysOf(const EncodedLayouts& layouts);

// Appends the rows of a file to the arrays of a source, which has an array for each target.
absl::Status AddRows(const EncodedLayouts& layouts, const EncodedFile& file, SourceArrays* all);

// As AddRows for each of the files that were inspected, with their damage and entries of the index.
absl::Status AddInspectedFiles(const EncodedLayouts& layouts, const std::vector<std::string>& paths,
                               const std::vector<EncodedFile>& files, SourceArrays* all);

// A file, a part of one, or several files, that are read when their rows are first used.
struct DeferredPart {
  // In the plan.
  struct File {
    std::string path;
    uint64_t fingerprint = 0;
  };
  std::vector<File> files;
  int64_t examples = 0;  // In the plan.
  std::function<absl::StatusOr<EncodedFile>()> read;
};

// As AddRows. Reading the rows fails with DataLoss if the files are not those of the plan, or are
// damaged; other errors are those of `read`, which must be thread-safe.
absl::Status AddDeferredRows(const EncodedLayouts& layouts, DeferredPart part, SourceArrays* all);

// As AddDeferredRows for each file, which `read` reads.
absl::Status AddDeferredFiles(
    const EncodedLayouts& layouts, const std::vector<std::string>& paths,
    const PlannedFiles& planned,
    const std::function<absl::StatusOr<EncodedFile>(const std::string& path)>& read,
    SourceArrays* all);

// Whether the plan has an entry for each of `files` files, so that they can be deferred.
bool IsIndexed(const PlannedFiles* planned, size_t files);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_ENCODED_ROWS_H_
