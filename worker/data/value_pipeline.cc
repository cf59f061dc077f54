#include "worker/data/value_pipeline.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "job/data_pipeline.h"
#include "job/preprocessing.h"
#include "job/value_steps.h"
#include "worker/data/images/resize_image.h"

namespace cairn::worker {
namespace {

using Spec = proto::PipelineStep;

// The range of a type of whole numbers; none for float32.
struct Range {
  const char* name;
  int64_t least;
  int64_t most;
};
template <typename T>
constexpr Range RangeOf(const char* name) {
  return {name, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}
constexpr Range kRanges[] = {
    RangeOf<uint8_t>("uint8"), RangeOf<int8_t>("int8"),     RangeOf<uint16_t>("uint16"),
    RangeOf<int16_t>("int16"), RangeOf<uint32_t>("uint32"), RangeOf<int32_t>("int32"),
    RangeOf<int64_t>("int64"),
};

absl::Status NotWhole(double value) {
  return absl::InvalidArgumentError(absl::StrCat("the value ", value, " is not a whole number"));
}

bool FitsInt64(double value) { return value >= -0x1p63 && value < 0x1p63; }

// Float32 has all whole numbers below this one.
constexpr int64_t kFloatWholesEnd = int64_t{1} << 24;

// `ids` were float32. InvalidArgument: rounding may have made one of several.
absl::Status CheckIds(const std::vector<int64_t>& ids) {
  for (const int64_t id : ids) {
    if (id > -kFloatWholesEnd && id < kFloatWholesEnd) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the value ", id,
                     " is a float32, which cannot tell ids of 2^24 and more apart; store ids as "
                     "integers, and leave out a \"cast\" before"));
  }
  return absl::OkStatus();
}

// Returns whether all numbers are whole, and float64 has not rounded them.
bool MakeWhole(const std::vector<double>& numbers, std::vector<int64_t>* wholes) {
  wholes->resize(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double value = numbers[i];
    if (value != std::trunc(value) || std::abs(value) >= 0x1p53) return false;
    (*wholes)[i] = static_cast<int64_t>(value);
  }
  return true;
}

absl::Status MakeWhole(const std::vector<float>& numbers, std::vector<int64_t>* wholes) {
  wholes->resize(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const float value = numbers[i];
    if (value != std::trunc(value) || !FitsInt64(value)) return NotWhole(value);
    (*wholes)[i] = static_cast<int64_t>(value);
  }
  return absl::OkStatus();
}

void MakeFloat(const std::vector<int64_t>& wholes, std::vector<float>* numbers) {
  numbers->assign(wholes.begin(), wholes.end());
}

absl::Status OutsideOf(const std::string& type, const absl::AlphaNum& value) {
  return absl::InvalidArgumentError(absl::StrCat("the value ", value, " does not fit into ", type));
}

int64_t ProductOf(const nn::Shape& shape, size_t first, size_t end) {
  int64_t product = 1;
  for (size_t i = first; i < std::min(end, shape.size()); ++i) product *= shape[i];
  return product;
}

// Where the pixels of a step come from.
struct Pixels {
  int64_t images = 1;  // Of the leading axes.
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 1;
};

// Whether the step makes float32 of whole numbers.
bool TakesFloats(const Spec& spec) {
  const double fill = spec.pad().value();
  const bool is_whole_fill = fill == std::trunc(fill) && FitsInt64(fill);
  return spec.has_normalize() || spec.has_resize() || spec.cast() == "float32" || !is_whole_fill;
}

// The largest absolute value that the rows have after `scale`.
double LargestValue(const proto::DataSource& source, const Array& array, double scale) {
  const double stored = source.has_images()      ? 255
                        : !IsFloat(array.type()) ? 0x1p64
                                                 : std::numeric_limits<double>::infinity();
  return stored * std::abs(scale);
}

// The largest absolute value after the step, for steps that refuse none.
double LargestAfter(const Spec& spec, double most) {
  if (spec.has_pad()) return std::max(most, std::abs(spec.pad().value()));
  if (!spec.has_normalize()) return most;
  // Their mean is not beyond the values.
  if (job::IsMeasured(spec)) return 2 * most / job::kDeviationMin;
  const proto::NormalizeStep& normalize = spec.normalize();
  for (const double mean : normalize.mean()) most = std::max(most, std::abs(mean));
  return 2 * most / *std::min_element(normalize.deviation().begin(), normalize.deviation().end());
}

// Whether the step may refuse a value, or makes one that is too large for a float32, if the largest
// one after it is `most`.
bool MayFail(const Spec& spec, double most) {
  const bool may_overflow = spec.has_normalize() && most > std::numeric_limits<float>::max() / 2;
  return job::TakesWholes(spec) || spec.has_cast() || may_overflow;
}

Pixels PixelsOf(const nn::Shape& shape, int leading) {
  return {ProductOf(shape, 0, leading), shape[leading], shape[leading + 1],
          ProductOf(shape, leading + 2, shape.size())};
}

}  // namespace

