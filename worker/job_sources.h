#ifndef CAIRN_WORKER_JOB_SOURCES_H_
#define CAIRN_WORKER_JOB_SOURCES_H_

#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "nn/objective.h"
#include "nn/signature.h"
#include "proto/job.pb.h"
#include "worker/data/dataset.h"
#include "worker/data/files/data_storage.h"
#include "worker/data/permutation.h"
#include "worker/data/source_arrays.h"
#include "worker/job_model.h"

// The sources of a job's data, which are inspected (job_inspection.h) and loaded (job_data.h) by
// the same rules.
namespace cairn::worker {

// Divides the rows of the training files into training and validation rows. The first `training`
// rows of `order` are for training, the rest for validation.
struct RowSplit {
  int64_t rows = 0;
  int64_t training = 0;
  std::optional<Permutation> order;  // None: the order of the files.

  bool IsTraining(int64_t row) const { return (order ? order->IndexOf(row) : row) < training; }
};

// The number of training rows is that of Keras's validation_split. InvalidArgument: one of the
// parts is empty.
absl::StatusOr<RowSplit> SplitRows(const proto::Job& job, int64_t rows);

// As ChooseTrainingRows, for a source of the job. A row is for training if an example that contains
// it is.
absl::StatusOr<IsTrainingRow> ChooseRows(const proto::Job& job, const proto::DataSource& source,
                                         int64_t rows, const std::vector<int32_t>& passed);

// The job file's field of a source: "job field train.npy". The path alone could be taken for a file
// name.
std::string FieldOf(const std::string& field, const proto::DataSource& source);

// Calls `read` and prefixes its error with the job file's field. Turns std::bad_alloc into
// ResourceExhausted.
template <typename Result>
absl::StatusOr<Result> Within(const std::string& data,
                              const std::function<absl::StatusOr<Result>()>& read) {
  try {
    absl::StatusOr<Result> result = read();
    if (result.ok()) return result;
    return absl::Status(result.status().code(),
                        absl::StrCat(data, ": ", result.status().message()));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(data, ": the data do not fit into this worker's memory"));
  }
}

using IndexedFiles = google::protobuf::RepeatedPtrField<proto::IndexedFile>;
using Fingerprints = google::protobuf::RepeatedField<uint64_t>;
using DataPlans = google::protobuf::RepeatedPtrField<proto::DataPlan>;

// What the inspection of a source finds beside its examples.
struct Findings {
  proto::DamagedRecords damaged;
  std::vector<proto::IndexedFile> index;
};

// The files of one of the job's sources. Objectives of several models may need no labels.
absl::StatusOr<SourceFiles> ListJobFiles(const proto::DataSource& source, const JobModel& model);

// Opens the files of a source. `planned` may be null; so may `findings`.
absl::StatusOr<Dataset> OpenSource(const proto::DataSource& source, const SourceFiles& files,
                                   const proto::DataPlan& plan, const nn::Signature& signature,
                                   const nn::Objective& objective, DataStorage* storage,
                                   const PlannedFiles* planned, Findings* findings);

// As OpenSource, of files that were inspected. FailedPrecondition: they are not those.
absl::StatusOr<Dataset> OpenFiles(const proto::DataSource& source, const SourceFiles& files,
                                  const Fingerprints& inspected, const IndexedFiles& index,
                                  const proto::DataPlan& plan, const nn::Signature& signature,
                                  const nn::Objective& objective,
                                  const std::shared_ptr<DataStorage>& storage,
                                  Findings* findings = nullptr);

// Opens the sources of a mixture, each by open(number, source), and mixes them.
absl::StatusOr<Dataset> OpenMix(
    const proto::DataSource& mix,
    const std::function<absl::StatusOr<Dataset>(int number, const proto::DataSource& source)>&
        open);

// What the inspection of one source of a mixture has found would differ from what it finds in the
// others. InvalidArgument: the plan, which they share, does not have it.
absl::Status CheckShared(const proto::DataSource& source, const proto::DataPlan& found,
                         const proto::DataPlan& plan);

// Opens the sources of a zip, each by open(number, part, damaged), and puts their examples
// together. `damaged` is what the source has skipped.
using OpenPart = std::function<absl::StatusOr<Dataset>(int number, const proto::DataSource& source,
                                                       const nn::Signature& part,
                                                       proto::DamagedRecords* damaged)>;
absl::StatusOr<Dataset> OpenZip(const proto::DataSource& zip, const nn::Signature& model,
                                const OpenPart& open);

// What the training data fix for a source of a zip. `train` has the sources of the training data.
proto::DataPlan FixedFor(int number, const DataPlans& train);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_JOB_SOURCES_H_
