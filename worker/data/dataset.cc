#include "worker/data/dataset.h"

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/data/idx_file.h"
#include "worker/data/npy_file.h"

namespace cairn::worker {
namespace {

using ReadFile = absl::StatusOr<Array> (*)(const std::string& path);

struct SourceFiles {
  std::vector<std::string> features;
  std::string labels;
  ReadFile read;
};

template <typename Source>
SourceFiles FilesOf(const Source& source, ReadFile read) {
  return {{source.features().begin(), source.features().end()}, source.labels(0), read};
}

// The table of data formats.
absl::StatusOr<SourceFiles> FilesOfSource(const proto::DataSource& source) {
  switch (source.format_case()) {
    case proto::DataSource::kIdx:
      return FilesOf(source.idx(), ReadIdxFile);
    case proto::DataSource::kNpy:
      return FilesOf(source.npy(), ReadNpyFile);
    default:
      break;
  }
  return absl::InvalidArgumentError("the data source has none of the formats idx, npy");
}

absl::Status Wrong(const Array& array, const std::string& reason) {
  return absl::InvalidArgumentError(absl::StrCat("data file ", array.file, ": ", reason));
}

absl::Status CheckWhole(const Array& array) {
  const std::optional<int64_t> bad = FindNotInt32(array);
  if (!bad) return absl::OkStatus();
  return Wrong(array, absl::StrCat("whole numbers of 32 bits expected, element ", *bad, " of ",
                                   array.ToString(), " is none"));
}

// What labels may be; the losses that take any number have no bounds.
std::optional<ValueRange> LabelBounds(const nn::Loss& loss, const nn::Shape& output) {
  if (loss.label_type() == proto::INT32) {
    return ValueRange{0, output.empty() ? 0.0 : static_cast<double>(output.back() - 1)};
  }
  if (loss.name() == "binary_crossentropy" || loss.name() == "categorical_crossentropy") {
    return ValueRange{0, 1};
  }
  return std::nullopt;
}

absl::Status CheckLabelRange(const Array& labels, const nn::Loss& loss, const nn::Shape& output) {
  const std::optional<ValueRange> bounds = LabelBounds(loss, output);
  const std::optional<ValueRange> found = FindRange(labels);
  if (!bounds || !found) return absl::OkStatus();
  if (found->minimum >= bounds->minimum && found->maximum <= bounds->maximum) {
    return absl::OkStatus();
  }
  return Wrong(labels, absl::StrCat("labels from ", bounds->minimum, " to ", bounds->maximum,
                                    " expected (loss ", loss.name(), ", model output ",
                                    nn::ShapeText(output), "), found ", found->minimum, " to ",
                                    found->maximum));
}

// Whether an example of shape `data` is one of shape `wanted`, but perhaps for a last axis of 1.
bool FitsInput(const nn::Shape& data, nn::Shape wanted) {
  if (data == wanted) return true;
  if (wanted.empty() || wanted.back() != 1) return false;
  wanted.pop_back();
  return data == wanted;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Dataset>> Dataset::Load(const proto::DataSource& source,
                                                       const nn::Model& model,
                                                       const nn::Loss& loss) {
  CAIRN_ASSIGN_OR_RETURN(const SourceFiles files, FilesOfSource(source));
  if (files.features.size() != model.inputs().size()) {
    return absl::InvalidArgumentError(absl::StrCat("the model has ", model.inputs().size(),
                                                   " inputs, the data source lists ",
                                                   files.features.size(), " feature files"));
  }
  const double scale = source.has_scale() ? source.scale() : 1.0;
  if (!std::isfinite(scale)) return absl::InvalidArgumentError("scale is not a finite number");
  std::unique_ptr<Dataset> dataset(new Dataset);
  CAIRN_ASSIGN_OR_RETURN(Array labels, files.read(files.labels));
  dataset->examples_ = labels.examples();
  CAIRN_RETURN_IF_ERROR(dataset->SetLabels(std::move(labels), model, loss));
  for (size_t i = 0; i < files.features.size(); ++i) {
    CAIRN_ASSIGN_OR_RETURN(Array array, files.read(files.features[i]));
    CAIRN_RETURN_IF_ERROR(dataset->AddInput(std::move(array), model.inputs()[i], scale));
  }
  return dataset;
}

absl::Status Dataset::SetLabels(Array array, const nn::Model& model, const nn::Loss& loss) {
  if (array.examples() == 0) return Wrong(array, "it holds no examples");
  const absl::Status shapes = loss.ValidateShapes(model.output_shape(), array.example_shape());
  if (!shapes.ok()) return Wrong(array, std::string(shapes.message()));
  if (loss.label_type() == proto::INT32) CAIRN_RETURN_IF_ERROR(CheckWhole(array));
  CAIRN_RETURN_IF_ERROR(CheckLabelRange(array, loss, model.output_shape()));
  labels_.type = loss.label_type();
  labels_.elements = nn::ElementCount(array.example_shape());
  labels_.array = std::move(array);
  return absl::OkStatus();
}

absl::Status Dataset::AddInput(Array array, const nn::Model::Input& input, double scale) {
  if (array.examples() != examples_) {
    return Wrong(array, absl::StrCat("as many examples as labels expected: ", examples_, " in ",
                                     labels_.array.file, ", found ", array.examples()));
  }
  if (!FitsInput(array.example_shape(), input.spec.shape)) {
    return Wrong(array, absl::StrCat("examples of shape ", nn::ShapeText(input.spec.shape),
                                     " expected by model input '", input.name, "', found ",
                                     nn::ShapeText(array.example_shape())));
  }
  Column column;
  column.type = input.spec.type;
  column.elements = nn::ElementCount(input.spec.shape);
  if (column.type == proto::INT32) {
    CAIRN_RETURN_IF_ERROR(CheckWhole(array));
  } else {
    column.scale = scale;
  }
  column.array = std::move(array);
  features_.push_back(std::move(column));
  return absl::OkStatus();
}

void Dataset::ReadColumn(const Column& column, absl::Span<const int64_t> indices, void* out) {
  int64_t done = 0;
  for (int64_t index : indices) {
    const int64_t first = index * column.elements;
    const int64_t at = done++ * column.elements;
    if (column.type == proto::INT32) {
      CopyAsInt32(column.array, first, column.elements, static_cast<int32_t*>(out) + at);
    } else {
      CopyAsFloat(column.array, first, column.elements, column.scale,
                  static_cast<float*>(out) + at);
    }
  }
}

void Dataset::ReadInput(int input, absl::Span<const int64_t> indices, void* out) const {
  ReadColumn(features_[input], indices, out);
}

void Dataset::ReadLabels(absl::Span<const int64_t> indices, void* out) const {
  ReadColumn(labels_, indices, out);
}

}  // namespace cairn::worker
