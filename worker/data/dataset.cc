#include "worker/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/mutex.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "job/moments.h"
#include "worker/data/array_search.h"

namespace cairn::worker {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

absl::Status Wrong(const std::string& place, const std::string& reason) {
  return absl::InvalidArgumentError(absl::StrCat("data file ", place, ": ", reason));
}

// The checks of values read each row once, however many windows have it.
absl::Status CheckWhole(const Array& array) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<InvalidElement> bad, FindNotInt32(array));
  if (!bad) return absl::OkStatus();
  return Wrong(array.Place(bad->row),
               absl::StrCat("whole numbers of 32 bits expected, element ", bad->element, " of ",
                            array.ToString(), " is ", bad->value));
}

absl::Status CheckFinite(const Array& array, double scale) {
  CAIRN_ASSIGN_OR_RETURN(const std::optional<InvalidElement> bad, FindNotFinite(array, scale));
  if (!bad) return absl::OkStatus();
  return Wrong(array.Place(bad->row),
               absl::StrCat("element ", bad->element, " is ", bad->value,
                            scale == 1 ? "" : absl::StrCat(", times ", scale),
                            ", not a finite float32; set \"allow_nan\": true to train on it"));
}

absl::Status CheckLabelRange(const Array& labels, const LabelSpec& wanted) {
  if (!wanted.has_bounds()) return absl::OkStatus();
  CAIRN_ASSIGN_OR_RETURN(const std::optional<InvalidElement> bad,
                         FindOutside(labels, wanted.least, wanted.most));
  if (!bad) return absl::OkStatus();
  return Wrong(labels.Place(bad->row),
               absl::StrCat("labels from ", wanted.least, " to ", wanted.most, " expected (",
                            wanted.Taker(), "), found ", bad->value));
}

// Whether an example of shape `data` has shape `wanted`, except possibly for a last axis of 1.
bool FitsInput(const nn::Shape& data, nn::Shape wanted) {
  if (data == wanted) return true;
  if (wanted.empty() || wanted.back() != 1) return false;
  wanted.pop_back();
  return data == wanted;
}

}  // namespace

absl::StatusOr<Dataset> Dataset::Create(SourceArrays arrays, const proto::DataSource& source,
                                        const proto::DataPlan& plan, const nn::Signature& model,
                                        const nn::Objective& objective) {
  if (arrays.labels.size() != model.outputs().size()) {
    return absl::InvalidArgumentError(absl::StrCat("the model has ", model.outputs().size(),
                                                   " outputs, the data source has labels for ",
                                                   arrays.labels.size()));
  }
  Dataset dataset;
  // Labels come before inputs: their number is the number of examples that inputs must match.
  dataset.count_ = arrays.labels[0].rows();
  dataset.checked_ = arrays.checked;
  const std::vector<LabelSpec> wanted = LabelSpecs(source, model, objective);
  for (size_t i = 0; i < arrays.labels.size(); ++i) {
    CAIRN_RETURN_IF_ERROR(dataset.AddLabels(std::move(arrays.labels[i]), source, wanted[i]));
  }
  CAIRN_RETURN_IF_ERROR(dataset.AddInputs(std::move(arrays.inputs), source, plan, model));
  if (arrays.weights) CAIRN_RETURN_IF_ERROR(dataset.SetWeights(*std::move(arrays.weights)));
  return dataset;
}

absl::StatusOr<Dataset> Dataset::CreateInputs(SourceArrays arrays, const proto::DataSource& source,
                                              const proto::DataPlan& plan,
                                              const nn::Signature& model) {
  Dataset dataset;
  dataset.count_ = arrays.inputs.empty() ? 0 : arrays.inputs[0].rows();
  dataset.checked_ = arrays.checked;
  if (!arrays.inputs.empty() && dataset.count_ == 0) {
    return Wrong(arrays.inputs[0].file(), "it holds no examples");
  }
  CAIRN_RETURN_IF_ERROR(dataset.AddInputs(std::move(arrays.inputs), source, plan, model));
  return dataset;
}

