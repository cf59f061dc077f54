#include "worker/job_sources.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/algorithm/container.h"
#include "common/plural.h"
#include "common/printable.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "job/data_source.h"
#include "worker/data/files/load_file.h"
#include "worker/data/mixture.h"
#include "worker/data/row_selection.h"
#include "worker/data/zip_parts.h"

namespace cairn::worker {
namespace {

// Whether the plan has an entry of the column.
template <typename Entries>
bool HasColumn(const Entries& entries, const std::string& column) {
  return absl::c_any_of(entries, [&](const auto& entry) { return entry.column() == column; });
}

// An index that another worker has made: its numbers may be anything.
bool IsSound(const IndexedFiles& index) {
  constexpr int64_t kRowsMax = int64_t{1} << 40;
  int64_t rows = 0;
  const auto add = [&rows](int64_t count) {
    if (count < 0 || count > kRowsMax - rows) return false;
    rows += count;
    return true;
  };
  return absl::c_all_of(index, [&](const proto::IndexedFile& file) {
    bool is_sound =
        file.part_rows_size() == file.part_examples_size() && absl::c_all_of(file.part_rows(), add);
    for (int part = 0; is_sound && part < file.part_rows_size(); ++part) {
      is_sound = file.part_examples(part) >= 0 && file.part_examples(part) <= file.part_rows(part);
    }
    return is_sound && (file.part_rows_size() > 0 ? file.examples() >= 0 : add(file.examples()));
  });
}

// Checks that the files are those that were inspected. Files with an index are opened later, and
// checked then; this checks the sizes, without opening them.
absl::Status CheckFiles(const SourceFiles& files, const Fingerprints& inspected,
                        const IndexedFiles& index) {
  const std::vector<std::string> names = files.All();
  if (!inspected.empty() && static_cast<int>(names.size()) != inspected.size()) {
    return absl::FailedPreconditionError(absl::StrCat(
        names.size(), " data files on this host, ", inspected.size(), " when the job was planned"));
  }
  const bool has_files =
      index.empty() || (!inspected.empty() && !files.features.empty() &&
                        index.size() == static_cast<int>(files.features[0].size()));
  if (!has_files || !IsSound(index)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the plan's index, of ", Plural(index.size(), "file"), ", is not one of these files"));
  }
  if (inspected.empty()) return absl::OkStatus();
  for (int i = 0; i < std::min<int>(index.size(), inspected.size()); ++i) {
    CAIRN_ASSIGN_OR_RETURN(const uint64_t bytes, FileSize(names[i]));
    if (bytes == index[i].bytes()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "data file ", names[i], ": it has ", bytes, " bytes, and had ", index[i].bytes(),
        " when the job was planned; all workers need the same files, and these must "
        "not change"));
  }
  SourceFiles opened = files;
  if (!index.empty()) {
    opened.features.clear();
    opened.labels.clear();
  }
  CAIRN_ASSIGN_OR_RETURN(const std::vector<uint64_t> prints, FingerprintFiles(opened));
  const int first = static_cast<int>(names.size() - prints.size());
  for (int i = first; i < inspected.size(); ++i) {
    CAIRN_RETURN_IF_ERROR(CheckFingerprint(names[i], prints[i - first], inspected[i]));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RowSplit> SplitRows(const proto::Job& job, int64_t rows) {
  RowSplit split{rows, rows, std::nullopt};
  if (!job.has_validation_fraction()) return split;
  split.training =
      static_cast<int64_t>(std::floor(static_cast<double>(rows) * (1 - job.validation_fraction())));
  if (split.training < 1 || split.training == rows) {
    return absl::InvalidArgumentError(
        absl::StrCat("validation_fraction: ", job.validation_fraction(), " of ", rows,
                     " examples leaves none for ", split.training < 1 ? "training" : "validation"));
  }
  if (job.validation_choice() == "random") {
    split.order.emplace(rows, DeriveKey(job.seed(), "validation"));
  }
  return split;
}

absl::StatusOr<IsTrainingRow> ChooseRows(const proto::Job& job, const proto::DataSource& source,
                                         int64_t rows, const std::vector<int32_t>& passed) {
  CAIRN_ASSIGN_OR_RETURN(const RowSelection selection, RowSelection::Create(source, rows, passed));
  CAIRN_ASSIGN_OR_RETURN(const RowSplit split, SplitRows(job, selection.examples()));
  return [split, selection](int64_t row) {
    return selection.AnyExampleOf(row, [&](int64_t example) { return split.IsTraining(example); });
  };
}

std::string FieldOf(const std::string& field, const proto::DataSource& source) {
  const job::DataFormat* format = job::FormatOf(source);
  return format == nullptr ? absl::StrCat("job field ", field)
                           : absl::StrCat("job field ", field, ".", format->name);
}

absl::StatusOr<Dataset> OpenSource(const proto::DataSource& source, const SourceFiles& files,
                                   const proto::DataPlan& plan, const nn::Signature& signature,
                                   const nn::Objective& objective, DataStorage* storage,
                                   const PlannedFiles* planned, Findings* findings) {
  const auto label_specs = LabelSpecs(source, signature, objective);
  CAIRN_ASSIGN_OR_RETURN(SourceArrays arrays, ReadSource({source, files, plan, signature,
                                                          label_specs, storage, planned}));
  if (findings != nullptr) *findings = {arrays.damaged, arrays.index};
  // Objectives of several models, and a source of a zip, may need no labels.
  if (label_specs.empty()) {
    return Dataset::CreateInputs(std::move(arrays), source, plan, signature);
  }
  return Dataset::Create(std::move(arrays), source, plan, signature, objective);
}

absl::StatusOr<SourceFiles> ListJobFiles(const proto::DataSource& source, const JobModel& model) {
  return ListFiles(source, model.data_model(),
                   /*needs_labels=*/!model.data_objective().losses().empty());
}

absl::StatusOr<Dataset> OpenMix(
    const proto::DataSource& mix,
    const std::function<absl::StatusOr<Dataset>(int number, const proto::DataSource& source)>&
        open) {
  std::vector<Dataset> opened;
  std::vector<int64_t> sizes;
  std::vector<double> weights;
  const std::vector<proto::DataSource> sources = job::SourcesOf(mix);
  for (int i = 0; i < static_cast<int>(sources.size()); ++i) {
    absl::StatusOr<Dataset> source = open(i, sources[i]);
    if (!source.ok()) {
      return absl::Status(source.status().code(),
                          absl::StrCat("mix[", i, "]: ", source.status().message()));
    }
    sizes.push_back(source->examples());
    opened.push_back(*std::move(source));
    if (mix.mix(i).has_weight()) weights.push_back(mix.mix(i).weight());
  }
  CAIRN_ASSIGN_OR_RETURN(Mixture mixture, Mixture::Create(std::move(sizes), std::move(weights)));
  return Dataset::Mix(std::move(opened), std::move(mixture));
}

absl::StatusOr<Dataset> OpenZip(const proto::DataSource& zip, const nn::Signature& model,
                                const OpenPart& open) {
  std::vector<ZippedPart> parts;
  for (int i = 0; i < zip.zip_size(); ++i) {
    const proto::ZippedSource& zipped = zip.zip(i);
    CAIRN_ASSIGN_OR_RETURN(const nn::Signature part,
                           job::PartOf(absl::StrCat("zip[", i, "]"), model, zipped));
    proto::DamagedRecords damaged;
    absl::StatusOr<Dataset> dataset = open(i, zipped.source(), part, &damaged);
    if (!dataset.ok()) {
      return absl::Status(dataset.status().code(),
                          absl::StrCat("zip[", i, "]: ", dataset.status().message()));
    }
    parts.push_back(
        {{*std::move(dataset), job::InputsOf(zipped, model), job::OutputsOf(zipped, model)},
         std::move(damaged)});
  }
  return ZipParts(std::move(parts));
}

proto::DataPlan FixedFor(int number, const DataPlans& train) {
  if (number >= train.size()) return {};
  proto::DataPlan plan = train[number];
  plan.clear_train_files();
  plan.clear_train_index();
  plan.clear_train_damaged();
  return plan;
}

absl::StatusOr<Dataset> OpenFiles(const proto::DataSource& source, const SourceFiles& files,
                                  const Fingerprints& inspected, const IndexedFiles& index,
                                  const proto::DataPlan& plan, const nn::Signature& signature,
                                  const nn::Objective& objective,
                                  const std::shared_ptr<DataStorage>& storage, Findings* findings) {
  CAIRN_RETURN_IF_ERROR(CheckFiles(files, inspected, index));
  const PlannedFiles planned = {
      {index.begin(), index.end()}, {inspected.begin(), inspected.end()}, storage};
  return OpenSource(source, files, plan, signature, objective, storage.get(), &planned, findings);
}

absl::Status CheckShared(const proto::DataSource& source, const proto::DataPlan& found,
                         const proto::DataPlan& plan) {
  const auto list_classes = [] {
    return absl::InvalidArgumentError(
        "list the classes in \"class_names\": all sources of a mixture share them");
  };
  // Of images, whose classes are those of their folders.
  if (!found.vocabularies().empty() && !HasColumn(plan.vocabularies(), "")) return list_classes();
  for (const job::OpenColumn& column : job::OpenColumns(source)) {
    const std::string name = PrintableLine(column.name);
    if (column.kind == job::OpenColumn::Kind::kMean) {
      if (HasColumn(plan.fills(), column.name)) continue;
      return absl::InvalidArgumentError(absl::StrCat("replace missing values of \"", name,
                                                     "\" by a number: all sources of a mixture "
                                                     "share it"));
    }
    if (HasColumn(plan.vocabularies(), column.name)) continue;
    if (source.has_text() && column.kind == job::OpenColumn::Kind::kNames) return list_classes();
    return absl::InvalidArgumentError(absl::StrCat("list the \"vocabulary\" of \"",
                                                   source.has_text() ? "text_vectorization" : name,
                                                   "\": all sources of a mixture share it"));
  }
  if (found.csv_features().empty() || !plan.csv_features().empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "name the columns in \"features\": all sources of a mixture share them");
}

}  // namespace cairn::worker
