#include "worker/data/encoded_rows.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "common/status_macros.h"
#include "nn/tensor.h"
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
    for (const DeferredPart::File& file : part_.files) {
      CAIRN_ASSIGN_OR_RETURN(const uint64_t fingerprint, FileFingerprint(file.path));
      if (fingerprint != file.fingerprint) {
        return Changed(file.path, "its contents are not those that");
      }
    }
    absl::StatusOr<EncodedFile> read = part_.read();
    // All examples were read when the job was planned.
    if (absl::IsInvalidArgument(read.status())) {
      return absl::DataLossError(std::string(read.status().message()));
    }
    CAIRN_RETURN_IF_ERROR(read.status());
    if (read->examples != part_.examples) {
      return Changed(
          part_.files[0].path,
          absl::StrCat("it has ", read->examples, " examples, not the ", part_.examples, " that"));
    }
    rows_ = std::move(read->rows);
    return absl::OkStatus();
  }

  static absl::Status Changed(const std::string& path, const std::string& what) {
    return absl::DataLossError(absl::StrCat(
        "data file ", path, ": ", what,
        " were inspected when the job was planned; all workers need the same files, and these "
        "must not change"));
  }

  const DeferredPart part_;
  Mutex mutex_;
  std::vector<std::shared_ptr<const FileBytes>> rows_ ABSL_GUARDED_BY(mutex_);  // By target.
};

}  // namespace

int64_t EncodedLayouts::row_bytes(int target) const {
  return nn::ElementCount(targets[target].row_shape) * ElementBytes(targets[target].type);
}

Array EncodedLayouts::ArrayOf(int target, std::shared_ptr<const FileBytes> rows,
                              int64_t examples) const {
  return Array(std::move(rows), examples, targets[target]);
}

SourceArrays ArraysOf(const EncodedLayouts& layouts) {
  SourceArrays arrays;
  arrays.checked = true;
  arrays.inputs.resize(layouts.inputs);
  arrays.labels.resize(layouts.targets.size() - layouts.inputs - (layouts.has_passed ? 1 : 0));
  if (layouts.has_passed) arrays.passed.emplace();
  return arrays;
}

absl::Status AddRows(const EncodedLayouts& layouts, const EncodedFile& file, SourceArrays* all) {
  std::vector<Array*> targets;
  for (Array& input : all->inputs) targets.push_back(&input);
  for (Array& label : all->labels) targets.push_back(&label);
  if (all->passed) targets.push_back(&*all->passed);
  for (size_t i = 0; i < targets.size(); ++i) {
    const int target = static_cast<int>(i);
    CAIRN_RETURN_IF_ERROR(Join(layouts.ArrayOf(target, file.rows[i], file.examples), targets[i]));
  }
  return absl::OkStatus();
}

absl::Status AddInspectedFiles(const EncodedLayouts& layouts, const std::vector<std::string>& paths,
                               const std::vector<EncodedFile>& files, SourceArrays* all) {
  DamageList damaged;
  for (size_t i = 0; i < files.size(); ++i) {
    CAIRN_RETURN_IF_ERROR(AddRows(layouts, files[i], all));
    damaged.Add(files[i].damaged, files[i].examples);
    proto::IndexedFile& entry = all->index.emplace_back();
    entry.set_examples(files[i].examples);
    CAIRN_ASSIGN_OR_RETURN(const uint64_t bytes, FileSize(paths[i]));
    entry.set_bytes(bytes);
  }
  all->damaged = damaged.records();
  return absl::OkStatus();
}

absl::Status AddDeferredRows(const EncodedLayouts& layouts, DeferredPart part, SourceArrays* all) {
  const std::string path = part.files[0].path;
  EncodedFile later;
  later.examples = part.examples;
  const auto file = std::make_shared<DeferredFile>(std::move(part));
  for (int i = 0; i < static_cast<int>(layouts.targets.size()); ++i) {
    const uint64_t bytes = static_cast<uint64_t>(later.examples) * layouts.row_bytes(i);
    later.rows.push_back(FileBytes::Deferred(path, bytes, [file, i] { return file->Rows(i); }));
  }
  return AddRows(layouts, later, all);
}

absl::Status AddDeferredFiles(
    const EncodedLayouts& layouts, const std::vector<std::string>& paths,
    const PlannedFiles& planned,
    const std::function<absl::StatusOr<EncodedFile>(const std::string& path)>& read,
    SourceArrays* all) {
  for (size_t i = 0; i < paths.size(); ++i) {
    CAIRN_RETURN_IF_ERROR(AddDeferredRows(layouts,
                                          {{{paths[i], planned.fingerprints[i]}},
                                           planned.index[i].examples(),
                                           [read, path = paths[i]] { return read(path); }},
                                          all));
  }
  return absl::OkStatus();
}

bool IsIndexed(const PlannedFiles* planned, size_t files) {
  return planned != nullptr && planned->index.size() == files &&
         planned->fingerprints.size() >= files && planned->storage != nullptr;
}

}  // namespace cairn::worker
