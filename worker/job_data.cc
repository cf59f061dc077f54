#include "worker/job_data.h"

#include <xxhash.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/failpoint.h"
#include "common/status_macros.h"
#include "job/data_source.h"
#include "worker/data/zip_parts.h"
#include "worker/job_sources.h"

namespace cairn::worker {
namespace {

// A reply about a data set of many files is small.
constexpr size_t kFileGroupsMax = 256;

absl::StatusOr<Dataset> Open(const proto::DataSource& source, const Fingerprints& inspected,
                             const IndexedFiles& index, const proto::DataPlan& plan,
                             const JobModel& model, const std::shared_ptr<DataStorage>& storage) {
  CAIRN_ASSIGN_OR_RETURN(const SourceFiles files, ListJobFiles(source, model));
  return OpenFiles(source, files, inspected, index, plan, model.data_model(),
                   model.data_objective(), storage);
}

// The examples of a zip. `plans` has the files of its sources, and `train` what the training data
// fix. Both are empty if the job was planned without them.
absl::StatusOr<Dataset> OpenPlannedZip(const proto::DataSource& zip, const DataPlans& plans,
                                       const DataPlans& train, const JobModel& model,
                                       const std::shared_ptr<DataStorage>& storage) {
  const auto open = [&](int number, const proto::DataSource& source, const nn::Signature& part,
                        proto::DamagedRecords* damaged) -> absl::StatusOr<Dataset> {
    const proto::DataPlan its = number < plans.size() ? plans[number] : proto::DataPlan();
    CAIRN_ASSIGN_OR_RETURN(const SourceFiles files,
                           ListFiles(source, part, /*needs_labels=*/!part.outputs().empty()));
    Findings found;
    auto data = OpenFiles(source, files, its.train_files(), its.train_index(),
                          FixedFor(number, train), part, model.data_objective(), storage, &found);
    // Files that are opened as needed have no damaged records: those of the plan are left out.
    *damaged = found.damaged.count() > 0 ? found.damaged : its.train_damaged();
    return data;
  };
  return OpenZip(zip, model.data_model(), open);
}

// As Open, for a source that may be a zip, with the plans of its sources, or a mixture. `plans` are
// those of its sources. They are empty if the job was planned without this mixture; its sources
// then have the plan of the job.
absl::StatusOr<Dataset> OpenAny(const proto::DataSource& source, const Fingerprints& inspected,
                                const IndexedFiles& index, const DataPlans& zip_plans,
                                const DataPlans& plans, const proto::DataPlan& plan,
                                const JobModel& model,
                                const std::shared_ptr<DataStorage>& storage) {
  if (!source.zip().empty()) {
    return OpenPlannedZip(source, zip_plans, plan.train_zip(), model, storage);
  }
  if (source.mix().empty()) return Open(source, inspected, index, plan, model, storage);
  return OpenMix(source, [&](int number, const proto::DataSource& each) -> absl::StatusOr<Dataset> {
    if (number < plans.size()) {
      const proto::DataPlan& its = plans[number];
      return Open(each, its.train_files(), its.train_index(), its, model, storage);
    }
    CAIRN_ASSIGN_OR_RETURN(const SourceFiles files, ListJobFiles(each, model));
    proto::DataPlan found;
    CAIRN_RETURN_IF_ERROR(InspectSource(each, files, &found));
    CAIRN_RETURN_IF_ERROR(CheckShared(each, found, plan));
    return Open(each, {}, {}, plan, model, storage);
  });
}

// Opens the training data and, with a validation_fraction, the validation data, which are a part of
// the same files.
absl::Status OpenTraining(const proto::JobPlan& plan, const JobModel& model,
                          const std::shared_ptr<DataStorage>& storage, JobData* data) {
  CAIRN_ASSIGN_OR_RETURN(
      const Dataset all,
      OpenAny(plan.job().train(), plan.data().train_files(), plan.data().train_index(),
              plan.data().train_zip(), plan.data().train_mix(), plan.data(), model, storage));
  if (!plan.job().train().mix().empty()) {
    data->train = std::make_shared<const Dataset>(all);
    return absl::OkStatus();
  }
  CAIRN_ASSIGN_OR_RETURN(const RowSplit split, SplitRows(plan.job(), all.examples()));
  data->train = std::make_shared<const Dataset>(all.Subset(0, split.training, split.order));
  if (split.training == split.rows) return absl::OkStatus();
  data->validation = std::make_shared<const Dataset>(
      all.Subset(split.training, split.rows - split.training, split.order));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<JobData> LoadJobData(const proto::JobPlan& plan, const JobModel& model,
                                    const DataStorage::Options& options, bool train,
                                    bool validation, const std::string& validation_name) {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("worker.load"));
  JobData data;
  const auto storage = std::make_shared<DataStorage>(options);
  const proto::Job& job = plan.job();
  if (train || (validation && job.has_validation_fraction())) {
    CAIRN_ASSIGN_OR_RETURN(
        data, Within<JobData>(FieldOf("train", job.train()), [&]() -> absl::StatusOr<JobData> {
          JobData opened;
          CAIRN_RETURN_IF_ERROR(OpenTraining(plan, model, storage, &opened));
          return opened;
        }));
  }
  if (validation && job.has_validation()) {
    const std::string name =
        validation_name.empty() ? FieldOf("validation", job.validation()) : validation_name;
    CAIRN_ASSIGN_OR_RETURN(Dataset opened, Within<Dataset>(name, [&] {
                             return OpenAny(
                                 job::ValidationSource(job), plan.data().validation_files(),
                                 plan.data().validation_index(), plan.data().validation_zip(),
                                 plan.data().validation_mix(), plan.data(), model, storage);
                           }));
    data.validation = std::make_shared<const Dataset>(std::move(opened));
  }
  // validation_steps.
  if (data.validation != nullptr && job.has_validation_steps() &&
      plan.validation_examples() < data.validation->examples()) {
    data.validation =
        std::make_shared<const Dataset>(data.validation->First(plan.validation_examples()));
  }
  data.storage = storage;
  if (!train) data.train = nullptr;
  if (!validation) data.validation = nullptr;
  return data;
}

absl::StatusOr<std::shared_ptr<const Dataset>> LoadInputs(const proto::JobPlan& plan,
                                                          const nn::Model& model,
                                                          const DataStorage::Options& options) {
  const PlannedFiles planned = {.storage = std::make_shared<DataStorage>(options)};
  const auto load = [&planned](proto::DataSource source, const proto::DataPlan& fixed,
                               const nn::Signature& signature) -> absl::StatusOr<Dataset> {
    // Every row has its prediction.
    source.clear_skip_damaged();
    if (source.has_parquet()) source.mutable_parquet()->clear_filter();
    CAIRN_ASSIGN_OR_RETURN(const SourceFiles files,
                           ListFiles(source, signature, /*needs_labels=*/false));
    const std::vector<LabelSpec> no_labels;
    CAIRN_ASSIGN_OR_RETURN(
        SourceArrays arrays,
        ReadSource({source, files, fixed, signature, no_labels, planned.storage.get(), &planned}));
    return Dataset::CreateInputs(std::move(arrays), source, fixed, signature);
  };
  return Within<std::shared_ptr<const Dataset>>(
      "--input", [&]() -> absl::StatusOr<std::shared_ptr<const Dataset>> {
        const proto::DataSource source = job::ValidationSource(plan.job());
        if (source.zip().empty()) {
          CAIRN_ASSIGN_OR_RETURN(Dataset inputs, load(source, plan.data(), model));
          return std::make_shared<const Dataset>(std::move(inputs));
        }
        std::vector<ZippedPart> parts;
        for (int i = 0; i < source.zip_size(); ++i) {
          const proto::ZippedSource& zipped = source.zip(i);
          if (zipped.inputs().empty()) continue;
          const std::vector<int> places = job::InputsOf(zipped, model);
          CAIRN_ASSIGN_OR_RETURN(Dataset inputs,
                                 load(zipped.source(), FixedFor(i, plan.data().train_zip()),
                                      nn::Signature(model).Part(places, {})));
          parts.push_back({{std::move(inputs), places, {}}, {}});
        }
        CAIRN_ASSIGN_OR_RETURN(Dataset inputs, ZipParts(std::move(parts)));
        return std::make_shared<const Dataset>(std::move(inputs));
      });
}

absl::StatusOr<std::vector<proto::DataFiles>> FingerprintValidation(const proto::JobPlan& plan,
                                                                    const nn::Model& model,
                                                                    bool needs_labels) {
  std::vector<proto::DataFiles> groups;
  const bool has_own = plan.job().has_validation();
  const proto::DataPlan& data = plan.data();
  const bool is_planned =
      has_own
          ? !data.validation_files().empty() || !data.validation_mix().empty() ||
                !data.validation_zip().empty()
          : !data.train_files().empty() || !data.train_mix().empty() || !data.train_zip().empty();
  if (needs_labels && is_planned) return groups;
  std::vector<std::string> names;
  std::vector<uint64_t> prints;
  const proto::DataSource all = has_own ? job::ValidationSource(plan.job()) : plan.job().train();
  const std::vector<proto::DataSource> sources = job::SourcesOf(all);
  for (size_t i = 0; i < sources.size(); ++i) {
    nn::Signature signature = model;
    bool has_labels = needs_labels;
    if (!all.zip().empty()) {
      const proto::ZippedSource& zipped = all.zip(static_cast<int>(i));
      if (!needs_labels && zipped.inputs().empty()) continue;
      has_labels = needs_labels && !zipped.outputs().empty();
      CAIRN_ASSIGN_OR_RETURN(signature,
                             job::PartOf(absl::StrCat("zip[", i, "]"), signature, zipped));
    }
    CAIRN_ASSIGN_OR_RETURN(const SourceFiles files, ListFiles(sources[i], signature, has_labels));
    CAIRN_ASSIGN_OR_RETURN(const std::vector<uint64_t> its, FingerprintFiles(files));
    absl::c_copy(files.All(), std::back_inserter(names));
    absl::c_copy(its, std::back_inserter(prints));
  }
  const size_t of_group = (names.size() + kFileGroupsMax - 1) / kFileGroupsMax;
  for (size_t i = 0; i < names.size(); i += of_group) {
    const size_t count = std::min(of_group, names.size() - i);
    proto::DataFiles& group = groups.emplace_back();
    group.set_first(names[i]);
    group.set_count(static_cast<int64_t>(count));
    group.set_fingerprint(XXH3_64bits(&prints[i], count * sizeof(prints[i])));
  }
  return groups;
}

}  // namespace cairn::worker
