#include "job/data_formats/cifar_formats.h"

namespace cairn::job {
namespace {

absl::Status CheckModel(const std::string& path, const proto::DataSource& source,
                        const nn::Signature& model) {
  if (model.inputs().size() != 1) {
    return Invalid(path, ": the model has ", model.inputs().size(),
                   " inputs, CIFAR's images are one");
  }
  if (model.outputs().size() > 1) {
    return Invalid(path, ": the model has ", model.outputs().size(),
                   " outputs, CIFAR has labels for one");
  }
  return absl::OkStatus();
}

absl::Status CheckLabels(const std::string& path, const proto::DataSource& source,
                         const DataNeeds& /*needs*/) {
  const proto::Cifar100Source& cifar = source.cifar100();
  if (!cifar.has_labels() || cifar.labels() == "fine" || cifar.labels() == "coarse") {
    return absl::OkStatus();
  }
  return Invalid(path, ".labels: \"", cifar.labels(), "\" is not one of fine, coarse");
}

void InheritLabels(const proto::DataSource& train, proto::DataSource* validation) {
  if (validation->cifar100().has_labels() || !train.cifar100().has_labels()) return;
  validation->mutable_cifar100()->set_labels(train.cifar100().labels());
}

}  // namespace

DataFormat Cifar10Format() {
  return {
      .name = "cifar10",
      .lists = [](proto::DataSource* source) { return ExampleFiles(source->mutable_cifar10()); },
      .extensions = {".bin"},
      .file_example = "data_batch_*.bin",
      .filters = RowFilters::kArrays,
      .check_model = CheckModel};
}

DataFormat Cifar100Format() {
  return {
      .name = "cifar100",
      .lists = [](proto::DataSource* source) { return ExampleFiles(source->mutable_cifar100()); },
      .extensions = {".bin"},
      .file_example = "train.bin",
      .filters = RowFilters::kArrays,
      .check = CheckLabels,
      .check_model = CheckModel,
      .inherit = InheritLabels};
}

}  // namespace cairn::job
