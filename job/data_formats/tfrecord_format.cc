#include "job/data_formats/tfrecord_format.h"

#include <string>
#include <vector>

#include "job/data_formats/data_features.h"

namespace cairn::job {
namespace {

constexpr FeatureKind kKind;

absl::Status CheckFeatures(const std::string& path, const proto::DataSource& source,
                           const DataNeeds& needs) {
  const proto::TfrecordSource& tfrecord = source.tfrecord();
  return CheckDataFeatures(path, tfrecord.features(), tfrecord.labels(), needs, kKind);
}

absl::Status CheckModel(const std::string& path, const proto::DataSource& source,
                        const nn::Signature& model) {
  const proto::TfrecordSource& tfrecord = source.tfrecord();
  return CheckFeaturesFit(path, tfrecord.features(), tfrecord.labels(), model, kKind);
}

// Features and labels are inherited together.
void Inherit(const proto::DataSource& train, proto::DataSource* validation) {
  proto::TfrecordSource& tfrecord = *validation->mutable_tfrecord();
  if (!tfrecord.features().empty() || !tfrecord.labels().empty()) return;
  *tfrecord.mutable_features() = train.tfrecord().features();
  *tfrecord.mutable_labels() = train.tfrecord().labels();
}

std::vector<OpenColumn> OpenColumnsOf(const proto::DataSource& source) {
  return OpenFeatures(source.tfrecord().features(), source.tfrecord().labels(), kKind);
}

}  // namespace

DataFormat TfrecordFormat() {
  return {
      .name = "tfrecord",
      .lists = [](proto::DataSource* source) { return ExampleFiles(source->mutable_tfrecord()); },
      .extensions = {".tfrecord", ".tfrecords"},
      .file_example = "train-*.tfrecord",
      .labels_example = "LABEL_FEATURE",
      .skips_damaged = true,
      .filters = RowFilters::kReader,
      .has_text = true,
      .is_divisible = true,
      .open_columns = OpenColumnsOf,
      .check = CheckFeatures,
      .check_model = CheckModel,
      .inherit = Inherit};
}

}  // namespace cairn::job
