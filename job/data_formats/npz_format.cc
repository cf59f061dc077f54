#include "job/data_formats/npz_format.h"

#include "common/status_macros.h"

namespace cairn::job {
namespace {

absl::Status CheckNames(const std::string& path, const FileNames& names, const char* example) {
  if (names.empty()) {
    return Invalid(path, ": is missing; name an array of the file, for example \"", example, "\"");
  }
  for (const std::string& name : names) {
    if (name.empty()) return Invalid(path, ": \"\" is not the name of an array");
  }
  return absl::OkStatus();
}

absl::Status CheckArrays(const std::string& path, const proto::DataSource& source,
                         const DataNeeds& needs) {
  if (needs.inputs) {
    CAIRN_RETURN_IF_ERROR(CheckNames(path + ".features", source.npz().features(), "x_train"));
  }
  if (!needs.labels && source.npz().labels().empty()) return absl::OkStatus();
  return CheckNames(path + ".labels", source.npz().labels(), "y_train");
}

absl::Status CheckCount(const std::string& path, int arrays, size_t count, const char* kind) {
  if (static_cast<size_t>(arrays) == count) return absl::OkStatus();
  return Invalid(path, ": names ", arrays, arrays == 1 ? " array" : " arrays", ", the model has ",
                 count, " ", kind, count == 1 ? "" : "s", "; one array per ", kind);
}

absl::Status CheckModel(const std::string& path, const proto::DataSource& source,
                        const nn::Signature& model) {
  CAIRN_RETURN_IF_ERROR(
      CheckCount(path + ".features", source.npz().features_size(), model.inputs().size(), "input"));
  if (source.npz().labels().empty()) return absl::OkStatus();  // CheckArrays has accepted it.
  return CheckCount(path + ".labels", source.npz().labels_size(), model.outputs().size(), "output");
}

void Inherit(const proto::DataSource& train, proto::DataSource* validation) {
  proto::NpzSource& npz = *validation->mutable_npz();
  if (npz.features().empty()) *npz.mutable_features() = train.npz().features();
  if (npz.labels().empty()) *npz.mutable_labels() = train.npz().labels();
}

}  // namespace

DataFormat NpzFormat() {
  return {.name = "npz",
          .lists = [](proto::DataSource* source) { return ExampleFiles(source->mutable_npz()); },
          .extensions = {".npz"},
          .file_example = "mnist.npz",
          .labels_example = "y_train",
          .filters = RowFilters::kArrays,
          .check = CheckArrays,
          .check_model = CheckModel,
          .inherit = Inherit};
}

}  // namespace cairn::job