absl::Status Dataset::AddInputs(std::vector<Array> arrays, const proto::DataSource& source,
                                const proto::DataPlan& plan, const nn::Signature& model) {
  if (arrays.size() != model.inputs().size()) {
    return absl::InvalidArgumentError(absl::StrCat("the model has ", model.inputs().size(),
                                                   " inputs, the data source lists ", arrays.size(),
                                                   " feature files"));
  }
  if (source.has_scale() && !std::isfinite(source.scale())) {
    return absl::InvalidArgumentError("scale is not a finite number");
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    CAIRN_RETURN_IF_ERROR(AddInput(std::move(arrays[i]), source, plan, model, static_cast<int>(i)));
  }
  return absl::OkStatus();
}

absl::Status Dataset::AddLabels(Array array, const proto::DataSource& source,
                                const LabelSpec& wanted) {
  const std::string& file = array.file();
  if (array.rows() == 0) return Wrong(file, "it holds no examples");
  if (array.rows() != count_) {
    return Wrong(file, absl::StrCat("as many labels as of the first output expected: ", count_,
                                    " in ", labels_[0].array.file(), ", found ", array.rows()));
  }
  const auto shape = wanted.ShapeAtLoss(array.row_shape());
  if (!shape.ok()) return Wrong(file, std::string(shape.status().message()));
  if (!checked_) {
    if (wanted.type == proto::INT32) CAIRN_RETURN_IF_ERROR(CheckWhole(array));
    CAIRN_RETURN_IF_ERROR(CheckLabelRange(array, wanted));
    if (!source.allow_nan()) CAIRN_RETURN_IF_ERROR(CheckFinite(array, 1));
  }
  Column column;
  column.type = wanted.loss->label_type();
  column.elements = nn::ElementCount(*shape);
  column.one_hot = wanted.one_hot;
  column.array = std::move(array);
  labels_.push_back(std::move(column));
  return absl::OkStatus();
}

absl::Status Dataset::AddInput(Array array, const proto::DataSource& source,
                               const proto::DataPlan& plan, const nn::Signature& model, int input) {
  const nn::Model::Input& wanted = model.inputs()[input];
  if (array.rows() != count_) {
    const bool has_labels = !labels_.empty();
    return Wrong(
        array.file(),
        absl::StrCat("as many examples as ", has_labels ? "labels" : "of the first input",
                     " expected: ", count_, " in ",
                     (has_labels ? labels_ : features_)[0].array.file(), ", found ", array.rows()));
  }
  Column column;
  column.is_checked = checked_;
  column.allows_nan = source.allow_nan();
  column.type = wanted.spec.type;
  column.elements = nn::ElementCount(wanted.spec.shape);
  auto steps = ValuePipeline::Create(source, plan, model, input, array);
  if (!steps.ok()) return Wrong(array.file(), std::string(steps.status().message()));
  column.steps = *std::move(steps);
  const bool has_steps = !column.steps.empty();
  const nn::Shape& shape = has_steps ? column.steps.shape() : array.row_shape();
  if (!FitsInput(shape, wanted.spec.shape)) {
    return Wrong(array.file(),
                 absl::StrCat("its examples have the shape ", nn::ShapeText(shape),
                              has_steps ? " after the pipeline" : "", ", the model's input '",
                              wanted.name, "' takes ", nn::ShapeText(wanted.spec.shape)));
  }
  column.preprocessing = job::Preprocessing(source, plan, model, input);
  column.is_standardized = source.standardize() && column.type != proto::INT32;
  if (checked_) {
    // Reading all of the values would open files that are opened as needed.
  } else if (column.type == proto::INT32 && !has_steps) {
    CAIRN_RETURN_IF_ERROR(CheckWhole(array.Rows()));
  } else if (!source.allow_nan()) {
    CAIRN_RETURN_IF_ERROR(CheckFinite(array.Rows(), column.preprocessing.scale()));
  }
  column.array = std::move(array);
  features_.push_back(std::move(column));
  return absl::OkStatus();
}

