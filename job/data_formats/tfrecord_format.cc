#include "job/data_formats/tfrecord_format.h"

#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "job/data_formats/images_format.h"
#include "job/data_formats/named_places.h"

namespace cairn::job {
namespace {

using Features = google::protobuf::RepeatedPtrField<proto::TfrecordFeature>;

// The most values of one feature.
constexpr int64_t kValuesMax = int64_t{1} << 28;

// The types of raw elements, as NumPy names them.
constexpr const char* kRawTypes[] = {"bool",  "uint8",  "int8",  "uint16",  "int16",  "uint32",
                                     "int32", "uint64", "int64", "float32", "float64"};

absl::Status CheckShape(const std::string& path, const proto::TfrecordFeature& feature) {
  int64_t values = 1;
  for (const int64_t size : feature.shape()) {
    if (size < 1) return Invalid(path, ".shape: ", size, " is not a size of 1 or more");
    if (size > kValuesMax / values) {
      return Invalid(path, ".shape: more than ", kValuesMax, " values");
    }
    values *= size;
  }
  if (!feature.has_max_length()) {
    if (!feature.has_padding()) return absl::OkStatus();
    return Invalid(path, ".padding: has no meaning without \"max_length\"");
  }
  const int64_t length = feature.max_length();
  if (length < 1 || length > kValuesMax) {
    return Invalid(path, ".max_length: ", length, " is not from 1 to ", kValuesMax);
  }
  if (!feature.shape().empty()) {
    return Invalid(path, ".max_length: conflicts with \"shape\"; keep one of them");
  }
  if (!feature.has_default_()) return absl::OkStatus();
  return Invalid(path, ".default: conflicts with \"max_length\": a missing list is all padding");
}

absl::Status CheckDecoding(const std::string& path, const proto::TfrecordFeature& feature) {
  const std::string& type = feature.dtype();
  if (!feature.has_decode()) {
    if (!feature.has_dtype() || type == "int64" || type == "float32") return absl::OkStatus();
    const bool is_raw = absl::c_linear_search(kRawTypes, type);
    return Invalid(path, ".dtype: \"", type, "\" is not one of int64, float32",
                   is_raw ? "; for the elements of a raw tensor set \"decode\": \"raw\"" : "");
  }
  const bool is_image = feature.decode() == "image";
  if (!is_image && feature.decode() != "raw") {
    return Invalid(path, ".decode: \"", feature.decode(), "\" is not one of raw, image");
  }
  if (is_image && feature.has_dtype()) {
    return Invalid(path, ".dtype: conflicts with \"decode\": \"image\"; leave it out");
  }
  if (is_image && !feature.shape().empty()) {
    const auto form = ImageFormOf({feature.shape().begin(), feature.shape().end()});
    if (!form.ok()) return Invalid(path, ".shape: ", form.status().message());
  }
  if (!is_image && !absl::c_linear_search(kRawTypes, type)) {
    return Invalid(path, ".dtype: ",
                   feature.has_dtype() ? absl::StrCat("\"", type, "\" is not") : "is missing; say",
                   " one of ", absl::StrJoin(kRawTypes, ", "));
  }
  if (feature.has_max_length()) {
    return Invalid(path, ".max_length: conflicts with \"decode\"; set \"shape\"");
  }
  if (feature.vocabulary().empty()) return absl::OkStatus();
  return Invalid(path, ".vocabulary: conflicts with \"decode\"; keep one of them");
}

absl::Status CheckVocabulary(const std::string& path, const proto::TfrecordFeature& feature) {
  std::set<std::string> names;
  for (const std::string& name : feature.vocabulary()) {
    if (names.insert(name).second) continue;
    return Invalid(path, ".vocabulary: \"", name, "\" appears twice; keep one of them");
  }
  if (names.empty() && feature.unknown()) {
    return Invalid(path, ".unknown: has no meaning without \"vocabulary\"");
  }
  if (!names.empty() && feature.has_dtype()) {
    return Invalid(path, ".dtype: conflicts with \"vocabulary\", which is for bytes");
  }
  return absl::OkStatus();
}

absl::Status CheckFeature(const std::string& path, const proto::TfrecordFeature& feature) {
  if (feature.name().empty()) return Invalid(path, ".name: is missing; name a feature");
  CAIRN_RETURN_IF_ERROR(CheckShape(path, feature));
  CAIRN_RETURN_IF_ERROR(CheckDecoding(path, feature));
  CAIRN_RETURN_IF_ERROR(CheckVocabulary(path, feature));
  if (feature.has_default_() && !std::isfinite(feature.default_())) {
    return Invalid(path, ".default: ", feature.default_(), " is not a finite number");
  }
  if (!std::isfinite(feature.padding())) {
    return Invalid(path, ".padding: ", feature.padding(), " is not a finite number");
  }
  return absl::OkStatus();
}

absl::Status CheckFeatures(const std::string& path, const proto::DataSource& source,
                           bool needs_labels) {
  const proto::TfrecordSource& tfrecord = source.tfrecord();
  if (tfrecord.features().empty()) {
    return Invalid(path, ".features: is missing; name the features of the model's input");
  }
  if (needs_labels && tfrecord.labels().empty()) {
    return Invalid(path, ".labels: is missing; name the feature of the labels");
  }
  for (int i = 0; i < tfrecord.features_size(); ++i) {
    const std::string at = absl::StrCat(path, ".features[", i, "]");
    CAIRN_RETURN_IF_ERROR(CheckFeature(at, tfrecord.features(i)));
    if (tfrecord.features(i).has_output()) return Invalid(at, ".output: is only for labels");
  }
  for (int i = 0; i < tfrecord.labels_size(); ++i) {
    const std::string at = absl::StrCat(path, ".labels[", i, "]");
    CAIRN_RETURN_IF_ERROR(CheckFeature(at, tfrecord.labels(i)));
    if (tfrecord.labels(i).has_input()) return Invalid(at, ".input: is only for features");
    if (tfrecord.labels(i).unknown()) return Invalid(at, ".unknown: is only for features");
  }
  return absl::OkStatus();
}

absl::Status CheckModel(const std::string& path, const proto::DataSource& source,
                        const nn::Model& model) {
  std::vector<NamedPlace> features;
  for (const auto& feature : source.tfrecord().features()) {
    features.push_back({feature.has_input(), feature.input()});
  }
  CAIRN_RETURN_IF_ERROR(
      CheckNamedPlaces(path + ".features", "feature", "input", NamesOf(model.inputs()), features));
  std::vector<NamedPlace> labels;
  for (const auto& label : source.tfrecord().labels()) {
    labels.push_back({label.has_output(), label.output()});
  }
  return CheckNamedPlaces(path + ".labels", "label", "output", NamesOf(model.outputs()), labels);
}

// Features and labels are inherited together.
void Inherit(const proto::DataSource& train, proto::DataSource* validation) {
  proto::TfrecordSource& tfrecord = *validation->mutable_tfrecord();
  if (!tfrecord.features().empty() || !tfrecord.labels().empty()) return;
  *tfrecord.mutable_features() = train.tfrecord().features();
  *tfrecord.mutable_labels() = train.tfrecord().labels();
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
      .check = CheckFeatures,
      .check_model = CheckModel,
      .inherit = Inherit};
}

}  // namespace cairn::job
