#include "worker/data/tfrecord/tfrecord_source.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "worker/data/files/load_file.h"
#include "worker/data/tfrecord/tfrecord_encoder.h"

namespace cairn::worker {
namespace {

using Encoder = std::shared_ptr<const TfrecordEncoder>;

// A file that is read when its rows are first used. Thread-safe.
class DeferredFile {
 public:
  DeferredFile(std::string path, int64_t examples, uint64_t fingerprint, Encoder encoder,
               std::shared_ptr<DataStorage> storage)
      : path_(std::move(path)),
        examples_(examples),
        fingerprint_(fingerprint),
        encoder_(std::move(encoder)),
        storage_(std::move(storage)) {}

  // The encoded rows of a target.
  absl::StatusOr<std::shared_ptr<const FileBytes>> Rows(int target) {
    MutexLock lock(&mutex_);
    if (rows_.empty()) CAIRN_RETURN_IF_ERROR(Read());
    return rows_[target];
  }

 private:
  absl::Status Read() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    CAIRN_ASSIGN_OR_RETURN(const uint64_t fingerprint, FileFingerprint(path_));
    if (fingerprint != fingerprint_) return Changed("its contents are not those that");
    absl::StatusOr<TfrecordEncoder::File> file = encoder_->ReadFile(path_, storage_.get());
    // All of its records were read when the job was planned.
    if (absl::IsInvalidArgument(file.status())) {
      return absl::DataLossError(std::string(file.status().message()));
    }
    CAIRN_RETURN_IF_ERROR(file.status());
    if (file->examples != examples_) {
      return Changed(
          absl::StrCat("it has ", file->examples, " examples, not the ", examples_, " that"));
    }
    rows_ = std::move(file->rows);
    return absl::OkStatus();
  }

  absl::Status Changed(const std::string& what) const {
    return absl::DataLossError(absl::StrCat(
        "data file ", path_, ": ", what,
        " were inspected when the job was planned; all workers need the same files, and these "
        "must not change"));
  }

  const std::string path_;
  const int64_t examples_;
  const uint64_t fingerprint_;
  const Encoder encoder_;
  const std::shared_ptr<DataStorage> storage_;
  Mutex mutex_;
  std::vector<std::shared_ptr<const FileBytes>> rows_ ABSL_GUARDED_BY(mutex_);  // By target.
};

// Appends the rows of each target of one file.
absl::Status AddRows(const TfrecordEncoder& encoder,
                     const std::vector<std::shared_ptr<const FileBytes>>& rows, int64_t examples,
                     SourceArrays* all) {
  for (int i = 0; i < encoder.targets(); ++i) {
    Array& target = i < encoder.inputs() ? all->inputs[i] : all->labels[i - encoder.inputs()];
    CAIRN_RETURN_IF_ERROR(Join(encoder.ArrayOf(i, rows[i], examples), &target));
  }
  return absl::OkStatus();
}

absl::Status AddDeferred(const Encoder& encoder, const std::string& path, int64_t examples,
                         uint64_t fingerprint, const std::shared_ptr<DataStorage>& storage,
                         SourceArrays* all) {
  const auto file = std::make_shared<DeferredFile>(path, examples, fingerprint, encoder, storage);
  std::vector<std::shared_ptr<const FileBytes>> rows;
  for (int i = 0; i < encoder->targets(); ++i) {
    const uint64_t bytes = static_cast<uint64_t>(examples) * encoder->row_bytes(i);
    rows.push_back(FileBytes::Deferred(path, bytes, [file, i] { return file->Rows(i); }));
  }
  return AddRows(*encoder, rows, examples, all);
}

// The plan has an entry for each file.
bool IsIndexed(const PlannedFiles* planned, size_t files) {
  return planned != nullptr && planned->index.size() == files &&
         planned->fingerprints.size() >= files && planned->storage != nullptr;
}

absl::Status AddAll(const TfrecordEncoder& encoder, const ReadRequest& request, SourceArrays* all) {
  const std::vector<std::string>& paths = request.files.features[0];
  using File = TfrecordEncoder::File;
  CAIRN_ASSIGN_OR_RETURN(const std::vector<File> files,
                         ReadAll<File>(paths, [&](const std::string& path) {
                           return encoder.ReadFile(path, request.storage);
                         }));
  proto::DamagedRecords& damaged = all->damaged;
  for (size_t i = 0; i < files.size(); ++i) {
    const File& file = files[i];
    if (damaged.count() == 0) damaged.set_first_error(file.damaged.first_error());
    damaged.set_count(damaged.count() + file.damaged.count());
    CAIRN_RETURN_IF_ERROR(AddRows(encoder, file.rows, file.examples, all));
    proto::IndexedFile& entry = all->index.emplace_back();
    entry.set_examples(file.examples);
    CAIRN_ASSIGN_OR_RETURN(const uint64_t bytes, FileSize(paths[i]));
    entry.set_bytes(bytes);
  }
  if (damaged.count() <= request.source.skip_damaged()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Plural(damaged.count(), "damaged record"), ", \"skip_damaged\" allows ",
                   request.source.skip_damaged(), "; the first: ", damaged.first_error()));
}

}  // namespace

absl::StatusOr<SourceArrays> ReadTfrecord(const ReadRequest& request) {
  const auto encoder =
      std::make_shared<const TfrecordEncoder>(request.source, request.model, request.label_specs);
  CAIRN_RETURN_IF_ERROR(encoder->CheckShapes());
  SourceArrays result;
  result.checked = true;
  result.inputs.resize(encoder->inputs());
  result.labels.resize(encoder->targets() - encoder->inputs());
  const std::vector<std::string>& files = request.files.features[0];
  if (!IsIndexed(request.planned, files.size())) {
    CAIRN_RETURN_IF_ERROR(AddAll(*encoder, request, &result));
    return result;
  }
  const PlannedFiles& planned = *request.planned;
  for (size_t i = 0; i < files.size(); ++i) {
    CAIRN_RETURN_IF_ERROR(AddDeferred(encoder, files[i], planned.index[i].examples(),
                                      planned.fingerprints[i], planned.storage, &result));
  }
  return result;
}

}  // namespace cairn::worker