ValuePipeline::Step ValuePipeline::MakeStep(const Spec& spec) {
  Step step;
  step.spec = spec;
  if (spec.has_hash()) step.hash.emplace(spec.hash());
  for (const int64_t number : spec.vocabulary().numbers()) {
    step.ids.emplace(number, static_cast<int64_t>(step.ids.size()));
  }
  const proto::NormalizeStep& normalize = spec.normalize();
  SetNumbers({normalize.mean().begin(), normalize.mean().end()},
             {normalize.deviation().begin(), normalize.deviation().end()}, &step);
  return step;
}

void ValuePipeline::SetNumbers(std::vector<double> mean, const std::vector<double>& deviation,
                               Step* step) {
  step->mean = std::move(mean);
  step->inverse.clear();
  for (const double each : deviation) step->inverse.push_back(1 / each);
  // One number stands for all of the last axis.
  const size_t places = std::max(step->mean.size(), step->inverse.size());
  if (step->mean.size() == 1) step->mean.resize(places, step->mean[0]);
  if (step->inverse.size() == 1) step->inverse.resize(places, step->inverse[0]);
}

absl::StatusOr<ValuePipeline> ValuePipeline::Create(const proto::DataSource& source,
                                                    const proto::DataPlan& plan,
                                                    const nn::Signature& model, int input,
                                                    const Array& array) {
  const std::vector<const Spec*> specs = job::ValueStepsOf(source, model, input);
  ValuePipeline pipeline;
  if (specs.empty()) return pipeline;
  const auto steps = std::make_shared<Steps>();
  steps->leading = job::WindowOf(source) ? 1 : 0;
  const bool is_whole_input = model.inputs()[input].spec.type == proto::INT32;
  steps->scale = source.has_scale() && !is_whole_input ? source.scale() : 1;
  steps->measured = specs.size();
  steps->shapes.push_back(array.row_shape());
  // Steps that only move values take both kinds; the first other one decides.
  bool begins_whole = is_whole_input;
  for (auto spec = specs.rbegin(); spec != specs.rend(); ++spec) {
    if (job::TakesWholes(**spec) || (*spec)->has_cast()) begins_whole = true;
    if ((*spec)->has_normalize() || (*spec)->has_resize()) begins_whole = false;
  }
  steps->begins_whole = begins_whole &&
                        (!IsFloat(array.type()) || array.type() == ElementType::kFloat64) &&
                        steps->scale == 1;
  steps->is_whole_input = steps->may_fail = is_whole_input;
  double most = LargestValue(source, array, steps->scale);
  for (const Spec* spec : specs) {
    const auto shape = job::ShapeAfter(*spec, steps->shapes.back(), steps->leading);
    if (!shape.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("pipeline step \"", job::NameOf(*spec), "\" ", shape.status().message()));
    }
    if (job::IsMeasured(*spec)) steps->measured = steps->list.size();
    // A plan with statistics is that of the training data.
    if (job::IsMeasured(*spec) && input < plan.inputs_size() && plan.inputs(input).mean().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("pipeline step \"normalize\" has no numbers, and the training data are not "
                       "normalized by their statistics at the input '",
                       model.inputs()[input].name,
                       "'; give \"mean\" and \"deviation\", or set it in \"train\", too"));
    }
    most = LargestAfter(*spec, most);
    steps->may_fail |= MayFail(*spec, most);
    steps->list.push_back(MakeStep(*spec));
    steps->shapes.push_back(*shape);
  }
  bool takes_ids = is_whole_input;
  for (auto step = steps->list.rbegin(); step != steps->list.rend(); ++step) {
    step->makes_ids = takes_ids;
    if (job::TakesWholes(step->spec)) takes_ids = true;
    if (TakesFloats(step->spec)) takes_ids = false;
  }
  pipeline.steps_ = steps;
  if (!pipeline.is_measured() || input >= plan.inputs_size()) return pipeline;
  return pipeline.WithStatistics(plan.inputs(input));
}