absl::Status Dataset::SetWeights(Array array) {
  const std::string& file = array.file();
  if (array.rows() != count_) {
    return Wrong(file, absl::StrCat("one sample weight for each example expected: ", count_,
                                    ", found ", array.rows()));
  }
  const nn::Shape& shape = array.row_shape();
  if (!shape.empty() && shape != nn::Shape{1}) {
    return Wrong(file, absl::StrCat("one sample weight for each example expected, found ",
                                    array.ToString()));
  }
  constexpr double kMost = std::numeric_limits<float>::max();
  CAIRN_ASSIGN_OR_RETURN(const std::optional<InvalidElement> bad, FindOutside(array, 0, kMost));
  if (bad) {
    return Wrong(
        array.Place(bad->row),
        absl::StrCat("a sample weight is a finite number of 0 or more, found ", bad->value));
  }
  Column weights;
  weights.elements = 1;
  weights.array = std::move(array);
  weights_ = std::move(weights);
  return absl::OkStatus();
}

Dataset Dataset::Mix(std::vector<Dataset> sources, Mixture mixture) {
  Dataset mixed;
  mixed.count_ = mixture.examples();
  const auto form_of = [](const Column& column) {
    Column form;
    form.type = column.type;
    form.elements = column.elements;
    return form;
  };
  for (const Column& column : sources[0].features_) mixed.features_.push_back(form_of(column));
  for (const Column& column : sources[0].labels_) mixed.labels_.push_back(form_of(column));
  for (const Dataset& source : sources) {
    if (source.has_weights()) mixed.weights_ = form_of(*source.weights_);
  }
  mixed.sources_ = std::make_shared<const std::vector<Dataset>>(std::move(sources));
  mixed.mixture_ = std::move(mixture);
  return mixed;
}

Dataset Dataset::Zip(std::vector<DatasetPart> parts) {
  Dataset zipped;
  zipped.count_ = parts[0].dataset.count_;
  const auto place = [](std::vector<Column>* columns, int at, Column column) {
    columns->resize(std::max(columns->size(), static_cast<size_t>(at) + 1));
    (*columns)[at] = std::move(column);
  };
  for (DatasetPart& part : parts) {
    Dataset& dataset = part.dataset;
    CAIRN_CHECK(dataset.count_ == zipped.count_ && dataset.sources_ == nullptr);
    for (size_t i = 0; i < dataset.features_.size(); ++i) {
      place(&zipped.features_, part.inputs[i], std::move(dataset.features_[i]));
    }
    for (size_t i = 0; i < dataset.labels_.size(); ++i) {
      place(&zipped.labels_, part.outputs[i], std::move(dataset.labels_[i]));
    }
    if (dataset.weights_) zipped.weights_ = std::move(dataset.weights_);
  }
  return zipped;
}

Dataset Dataset::Without(const std::vector<int64_t>& examples) const {
  Dataset result = *this;
  result.count_ -= static_cast<int64_t>(examples.size());
  for (Column& column : result.features_) column.array = column.array.Without(examples);
  for (Column& column : result.labels_) column.array = column.array.Without(examples);
  if (result.weights_) result.weights_->array = result.weights_->array.Without(examples);
  return result;
}

Dataset Dataset::Subset(int64_t first, int64_t count, std::optional<Permutation> order) const {
  Dataset part = *this;
  part.first_ = first;
  part.count_ = count;
  part.order_ = order;
  return part;
}

Dataset Dataset::First(int64_t count) const {
  Dataset part = *this;
  part.count_ = count;
  return part;
}

Dataset::RowRange Dataset::RowsOf(int64_t number, int64_t readers) const {
  const Array& array = features_[0].array;
  return {array.FirstRowOf(number, readers), array.FirstRowOf(number + 1, readers)};
}

Dataset Dataset::WithStatistics(const std::vector<job::Moments>& measured) const {
  Dataset result = *this;
  for (size_t i = 0; i < result.features_.size(); ++i) {
    Column& column = result.features_[i];
    column.steps = column.steps.WithStatistics(measured[i].Result(), measured[i].largest());
  }
  return result;
}

