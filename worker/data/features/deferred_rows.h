#ifndef CAIRN_WORKER_DATA_FEATURES_DEFERRED_ROWS_H_
#define CAIRN_WORKER_DATA_FEATURES_DEFERRED_ROWS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/data/data_reader.h"
#include "worker/data/features/feature_encoder.h"
#include "worker/data/files/file_bytes.h"

namespace cairn::worker {

// The arrays of a source whose rows the encoder checks; without rows, yet.
SourceArrays ArraysOf(const FeatureEncoder& encoder);

// Appends the rows of a file, by target, to the arrays of a source, which has an array for each
// target of the encoder.
absl::Status AddRows(const FeatureEncoder& encoder,
                     const std::vector<std::shared_ptr<const FileBytes>>& rows, int64_t examples,
                     SourceArrays* all);

// A file, or a part of one, that is read when its rows are first used.
struct DeferredPart {
  std::string path;
  int64_t examples = 0;      // In the plan.
  uint64_t fingerprint = 0;  // Of the file.
  std::function<absl::StatusOr<FeatureEncoder::File>()> read;
};

// As AddRows. Reading the rows fails with DataLoss if the file is not the one of the plan, or is
// damaged; other errors are those of `read`, which must be thread-safe.
absl::Status AddDeferredRows(const std::shared_ptr<const FeatureEncoder>& encoder,
                             DeferredPart part, SourceArrays* all);

// Whether the plan has an entry for each of `files` files, so that they can be deferred.
bool IsIndexed(const PlannedFiles* planned, size_t files);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_FEATURES_DEFERRED_ROWS_H_