ValuePipeline ValuePipeline::WithStatistics(const proto::DataPlan::Standardization& statistics,
                                            std::optional<double> largest) const {
  if (!is_measured()) return *this;
  std::vector<double> deviation;
  for (const double each : statistics.deviation()) {
    deviation.push_back(std::max(each, job::kDeviationMin));
  }
  const auto steps = std::make_shared<Steps>(*steps_);
  SetNumbers({statistics.mean().begin(), statistics.mean().end()}, deviation,
             &steps->list[steps->measured]);
  if (largest.has_value()) {
    double most = *largest;
    for (const double mean : statistics.mean()) most = std::max(most, *largest + std::abs(mean));
    most /= deviation.empty() ? 1 : *std::min_element(deviation.begin(), deviation.end());
    steps->may_fail = steps->is_whole_input || MayFail(steps->list[steps->measured].spec, most);
    for (size_t i = steps->measured + 1; i < steps->list.size(); ++i) {
      const Spec& spec = steps->list[i].spec;
      most = LargestAfter(spec, most);
      steps->may_fail |= MayFail(spec, most);
    }
  }
  ValuePipeline pipeline;
  pipeline.steps_ = steps;
  return pipeline;
}

absl::Status ValuePipeline::Run(const Array& array, const char* row, std::optional<uint64_t> key,
                                size_t end, Values* values) const {
  const auto elements = static_cast<size_t>(array.elements());
  values->are_whole = steps_->begins_whole;
  if (values->are_whole && array.type() == ElementType::kFloat64) {
    values->doubles.resize(elements);
    array.RowToDoubles(row, values->doubles.data());
    values->are_whole = MakeWhole(values->doubles, &values->wholes);
  } else if (values->are_whole) {
    values->wholes.resize(elements);
    array.RowToWholes(row, values->wholes.data());
    if (array.type() == ElementType::kUint64) {
      for (const int64_t value : values->wholes) {
        if (value < 0) return OutsideOf("int64", static_cast<uint64_t>(value));
      }
    }
  }
  if (!values->are_whole) {
    values->numbers.resize(elements);
    array.RowToFloats(row, steps_->scale, values->numbers.data());
  }
  for (size_t i = 0; i < end; ++i) {
    const absl::Status status = RunStep(i, key, values);
    if (status.ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "pipeline step \"", job::NameOf(steps_->list[i].spec), "\": ", status.message()));
  }
  return absl::OkStatus();
}

// Truncates towards zero. `*values` are then whole numbers.
absl::Status ValuePipeline::Cast(const Step& step, Values* values) {
  const std::string& type = step.spec.cast();
  const bool is_bool = type == "bool";
  const bool makes_ids_of_floats = step.makes_ids && !values->are_whole;
  if (!values->are_whole) {
    values->wholes.resize(values->numbers.size());
    for (size_t i = 0; i < values->numbers.size(); ++i) {
      const float value = values->numbers[i];
      if (!is_bool && !FitsInt64(std::trunc(value))) return OutsideOf(type, value);
      values->wholes[i] = is_bool ? value != 0 : static_cast<int64_t>(value);
    }
    values->are_whole = true;
  }
  if (is_bool) {
    for (int64_t& value : values->wholes) value = value != 0 ? 1 : 0;
    return absl::OkStatus();
  }
  const auto* const range = std::find_if(std::begin(kRanges), std::end(kRanges),
                                         [&](const Range& each) { return type == each.name; });
  for (const int64_t value : values->wholes) {
    if (value < range->least || value > range->most) {
      return OutsideOf(type, value);
    }
  }
  return makes_ids_of_floats ? CheckIds(values->wholes) : absl::OkStatus();
}