std::vector<const Array*> Dataset::Arrays() const {
  std::vector<const Array*> arrays;
  for (const Column& column : labels_) arrays.push_back(&column.array);
  for (const Column& column : features_) arrays.push_back(&column.array);
  if (weights_) arrays.push_back(&weights_->array);
  return arrays;
}

bool Dataset::AllArrays(bool (Array::*is)() const) const {
  if (sources_ != nullptr) {
    return std::all_of(sources_->begin(), sources_->end(),
                       [is](const Dataset& source) { return source.AllArrays(is); });
  }
  const std::vector<const Array*> arrays = Arrays();
  return std::all_of(arrays.begin(), arrays.end(),
                     [is](const Array* array) { return (array->*is)(); });
}

bool Dataset::in_memory() const { return AllArrays(&Array::in_memory); }

bool Dataset::is_open() const { return AllArrays(&Array::is_open); }

int64_t Dataset::RowOf(int64_t index) const {
  return order_ ? order_->At(first_ + index) : first_ + index;
}

absl::Status Dataset::ConvertRow(const Column& column, const char* row, std::optional<uint64_t> key,
                                 void* out) {
  if (column.one_hot > 0) {
    std::vector<int32_t> ids(column.array.elements());
    column.array.RowToInts(row, ids.data());
    auto* const vectors = static_cast<float*>(out);
    std::fill_n(vectors, column.elements, 0.0f);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || ids[i] >= column.one_hot) {
        return absl::InvalidArgumentError(
            absl::StrCat("its label is none of the ", column.one_hot, " classes"));
      }
      vectors[i * column.one_hot + ids[i]] = 1;
    }
  } else if (!column.steps.empty()) {
    CAIRN_RETURN_IF_ERROR(column.steps.Apply(column.array, row, key, column.type, out));
    if (column.type == proto::INT32) return absl::OkStatus();
    column.preprocessing.Standardize(absl::MakeSpan(static_cast<float*>(out), column.elements));
  } else if (column.type == proto::INT32) {
    column.array.RowToInts(row, static_cast<int32_t*>(out));
  } else {
    auto* const floats = static_cast<float*>(out);
    column.array.RowToFloats(row, column.preprocessing.scale(), floats);
    column.preprocessing.Standardize(absl::MakeSpan(floats, column.elements));
  }
  return absl::OkStatus();
}

absl::Status Dataset::ReadColumn(const Column& column, absl::Span<const int64_t> indices,
                                 std::optional<uint64_t> key, void* out) const {
  std::string scratch;
  std::vector<int64_t> rows;
  auto* at = static_cast<char*>(out);
  for (const int64_t index : indices) {
    rows.push_back(RowOf(index));
    CAIRN_ASSIGN_OR_RETURN(const char* row, column.array.Row(rows.back(), &scratch));
    std::optional<uint64_t> draws;
    if (key) draws = DeriveKey(*key, static_cast<uint64_t>(index));
    const absl::Status status = ConvertRow(column, row, draws, at);
    if (!status.ok()) {
      // The inspection has accepted all labels, and the steps of the job's data.
      return absl::DataLossError(absl::StrCat(
          "data file ", column.array.Place(rows.back()), ": ", status.message(),
          column.one_hot > 0 ? " any more: it was changed while the job runs; data must "
                               "stay as they were when the job began"
                             : ""));
    }
    at += column.elements * 4;
  }
  // After reading, so that a change during the read is found.
  return column.array.CheckUnchanged(rows);
}

