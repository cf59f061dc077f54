#include "worker/data/features/deferred_rows.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "common/status_macros.h"
#include "worker/data/files/load_file.h"

namespace cairn::worker {
namespace {

// Thread-safe.
class DeferredFile {
 public:
  explicit DeferredFile(DeferredPart part) : part_(std::move(part)) {}

  // The encoded rows of a target.
  absl::StatusOr<std::shared_ptr<const FileBytes>> Rows(int target) {
    MutexLock lock(&mutex_);
    if (rows_.empty()) CAIRN_RETURN_IF_ERROR(Read());
    return rows_[target];
  }

 private:
  absl::Status Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    CAIRN_ASSIGN_OR_RETURN(const uint64_t fingerprint, FileFingerprint(part_.path));
    if (fingerprint != part_.fingerprint) return Changed("its contents are not those that");
    absl::StatusOr<FeatureEncoder::File> file = part_.read();
    // All examples were read when the job was planned.
    if (absl::IsInvalidArgument(file.status())) {
      return absl::DataLossError(std::string(file.status().message()));
    }
    CAIRN_RETURN_IF_ERROR(file.status());
    if (file->examples != part_.examples) {
      return Changed(
          absl::StrCat("it has ", file->examples, " examples, not the ", part_.examples, " that"));
    }
    rows_ = std::move(file->rows);
    return absl::OkStatus();
  }

  absl::Status Changed(const std::string& what) const {
    return absl::DataLossError(absl::StrCat(
        "data file ", part_.path, ": ", what,
        " were inspected when the job was planned; all workers need the same files, and these "
        "must not change"));
  }

  const DeferredPart part_;
  Mutex mutex_;
  std::vector<std::shared_ptr<const FileBytes>> rows_ ABSL_GUARDED_BY(mutex_);  // By target.
};

}  // namespace

SourceArrays ArraysOf(const FeatureEncoder& encoder) {
  SourceArrays arrays;
  arrays.checked = true;
  arrays.inputs.resize(encoder.inputs());
  arrays.labels.resize(encoder.targets() - encoder.inputs());
  return arrays;
}

absl::Status AddRows(const FeatureEncoder& encoder,
                     const std::vector<std::shared_ptr<const FileBytes>>& rows, int64_t examples,
                     SourceArrays* all) {
  for (int i = 0; i < encoder.targets(); ++i) {
    Array& target = i < encoder.inputs() ? all->inputs[i] : all->labels[i - encoder.inputs()];
    CAIRN_RETURN_IF_ERROR(Join(encoder.ArrayOf(i, rows[i], examples), &target));
  }
  return absl::OkStatus();
}

absl::Status AddDeferredRows(const std::shared_ptr<const FeatureEncoder>& encoder,
                             DeferredPart part, SourceArrays* all) {
  const std::string path = part.path;
  const int64_t examples = part.examples;
  const auto file = std::make_shared<DeferredFile>(std::move(part));
  std::vector<std::shared_ptr<const FileBytes>> rows;
  for (int i = 0; i < encoder->targets(); ++i) {
    const uint64_t bytes = static_cast<uint64_t>(examples) * encoder->row_bytes(i);
    rows.push_back(FileBytes::Deferred(path, bytes, [file, i] { return file->Rows(i); }));
  }
  return AddRows(*encoder, rows, examples, all);
}

bool IsIndexed(const PlannedFiles* planned, size_t files) {
  return planned != nullptr && planned->index.size() == files &&
         planned->fingerprints.size() >= files && planned->storage != nullptr;
}

}  // namespace cairn::worker