absl::Status ValuePipeline::OneHot(int64_t depth, Values* values) {
  values->numbers.assign(values->wholes.size() * depth, 0.0f);
  for (size_t i = 0; i < values->wholes.size(); ++i) {
    const int64_t id = values->wholes[i];
    if (id < 0 || id >= depth) {
      return absl::InvalidArgumentError(
          absl::StrCat("the value ", id, " is not from 0 to ", depth - 1));
    }
    values->numbers[i * depth + id] = 1;
  }
  values->are_whole = false;
  return absl::OkStatus();
}

absl::Status ValuePipeline::LookUp(const Step& step, std::vector<int64_t>* values) {
  for (int64_t& value : *values) {
    const auto id = step.ids.find(value);
    if (id == step.ids.end() && !step.spec.vocabulary().unknown()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the value ", value, " is none of its numbers; add it, or set \"unknown\": true"));
    }
    value = id != step.ids.end() ? id->second : static_cast<int64_t>(step.ids.size());
  }
  return absl::OkStatus();
}

void ValuePipeline::Normalize(const Step& step, std::vector<float>* values) {
  const size_t places = step.mean.size();
  if (places == 0) return;
  // Divisions by the number of places would take most of the time.
  for (size_t begin = 0; begin + places <= values->size(); begin += places) {
    float* const at = values->data() + begin;
    for (size_t i = 0; i < places; ++i) {
      at[i] = static_cast<float>((static_cast<double>(at[i]) - step.mean[i]) * step.inverse[i]);
    }
  }
}

absl::Status ValuePipeline::RunStep(size_t number, std::optional<uint64_t> key,
                                    Values* values) const {
  const Step& step = steps_->list[number];
  const Spec& spec = step.spec;
  if (job::TakesWholes(spec) && !values->are_whole) {
    CAIRN_RETURN_IF_ERROR(MakeWhole(values->numbers, &values->wholes));
    CAIRN_RETURN_IF_ERROR(CheckIds(values->wholes));
    values->are_whole = true;
  }
  if (TakesFloats(spec) && values->are_whole) {
    MakeFloat(values->wholes, &values->numbers);
    values->are_whole = false;
  }
  // Calls move(from, &to) for the vector that has the values.
  const auto replace = [values](const auto& move) {
    if (values->are_whole) {
      move(values->wholes, &values->next_wholes);
      values->wholes.swap(values->next_wholes);
    } else {
      move(values->numbers, &values->next_numbers);
      values->numbers.swap(values->next_numbers);
    }
  };
  switch (spec.step_case()) {
    case Spec::kCast:
      return spec.cast() == "float32" ? absl::OkStatus() : Cast(step, values);
    case Spec::kNormalize:
      Normalize(step, &values->numbers);
      break;
    case Spec::kOneHot:
      return OneHot(spec.one_hot(), values);
    case Spec::kHash:
      for (int64_t& value : values->wholes) value = step.hash->BinOf(value);
      break;
    case Spec::kVocabulary:
      return LookUp(step, &values->wholes);
    case Spec::kPad:
      replace([&](const auto& from, auto* to) { Pad(number, from, to); });
      break;
    case Spec::kResize:
      Resize(number, values->numbers, &values->next_numbers);
      values->numbers.swap(values->next_numbers);
      break;
    case Spec::kCrop:
    case Spec::kFlip:
      replace([&](const auto& from, auto* to) { MovePixels(number, key, from, to); });
      break;
    default:
      break;
  }
  return absl::OkStatus();
}

// The first axis of a row gets the length.
template <typename T>
void ValuePipeline::Pad(size_t number, const std::vector<T>& from, std::vector<T>* to) const {
  const proto::PadStep& spec = steps_->list[number].spec.pad();
  const nn::Shape& before = steps_->shapes[number];
  const int64_t rows = ProductOf(before, 0, steps_->leading);
  const int64_t items = before[steps_->leading];
  const int64_t item = ProductOf(before, steps_->leading + 1, before.size());
  to->assign(rows * spec.length() * item, static_cast<T>(spec.value()));
  for (int64_t i = 0; i < rows; ++i) {
    std::copy_n(from.data() + i * items * item, std::min(items, spec.length()) * item,
                to->data() + i * spec.length() * item);
  }
}