absl::Status Dataset::Read(absl::Span<const int64_t> indices, const Buffers& to,
                           std::optional<uint64_t> key) const {
  if (sources_ != nullptr) return ReadMixed(indices, to, key);
  for (size_t i = 0; i < to.inputs.size(); ++i) {
    if (to.inputs[i] == nullptr) continue;
    CAIRN_RETURN_IF_ERROR(ReadColumn(features_[i], indices, key, to.inputs[i]));
  }
  for (size_t i = 0; i < to.labels.size(); ++i) {
    if (to.labels[i] == nullptr) continue;
    CAIRN_RETURN_IF_ERROR(ReadColumn(labels_[i], indices, std::nullopt, to.labels[i]));
  }
  if (to.weights == nullptr) return absl::OkStatus();
  if (weights_) return ReadColumn(*weights_, indices, std::nullopt, to.weights);
  std::fill_n(to.weights, indices.size(), 1.0f);
  return absl::OkStatus();
}

absl::Status Dataset::ReadMixed(absl::Span<const int64_t> indices, Buffers to,
                                std::optional<uint64_t> key) const {
  const auto advance = [](const std::vector<Column>& columns, std::vector<void*>* buffers) {
    for (size_t i = 0; i < buffers->size(); ++i) {
      void*& at = (*buffers)[i];
      if (at != nullptr) at = static_cast<char*>(at) + columns[i].elements * 4;
    }
  };
  for (const int64_t index : indices) {
    const Mixture::Place place = mixture_->At(index);
    std::optional<uint64_t> draws;
    if (key) draws = DeriveKey(*key, static_cast<uint64_t>(place.source));
    CAIRN_RETURN_IF_ERROR(
        (*sources_)[place.source].Read(absl::MakeConstSpan(&place.example, 1), to, draws));
    advance(features_, &to.inputs);
    advance(labels_, &to.labels);
    if (to.weights != nullptr) ++to.weights;
  }
  return absl::OkStatus();
}

absl::Status Dataset::ReadInput(int input, absl::Span<const int64_t> indices, void* out) const {
  Buffers buffers;
  buffers.inputs.resize(inputs());
  buffers.inputs[input] = out;
  return Read(indices, buffers);
}

absl::Status Dataset::ReadLabels(int output, absl::Span<const int64_t> indices, void* out) const {
  Buffers buffers;
  buffers.labels.resize(outputs());
  buffers.labels[output] = out;
  return Read(indices, buffers);
}

absl::Status Dataset::ReadWeights(absl::Span<const int64_t> indices, float* out) const {
  Buffers buffers;
  buffers.weights = out;
  return Read(indices, buffers);
}

absl::Status Dataset::OpenFiles(absl::Span<const int64_t> indices) const {
  if (sources_ != nullptr) {
    for (const int64_t index : indices) {
      const Mixture::Place place = mixture_->At(index);
      CAIRN_RETURN_IF_ERROR(
          (*sources_)[place.source].OpenFiles(absl::MakeConstSpan(&place.example, 1)));
    }
    return absl::OkStatus();
  }
  std::vector<int64_t> rows;
  for (const int64_t index : indices) rows.push_back(RowOf(index));
  for (const Array* const array : Arrays()) CAIRN_RETURN_IF_ERROR(array->OpenFiles(rows));
  return absl::OkStatus();
}

bool Dataset::has_steps() const {
  if (sources_ != nullptr) {
    return std::any_of(sources_->begin(), sources_->end(),
                       [](const Dataset& source) { return source.has_steps(); });
  }
  return std::any_of(features_.begin(), features_.end(),
                     [](const Column& column) { return !column.steps.empty(); });
}

std::vector<Dataset::RowRange> Dataset::PiecesOf(RowRange rows) {
  // Fewer rows are not worth a piece. Of each thread several: an error ends them early.
  constexpr int64_t kRowsLeast = 64;
  constexpr int64_t kPiecesOfThread = 8;
  const int64_t count = std::max<int64_t>(0, rows.end - rows.first);
  const int64_t most = std::max<int64_t>(1, count / kRowsLeast);
  const int64_t pieces = std::min(most, kPiecesOfThread * ReadersOf(most));
  std::vector<RowRange> result;
  for (int64_t i = 0; i < pieces; ++i) {
    result.push_back({rows.first + count * i / pieces, rows.first + count * (i + 1) / pieces});
  }
  return result;
}

