#include "worker/data/features/feature_encoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/plural.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "job/data_formats/data_features.h"
#include "job/data_formats/images_format.h"
#include "job/data_formats/named_places.h"
#include "job/data_pipeline.h"
#include "job/value_steps.h"
#include "nn/signature.h"
#include "worker/data/features/serialized_tensor.h"
#include "worker/data/images/image_decoder.h"

namespace cairn::worker {
namespace {

// Rows are handed to the spool in pieces of this size.
constexpr size_t kPieceBytes = size_t{1} << 20;
// The most names that a message lists.
constexpr size_t kNamesShown = 20;
// The most characters of a name that a message quotes.
constexpr size_t kCharactersShown = 60;

std::optional<ElementType> TypeNamed(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(ElementType::kFloat64); ++i) {
    if (name == ElementName(static_cast<ElementType>(i))) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}

std::string Quoted(std::string_view name) {
  const bool is_long = name.size() > kCharactersShown;
  return absl::StrCat("\"", PrintableLine(name.substr(0, kCharactersShown)),
                      is_long ? "\"..." : "\"");
}

std::string NamesText(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(names.size(), kNamesShown); ++i)
    shown.push_back(Quoted(names[i]));
  const size_t more = names.size() - shown.size();
  return absl::StrCat(absl::StrJoin(shown, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

const char* KindText(FeatureValues::Kind kind) {
  switch (kind) {
    case FeatureValues::Kind::kBytes:
      return "bytes";
    case FeatureValues::Kind::kFloats:
      return "float32";
    case FeatureValues::Kind::kInts:
      return "int64";
    case FeatureValues::Kind::kDoubles:
      return "float64";
    case FeatureValues::Kind::kMissing:
      break;
  }
  return "no";
}

template <typename T>
T Load(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Elements of such types need no check and no conversion.
bool IsSmall(ElementType type) { return ElementBytes(type) <= 2; }

// Whether a list or text of any length gets the length of the pipeline's first step.
bool TakesPad(const proto::DataFeature& feature) {
  if (feature.has_text_vectorization()) {
    return !feature.text_vectorization().has_output_sequence_length();
  }
  return !feature.has_max_length() && feature.shape().empty() && !feature.has_decode() &&
         !feature.one_hot() && !feature.has_default_() && !feature.has_default_name();
}

proto::DataFeature Padded(proto::DataFeature feature, const proto::PadStep& pad) {
  if (feature.has_text_vectorization()) {
    feature.mutable_text_vectorization()->set_output_sequence_length(pad.length());
  } else {
    feature.set_max_length(pad.length());
    feature.set_padding(pad.value());
  }
  return feature;
}

bool IsImage(const proto::DataFeature& feature) { return feature.decode() == "image"; }
// Whether the feature is one value of bytes that are decoded.
bool IsFile(const proto::DataFeature& feature) { return feature.has_decode(); }

}  // namespace

template <typename... Parts>
absl::Status FeatureEncoder::Wrong(const proto::DataFeature& feature, const Parts&... parts) const {
  return absl::InvalidArgumentError(
      absl::StrCat(words_.feature, " \"", PrintableLine(feature.name()), "\" ", parts...));
}

FeatureEncoder::FeatureEncoder(const FeatureSpecs& features, const FeatureSpecs& labels,
                               const proto::DataSource& source, const proto::DataPlan& plan,
                               const nn::Signature& model,
                               const std::vector<LabelSpec>& label_specs, Words words)
    : labels_(label_specs),
      inputs_(static_cast<int>(model.inputs().size())),
      scale_(source.has_scale() ? source.scale() : 1),
      allow_nan_(source.allow_nan()),
      words_(words),
      has_passed_(job::FiltersNeedAllRows(source)),
      filters_(static_cast<int>(absl::c_count_if(
          source.pipeline(), [](const auto& step) { return step.has_filter(); }))) {
  for (int i = 0; i < inputs_; ++i) {
    Target target;
    target.name = absl::StrCat("the model's input '", model.inputs()[i].name, "'");
    target.wanted = job::RowShape(source, model, i);
    if (job::RowType(source, model, i) == proto::INT32) target.type = ElementType::kInt32;
    targets_.push_back(std::move(target));
  }
  for (const LabelSpec& label : labels_) {
    Target target;
    target.name = absl::StrCat("the labels of output '", label.output.name, "'");
    target.wanted.emplace();
    if (label.type == proto::INT32) target.type = ElementType::kInt32;
    targets_.push_back(std::move(target));
  }
  std::vector<int> counts(inputs_, 0);  // The features of each input.
  for (const auto& feature : features) ++counts[job::PlaceOf(feature.input(), model.inputs())];
  for (const proto::DataFeature& feature : features) {
    const int input = job::PlaceOf(feature.input(), model.inputs());
    const auto steps = job::ValueStepsOf(source, model, input);
    const bool is_padded =
        counts[input] == 1 && !steps.empty() && steps[0]->has_pad() && TakesPad(feature);
    AddFeature(is_padded ? Padded(feature, steps[0]->pad()) : feature, plan, input,
               model.lookup(input));
    if (!is_padded || steps[0]->pad().value() == 0) continue;
    // Values of the reader are scaled when they are read.
    const bool is_scaled = scale_ != 1 && targets_[input].type != ElementType::kInt32;
    if (!is_scaled && !feature.has_text_vectorization()) continue;
    padding_ = Wrong(feature,
                     feature.has_text_vectorization() ? "is a text, whose end is filled with 0"
                                                      : "is filled before \"scale\" is applied",
                     "; leave out the \"value\" of the step \"pad\"",
                     feature.has_text_vectorization() ? "" : ", or \"scale\"");
  }
  if (!labels_.empty()) {
    for (const proto::DataFeature& feature : labels) {
      AddFeature(feature, plan, inputs_ + job::PlaceOf(feature.output(), model.outputs()), nullptr);
    }
  }
  for (Target& target : targets_) Finish(&target);
  // The numbers of values are known only now.
  for (const auto& feature : features_) {
    Wanted& wanted = wanted_[feature->wanted];
    const bool is_single = IsFile(feature->spec) || feature->vectorizer;
    wanted.most = std::max(wanted.most, is_single ? 1 : feature->count);
    if (feature->shape.size() > 1) wanted.shape = feature->shape;
  }
}

void FeatureEncoder::AddFeature(const proto::DataFeature& spec, const proto::DataPlan& plan,
                                int target, const nn::StringLookupLayer* lookup) {
  auto feature = std::make_unique<Feature>();
  feature->spec = spec;
  feature->target = target;
  if (target >= inputs_) {
    feature->label = &labels_[target - inputs_];
    feature->taker = feature->label->Taker();
  }
  if (spec.decode() == "raw" || spec.decode() == "tensor") feature->raw = TypeNamed(spec.dtype());
  feature->is_tensor = spec.decode() == "tensor";
  if (lookup != nullptr) {
    feature->is_names = true;
    feature->names = lookup->vocabulary();
    if (lookup->takes_unknown()) {
      feature->first_id = 1;
      feature->unknown_id = 0;
    }
  } else if (spec.has_text_vectorization()) {
    // 0 is padding, and 1 are unknown tokens.
    feature->is_names = true;
    feature->vectorizer.emplace(spec.text_vectorization());
    feature->names = job::VocabularyOf(spec, plan);
    feature->first_id = 2;
    feature->unknown_id = 1;
  } else if (spec.has_hash()) {
    feature->is_names = true;
    feature->hash.emplace(spec.hash());
  } else if (job::HasNames(spec)) {
    feature->is_names = true;
    feature->names = job::VocabularyOf(spec, plan);
    if (spec.unknown()) feature->unknown_id = static_cast<int32_t>(feature->names.size());
  }
  for (const std::string& name : feature->names) {
    feature->ids.emplace(name, feature->first_id + static_cast<int32_t>(feature->ids.size()));
  }
  if (spec.one_hot()) {
    feature->width = feature->hash ? spec.hash().num_bins()
                                   : static_cast<int64_t>(feature->names.size()) +
                                         feature->unknown_id.has_value();
  }
  // Integers of a table are read as texts where they are names, and as numbers elsewhere.
  const auto same = std::find_if(wanted_.begin(), wanted_.end(), [&](const Wanted& each) {
    return each.name == spec.name() && each.is_names == feature->is_names &&
           each.is_file == IsFile(spec);
  });
  feature->wanted = same - wanted_.begin();
  if (same == wanted_.end()) {
    wanted_.push_back(
        {.name = spec.name(), .is_names = feature->is_names, .is_file = IsFile(spec)});
  }
  targets_[target].features.push_back(static_cast<int>(features_.size()));
  features_.push_back(std::move(feature));
}

// Places the features of a target in its row.
void FeatureEncoder::Finish(Target* target) {
  const bool is_single = target->features.size() == 1;
  for (const int index : target->features) {
    Feature& feature = *features_[index];
    const proto::DataFeature& spec = feature.spec;
    if (spec.text_vectorization().has_output_sequence_length()) {
      feature.shape = {spec.text_vectorization().output_sequence_length()};
    } else if (spec.has_max_length()) {
      feature.shape = {spec.max_length()};
    } else if (!spec.shape().empty()) {
      feature.shape = {spec.shape().begin(), spec.shape().end()};
    } else if (is_single && !spec.one_hot()) {
      // Labels have one value.
      feature.shape = target->wanted.value_or(nn::Shape());
    }
    feature.count = nn::ElementCount(feature.shape);
    if (const auto form = job::ImageFormOf(feature.shape); IsImage(spec) && form.ok()) {
      // Between class numbers there is nothing to interpolate.
      feature.image = ImageTarget{
          form->height, form->width, form->channels,
          feature.label == nullptr ? nn::ResizeMethod::kBilinear : nn::ResizeMethod::kNearest};
    }
    feature.place = target->elements;
    const int64_t elements = feature.count * feature.width;
    target->elements += elements;
    if (is_single) target->shape = spec.one_hot() ? nn::Shape{elements} : feature.shape;
    const bool is_copied = feature.raw && IsSmall(*feature.raw) && !spec.has_default_();
    if (is_single && is_copied && feature.label == nullptr) {
      target->type = *feature.raw;
    }
  }
  const bool fits = target->wanted && nn::ElementCount(*target->wanted) == target->elements;
  if (!is_single) target->shape = fits ? *target->wanted : nn::Shape{target->elements};
  target->row_bytes = target->elements * ElementBytes(target->type);
}

absl::Status FeatureEncoder::CheckShapes() const {
  CAIRN_RETURN_IF_ERROR(padding_);
  for (const auto& feature : features_) {
    if (!IsImage(feature->spec) || feature->image) continue;
    const bool is_unknown = feature->spec.shape().empty() && !targets_[feature->target].wanted;
    return Wrong(feature->spec, "is an image, and its shape is ",
                 job::ImageFormOf(feature->shape).status().message(),
                 is_unknown ? "; set \"shape\" to the size before the pipeline" : "");
  }
  for (int i = 0; i < static_cast<int>(targets_.size()); ++i) {
    const Target& target = targets_[i];
    if (i >= inputs_) {
      const auto shape = labels_[i - inputs_].ShapeAtLoss(target.shape);
      if (shape.ok()) continue;
      return absl::InvalidArgumentError(absl::StrCat(target.name, ": ", shape.status().message()));
    }
    if (!target.wanted) continue;  // The pipeline makes the model's shape of it.
    const int64_t wanted = nn::ElementCount(*target.wanted);
    if (target.elements == wanted) continue;
    std::vector<std::string> names;
    for (const int feature : target.features) names.push_back(features_[feature]->spec.name());
    return absl::InvalidArgumentError(absl::StrCat(
        target.name, " takes ", Plural(wanted, "value"), " per example, the ", words_.feature,
        "s have ", target.elements, ": ", NamesText(names), "; set \"shape\" or \"max_length\""));
  }
  return absl::OkStatus();
}

EncodedLayouts FeatureEncoder::layouts() const {
  EncodedLayouts layouts;
  layouts.inputs = inputs_;
  for (const Target& target : targets_) {
    Array::Layout& layout = layouts.targets.emplace_back();
    layout.type = target.type;
    layout.row_shape = target.shape;
  }
  layouts.has_passed = has_passed_;
  if (has_passed_) layouts.targets.push_back({.type = ElementType::kInt32, .row_shape = {}});
  return layouts;
}

template <typename T>
absl::Status FeatureEncoder::Store(const Feature& feature, T value, char* at) const {
  const bool is_whole_target = targets_[feature.target].type == ElementType::kInt32;
  const auto number = static_cast<double>(value);
  if (is_whole_target) {
    if (!(number >= -2147483648.0 && number < 2147483648.0 && number == std::trunc(number))) {
      // For an integer, its own digits.
      const bool takes_hash = std::is_integral_v<T> && feature.target < inputs_;
      return Wrong(feature.spec, "has the value ", value, ", not a whole number of 32 bits",
                   takes_hash ? "; for larger ids set \"hash\" in its description" : "");
    }
    const auto whole = static_cast<int32_t>(value);
    std::memcpy(at, &whole, sizeof whole);
  } else {
    const auto stored = static_cast<float>(value);
    const double scaled = feature.label == nullptr ? number * scale_ : number;
    if (!allow_nan_ && !std::isfinite(static_cast<float>(scaled))) {
      return Wrong(feature.spec, "has the value ", number,
                   feature.label == nullptr && scale_ != 1 ? absl::StrCat(", times ", scale_) : "",
                   ", not a finite float32; set \"allow_nan\": true to train on it");
    }
    std::memcpy(at, &stored, sizeof stored);
  }
  const LabelSpec* const label = feature.label;
  if (label == nullptr || !label->has_bounds()) return absl::OkStatus();
  // A NaN that is allowed is no label outside of the bounds.
  if (!(number < label->least) && !(number > label->most)) return absl::OkStatus();
  return Wrong(feature.spec, "has the value ", number, ", labels from ", label->least, " to ",
               label->most, " expected (", feature.taker, ")");
}

template <typename T>
absl::Status FeatureEncoder::StoreAll(const Feature& feature, const std::vector<T>& values,
                                      char* at) const {
  // There are more if another feature takes more values of the same list.
  const auto count = std::min<size_t>(values.size(), feature.count);
  for (size_t i = 0; i < count; ++i) {
    CAIRN_RETURN_IF_ERROR(Store(feature, values[i], at + i * 4));
  }
  return absl::OkStatus();
}

absl::Status FeatureEncoder::EncodeName(const Feature& feature, std::string_view name,
                                        char* at) const {
  if (feature.hash) return StoreId(feature, feature.hash->BinOf(name), at);
  const auto found = feature.ids.find(name);
  const bool is_known = found != feature.ids.end();
  if (!is_known && !feature.unknown_id) {
    return Wrong(feature.spec, "has the value ", Quoted(name), ", which is not in its vocabulary",
                 feature.label == nullptr ? "; add it, or set \"unknown\": true" : "; add it");
  }
  return StoreId(feature, is_known ? found->second : *feature.unknown_id, at);
}

absl::Status FeatureEncoder::StoreId(const Feature& feature, int64_t id, char* at) const {
  return feature.spec.one_hot() ? Store(feature, 1, at + id * 4) : Store(feature, id, at);
}

absl::Status FeatureEncoder::EncodeText(const Feature& feature, std::string_view text,
                                        char* at) const {
  std::string scratch;
  std::vector<std::string_view> tokens;
  feature.vectorizer->Split(text, &scratch, &tokens);
  const auto count = std::min<size_t>(tokens.size(), feature.count);
  for (size_t i = 0; i < count; ++i) {
    // An empty text that is not split is padding.
    if (!tokens[i].empty()) CAIRN_RETURN_IF_ERROR(EncodeName(feature, tokens[i], at + i * 4));
  }
  return absl::OkStatus();
}

absl::Status FeatureEncoder::EncodeRaw(const Feature& feature, const FeatureValues& values,
                                       char* at) const {
  const int64_t item = ElementBytes(*feature.raw);
  if (values.kind != FeatureValues::Kind::kBytes || values.count != 1) {
    return Wrong(feature.spec, "has ", values.count, " ", KindText(values.kind),
                 " values, \"decode\": \"", feature.spec.decode(), "\" takes one of bytes");
  }
  std::string content;
  std::string_view bytes = values.bytes[0];
  if (feature.is_tensor) {
    absl::StatusOr<std::string> tensor = ReadSerializedTensor(bytes, *feature.raw, feature.shape);
    if (!tensor.ok()) return Wrong(feature.spec, tensor.status().message());
    content = *std::move(tensor);
    bytes = content;
  }
  if (static_cast<int64_t>(bytes.size()) != feature.count * item) {
    return Wrong(feature.spec, "has ", bytes.size(), " bytes, ", feature.count * item,
                 " expected: ", feature.spec.dtype(), " ", nn::ShapeText(feature.shape));
  }
  if (targets_[feature.target].type == *feature.raw && IsSmall(*feature.raw)) {
    std::memcpy(at, bytes.data(), bytes.size());
    return absl::OkStatus();
  }
  const auto store = [&](auto example) -> absl::Status {
    using T = decltype(example);
    for (int64_t i = 0; i < feature.count; ++i) {
      CAIRN_RETURN_IF_ERROR(Store(feature, Load<T>(bytes.data() + i * sizeof(T)), at + i * 4));
    }
    return absl::OkStatus();
  };
  switch (*feature.raw) {
    case ElementType::kBool:
    case ElementType::kUint8:
      return store(uint8_t{});
    case ElementType::kInt8:
      return store(int8_t{});
    case ElementType::kUint16:
      return store(uint16_t{});
    case ElementType::kInt16:
      return store(int16_t{});
    case ElementType::kUint32:
      return store(uint32_t{});
    case ElementType::kInt32:
      return store(int32_t{});
    case ElementType::kUint64:
      return store(uint64_t{});
    case ElementType::kInt64:
      return store(int64_t{});
    case ElementType::kFloat32:
      return store(float{});
    case ElementType::kFloat16:  // No dtype has this name.
    case ElementType::kFloat64:
      break;
  }
  return store(double{});
}

absl::Status FeatureEncoder::EncodeImage(const Feature& feature, const FeatureValues& values,
                                         char* at) const {
  if (values.kind != FeatureValues::Kind::kBytes || values.count != 1) {
    return Wrong(feature.spec, "has ", values.count, " ", KindText(values.kind),
                 " values, \"decode\": \"image\" takes one of bytes");
  }
  const auto image = DecodeImage(values.bytes[0], feature.image->channels);
  if (!image.ok()) return Wrong(feature.spec, "has an image: ", image.status().message());
  const ResizedImage resized = ResizeImage(*image, *feature.image);
  for (int64_t i = 0; i < feature.count; ++i) {
    const float value = resized.is_float ? Load<float>(resized.data.data() + i * 4)
                                         : Load<uint8_t>(resized.data.data() + i);
    CAIRN_RETURN_IF_ERROR(Store(feature, value, at + i * 4));
  }
  return absl::OkStatus();
}

absl::Status FeatureEncoder::CheckCount(const Feature& feature, const FeatureValues& values) const {
  if (feature.spec.has_max_length() || values.count == feature.count) return absl::OkStatus();
  return Wrong(feature.spec, "has ", Plural(values.count, "value"), ", ", feature.count,
               " expected: shape ", nn::ShapeText(feature.shape),
               "; set \"shape\", or \"max_length\" for lists of any length");
}

// `at` is the place of the feature's elements, which are zero.
absl::Status FeatureEncoder::EncodeMissing(const Feature& feature,
                                           const std::function<std::vector<std::string>()>& names,
                                           char* at) const {
  const proto::DataFeature& spec = feature.spec;
  const bool has_name = feature.is_names && spec.has_default_name();
  if (!has_name && !(spec.has_default_() && !feature.is_names)) {
    return Wrong(spec, words_.missing,
                 names ? absl::StrCat("; the record has ", NamesText(names())) : "", "; set \"",
                 feature.is_names ? "default_name" : "default", "\" ", words_.missing_advice);
  }
  if (feature.vectorizer) return EncodeText(feature, spec.default_name(), at);
  if (!has_name) {
    return StoreAll(feature, std::vector<double>(feature.count, spec.default_()), at);
  }
  for (int64_t i = 0; i < feature.count; ++i) {
    CAIRN_RETURN_IF_ERROR(EncodeName(feature, spec.default_name(), at + i * feature.width * 4));
  }
  return absl::OkStatus();
}

absl::StatusOr<FeatureValues> FeatureEncoder::Filled(const Feature& feature,
                                                     FeatureValues values) const {
  using Kind = FeatureValues::Kind;
  const proto::DataFeature& spec = feature.spec;
  if (feature.is_names ? !spec.has_default_name() : !spec.has_default_()) {
    return Wrong(spec, "has a null in a list; set \"",
                 feature.is_names ? "default_name" : "default", "\" ", words_.missing_advice);
  }
  const bool is_int =
      std::abs(spec.default_()) < 0x1p63 && spec.default_() == std::trunc(spec.default_());
  if (values.kind == Kind::kInts && !is_int) {
    values.kind = Kind::kDoubles;
    values.doubles.assign(values.ints.begin(), values.ints.end());
  }
  for (const int64_t i : values.nulls) {
    if (values.kind == Kind::kBytes) values.bytes[i] = spec.default_name();
    if (values.kind == Kind::kInts) values.ints[i] = static_cast<int64_t>(spec.default_());
    if (values.kind == Kind::kFloats) values.floats[i] = static_cast<float>(spec.default_());
    if (values.kind == Kind::kDoubles) values.doubles[i] = spec.default_();
  }
  values.nulls.clear();
  return values;
}

// As EncodeMissing.
absl::Status FeatureEncoder::EncodeFeature(const Feature& feature, const FeatureValues& values,
                                           const std::function<std::vector<std::string>()>& names,
                                           char* at) const {
  using Kind = FeatureValues::Kind;
  const proto::DataFeature& spec = feature.spec;
  if (values.kind == Kind::kMissing && !spec.has_max_length()) {
    return EncodeMissing(feature, names, at);
  }
  if (!values.nulls.empty()) {
    CAIRN_ASSIGN_OR_RETURN(const FeatureValues filled, Filled(feature, values));
    return EncodeFeature(feature, filled, names, at);
  }
  if (feature.raw) return EncodeRaw(feature, values, at);
  if (feature.image) return EncodeImage(feature, values, at);
  if (feature.vectorizer) {
    if (values.kind == Kind::kBytes && values.count == 1) {
      return EncodeText(feature, values.bytes[0], at);
    }
    return Wrong(spec, "has ", values.count, " ", KindText(values.kind),
                 " values, \"text_vectorization\" takes one text");
  }
  CAIRN_RETURN_IF_ERROR(CheckCount(feature, values));
  if (values.kind == Kind::kBytes && !feature.is_names) {
    return Wrong(spec, "has ", words_.names, "; ", words_.bytes_advice);
  }
  const bool are_hashed = feature.hash && values.kind == Kind::kInts;
  if (feature.is_names && !are_hashed && values.kind != Kind::kBytes &&
      values.kind != Kind::kMissing) {
    return Wrong(spec, "has ", KindText(values.kind), " values, \"",
                 feature.hash                   ? "hash"
                 : job::HasOpenVocabulary(spec) ? "categorical"
                                                : "vocabulary",
                 "\" is for ", words_.names, feature.hash ? " and whole numbers" : "");
  }
  if (spec.has_dtype() && values.kind != Kind::kMissing && spec.dtype() != KindText(values.kind)) {
    return Wrong(spec, "has ", KindText(values.kind), " values, \"dtype\" says ", spec.dtype());
  }
  if (are_hashed) {
    const auto count = std::min<size_t>(values.ints.size(), feature.count);
    for (size_t i = 0; i < count; ++i) {
      CAIRN_RETURN_IF_ERROR(
          StoreId(feature, feature.hash->BinOf(values.ints[i]), at + i * feature.width * 4));
    }
  } else if (feature.is_names) {
    const auto count = std::min<size_t>(values.bytes.size(), feature.count);
    for (size_t i = 0; i < count; ++i) {
      CAIRN_RETURN_IF_ERROR(EncodeName(feature, values.bytes[i], at + i * feature.width * 4));
    }
  } else if (values.kind == Kind::kInts) {
    CAIRN_RETURN_IF_ERROR(StoreAll(feature, values.ints, at));
  } else if (values.kind == Kind::kDoubles) {
    CAIRN_RETURN_IF_ERROR(StoreAll(feature, values.doubles, at));
  } else {
    CAIRN_RETURN_IF_ERROR(StoreAll(feature, values.floats, at));
  }
  const int64_t stored = std::min(values.count, feature.count);
  return StoreAll(feature, std::vector<double>(feature.count - stored, spec.padding()),
                  at + stored * 4);
}

absl::Status FeatureEncoder::Encode(const std::vector<FeatureValues>& values,
                                    const std::function<std::vector<std::string>()>& names,
                                    Rows* rows) const {
  for (int i = 0; i < static_cast<int>(targets_.size()); ++i) {
    const Target& target = targets_[i];
    std::string& bytes = (*rows)[i];
    bytes.resize(bytes.size() + target.row_bytes);
    char* const row = bytes.data() + bytes.size() - target.row_bytes;
    for (const int index : target.features) {
      const Feature& feature = *features_[index];
      CAIRN_RETURN_IF_ERROR(EncodeFeature(feature, values[feature.wanted], names,
                                          row + feature.place * ElementBytes(target.type)));
    }
  }
  return absl::OkStatus();
}

FeatureEncoder::Collector::Collector(const FeatureEncoder* encoder, const std::string& path,
                                     DataStorage* storage)
    : encoder_(encoder), rows_(encoder->targets_.size() + (encoder->has_passed_ ? 1 : 0)) {
  for (size_t i = 0; i < rows_.size(); ++i) {
    spools_.push_back(std::make_unique<Spool>(path, storage));
  }
}

absl::Status FeatureEncoder::Collector::Add(
    const std::vector<FeatureValues>& values,
    const std::function<std::vector<std::string>()>& names) {
  std::vector<size_t> sizes;
  for (const std::string& rows : rows_) sizes.push_back(rows.size());
  const absl::Status status = encoder_->Encode(values, names, &rows_);
  if (!status.ok()) {
    // A part of its rows may have been added.
    for (size_t i = 0; i < rows_.size(); ++i) rows_[i].resize(sizes[i]);
    return status;
  }
  return End(encoder_->filters_);
}

absl::Status FeatureEncoder::Collector::AddLeftOut(int passed) {
  for (size_t i = 0; i < encoder_->targets_.size(); ++i) {
    rows_[i].resize(rows_[i].size() + encoder_->targets_[i].row_bytes);
  }
  return End(passed);
}

absl::Status FeatureEncoder::Collector::End(int passed) {
  if (encoder_->has_passed_) {
    const auto stored = static_cast<int32_t>(passed);
    rows_.back().append(reinterpret_cast<const char*>(&stored), sizeof stored);
  }
  ++examples_;
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].size() < kPieceBytes) continue;
    CAIRN_RETURN_IF_ERROR(spools_[i]->Append(rows_[i]));
    rows_[i].clear();
  }
  return absl::OkStatus();
}

absl::StatusOr<EncodedFile> FeatureEncoder::Collector::Finish() {
  EncodedFile file;
  file.examples = examples_;
  for (size_t i = 0; i < rows_.size(); ++i) {
    CAIRN_RETURN_IF_ERROR(spools_[i]->Append(rows_[i]));
    CAIRN_ASSIGN_OR_RETURN(file.rows.emplace_back(), spools_[i]->Finish());
  }
  return file;
}

}  // namespace cairn::worker