void ValuePipeline::Resize(size_t number, const std::vector<float>& from,
                           std::vector<float>* to) const {
  const proto::ResizeStep& spec = steps_->list[number].spec.resize();
  const Pixels pixels = PixelsOf(steps_->shapes[number], steps_->leading);
  ImageTarget target;
  target.height = spec.size(0);
  target.width = *spec.size().rbegin();
  target.channels = static_cast<int>(pixels.channels);
  target.method = job::ResizeMethodOf(spec.interpolation());
  if (spec.crop_to_aspect_ratio()) target.aspect = ImageTarget::Aspect::kCrop;
  if (spec.pad_to_aspect_ratio()) target.aspect = ImageTarget::Aspect::kPad;
  to->assign(pixels.images * target.elements(), 0.0f);
  const int64_t elements = pixels.height * pixels.width * pixels.channels;
  for (int64_t i = 0; i < pixels.images; ++i) {
    ResizeFloats(from.data() + i * elements, pixels.height, pixels.width, target,
                 to->data() + i * target.elements());
  }
}

// Crops or flips. The images of a window move together.
template <typename T>
void ValuePipeline::MovePixels(size_t number, std::optional<uint64_t> key,
                               const std::vector<T>& from, std::vector<T>* to) const {
  const Spec& spec = steps_->list[number].spec;
  const Pixels source = PixelsOf(steps_->shapes[number], steps_->leading);
  const Pixels target = PixelsOf(steps_->shapes[number + 1], steps_->leading);
  const uint64_t draws = key ? DeriveKey(*key, static_cast<uint64_t>(number)) : 0;
  int64_t top = (source.height - target.height) / 2;
  int64_t left = (source.width - target.width) / 2;
  if (key && spec.crop().random()) {
    top = static_cast<int64_t>(RandomBelow(draws, 0, source.height - target.height + 1));
    left = static_cast<int64_t>(RandomBelow(draws, 1, source.width - target.width + 1));
  }
  const auto flips = [&](const char* direction, int draw) {
    const bool may = spec.flip() == direction || spec.flip() == "horizontal_and_vertical";
    return key && spec.has_flip() && may && RandomBelow(draws, draw, 2) == 1;
  };
  const bool mirrors = flips("horizontal", 2);
  const bool turns = flips("vertical", 3);
  to->resize(target.images * target.height * target.width * target.channels);
  T* out = to->data();
  for (int64_t i = 0; i < target.images; ++i) {
    for (int64_t y = 0; y < target.height; ++y) {
      const int64_t row = i * source.height + top + (turns ? target.height - 1 - y : y);
      const T* const line = from.data() + (row * source.width + left) * source.channels;
      if (!mirrors) {
        out = std::copy_n(line, target.width * target.channels, out);
        continue;
      }
      for (int64_t x = target.width - 1; x >= 0; --x) {
        out = std::copy_n(line + x * target.channels, target.channels, out);
      }
    }
  }
}

absl::Status ValuePipeline::Apply(const Array& array, const char* row, std::optional<uint64_t> key,
                                  proto::DataType type, void* out) const {
  thread_local Values values;  // Keeps its memory from one example to the next.
  CAIRN_RETURN_IF_ERROR(Run(array, row, key, steps_->list.size(), &values));
  if (type != proto::INT32) {
    if (values.are_whole) MakeFloat(values.wholes, &values.numbers);
    std::memcpy(out, values.numbers.data(), values.numbers.size() * sizeof(float));
    return absl::OkStatus();
  }
  const bool are_whole = values.are_whole;
  if (!are_whole) CAIRN_RETURN_IF_ERROR(MakeWhole(values.numbers, &values.wholes));
  auto* to = static_cast<int32_t*>(out);
  for (const int64_t value : values.wholes) {
    if (value != static_cast<int32_t>(value)) return OutsideOf("int32", value);
    *to++ = static_cast<int32_t>(value);
  }
  return are_whole ? absl::OkStatus() : CheckIds(values.wholes);
}

absl::Status ValuePipeline::ApplyToMeasure(const Array& array, const char* row, float* out) const {
  thread_local Values values;
  CAIRN_RETURN_IF_ERROR(Run(array, row, std::nullopt, steps_->measured, &values));
  if (values.are_whole) MakeFloat(values.wholes, &values.numbers);
  std::memcpy(out, values.numbers.data(), values.numbers.size() * sizeof(float));
  return absl::OkStatus();
}

}  // namespace cairn::worker