absl::Status Dataset::CheckSteps(RowRange rows, Inputs inputs) const {
  const std::vector<RowRange> pieces = PiecesOf(rows);
  for (const Column& column : features_) {
    const bool is_other = inputs == Inputs::kNormalized
                              ? !column.steps.is_measured()
                              : inputs == Inputs::kOthers && column.steps.is_measured();
    if (is_other) continue;
    if (!column.steps.may_fail() && (column.is_checked || column.steps.empty())) continue;
    CAIRN_RETURN_IF_ERROR(ReadInParallel(pieces.size(), [&](size_t piece) {
      std::vector<float> values(column.elements);
      const auto check = [&](int64_t row, const char* bytes) {
        const absl::Status status = ConvertRow(column, bytes, std::nullopt, values.data());
        if (!status.ok()) return Wrong(column.array.Place(row), std::string(status.message()));
        if (column.type == proto::INT32 || column.allows_nan) return absl::OkStatus();
        const auto bad = std::find_if(values.begin(), values.end(),
                                      [](float value) { return !std::isfinite(value); });
        if (bad == values.end()) return absl::OkStatus();
        return Wrong(column.array.Place(row),
                     absl::StrCat("after the pipeline, element ", bad - values.begin(), " is ",
                                  *bad, ", not a finite float32"));
      };
      return column.array.ForEachRow(pieces[piece].first, pieces[piece].end, check);
    }));
  }
  return absl::OkStatus();
}

std::vector<proto::DataPlan::ExampleShape> Dataset::InputShapes() const {
  std::vector<proto::DataPlan::ExampleShape> shapes;
  if (!has_steps()) return shapes;
  for (const Column& column : features_) {
    const nn::Shape& shape = column.array.row_shape();
    shapes.emplace_back().mutable_sizes()->Assign(shape.begin(), shape.end());
  }
  return shapes;
}

absl::StatusOr<std::vector<job::Moments>> Dataset::Measure(
    const nn::Signature& model, const std::function<bool(int64_t row)>& is_training,
    RowRange rows) const {
  const std::vector<RowRange> pieces = PiecesOf(rows);
  std::vector<job::Moments> results;
  for (int input = 0; input < inputs(); ++input) {
    const Column& column = features_[input];
    results.emplace_back(0);
    if (!column.is_standardized && !column.steps.is_measured()) continue;
    const nn::Shape& shape = column.steps.is_measured() ? column.steps.measured_shape()
                                                        : model.inputs()[input].spec.shape;
    const int64_t places = shape.empty() ? 1 : shape.back();
    if (places > job::Moments::kPlacesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("standardize: model input '", model.inputs()[input].name, "' has ", places,
                       " features on its last axis, at most ", job::Moments::kPlacesMax,
                       " can be standardized; use \"scale\""));
    }
    results.back() = job::Moments(places);
    Mutex mutex;  // Guards `results`.
    CAIRN_RETURN_IF_ERROR(ReadInParallel(pieces.size(), [&](size_t piece) {
      job::Moments moments(places);
      std::vector<float> values(nn::ElementCount(shape));
      const auto add = [&](int64_t row, const char* bytes) {
        if (column.steps.empty()) {
          if (!is_training(row)) return absl::OkStatus();
          // Scaled first: standardization applies to the scaled values.
          column.array.RowToFloats(bytes, column.preprocessing.scale(), values.data());
        } else {
          const absl::Status status =
              column.steps.ApplyToMeasure(column.array, bytes, values.data());
          if (!status.ok()) return Wrong(column.array.Place(row), std::string(status.message()));
          moments.Cover(values);
        }
        if (is_training(row)) moments.Add(values);
        return absl::OkStatus();
      };
      CAIRN_RETURN_IF_ERROR(column.array.ForEachRow(pieces[piece].first, pieces[piece].end, add));
      const proto::Moments sums = moments.ToProto();
      MutexLock lock(&mutex);
      return results.back().Add(sums);
    }));
  }
  return results;
}

}  // namespace cairn::worker
