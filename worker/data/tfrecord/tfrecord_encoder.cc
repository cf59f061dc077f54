#include "worker/data/tfrecord/tfrecord_encoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/plural.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "job/data_formats/images_format.h"
#include "job/data_formats/named_places.h"
#include "worker/data/files/spool.h"
#include "worker/data/images/image_decoder.h"
#include "worker/data/tfrecord/record_reader.h"

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

template <typename... Parts>
absl::Status Wrong(const proto::TfrecordFeature& feature, const Parts&... parts) {
  return absl::InvalidArgumentError(
      absl::StrCat("feature \"", PrintableLine(feature.name()), "\" ", parts...));
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

bool IsImage(const proto::TfrecordFeature& feature) { return feature.decode() == "image"; }
// Whether the feature is one value of bytes that are decoded.
bool IsFile(const proto::TfrecordFeature& feature) { return feature.has_decode(); }

}  // namespace

TfrecordEncoder::TfrecordEncoder(const proto::DataSource& source, const nn::Model& model,
                                 const std::vector<LabelSpec>& labels)
    : source_(source),
      labels_(labels),
      inputs_(static_cast<int>(model.inputs().size())),
      scale_(source.has_scale() ? source.scale() : 1) {
  for (const nn::Model::Input& input : model.inputs()) {
    Target target;
    target.name = absl::StrCat("the model's input '", input.name, "'");
    target.wanted = input.spec.shape;
    if (input.spec.type == proto::INT32) target.type = ElementType::kInt32;
    targets_.push_back(std::move(target));
  }
  for (const LabelSpec& label : labels_) {
    Target target;
    target.name = absl::StrCat("the labels of output '", label.output.name, "'");
    if (label.type == proto::INT32) target.type = ElementType::kInt32;
    targets_.push_back(std::move(target));
  }
  std::vector<ExampleParser::Wanted> wanted;
  for (const auto& feature : source_.tfrecord().features()) {
    AddFeature(feature, job::PlaceOf(feature.input(), model.inputs()), &wanted);
  }
  if (!labels_.empty()) {
    for (const auto& feature : source_.tfrecord().labels()) {
      AddFeature(feature, inputs_ + job::PlaceOf(feature.output(), model.outputs()), &wanted);
    }
  }
  for (Target& target : targets_) Finish(&target);
  // The numbers of values are known only now.
  for (const auto& feature : features_) {
    int64_t& most = wanted[feature->parsed].most;
    most = std::max(most, IsFile(feature->spec) ? 1 : feature->count);
  }
  parser_ = std::make_unique<const ExampleParser>(std::move(wanted));
}

void TfrecordEncoder::AddFeature(const proto::TfrecordFeature& spec, int target,
                                 std::vector<ExampleParser::Wanted>* wanted) {
  auto feature = std::make_unique<Feature>();
  feature->spec = spec;
  feature->target = target;
  if (target >= inputs_) {
    feature->label = &labels_[target - inputs_];
    feature->taker = feature->label->Taker();
  }
  if (spec.decode() == "raw") feature->raw = TypeNamed(spec.dtype());
  for (int i = 0; i < spec.vocabulary_size(); ++i) {
    feature->ids.emplace(feature->spec.vocabulary(i), i);
  }
  const auto same = std::find_if(wanted->begin(), wanted->end(),
                                 [&](const auto& each) { return each.name == spec.name(); });
  feature->parsed = same - wanted->begin();
  if (same == wanted->end()) wanted->push_back({spec.name()});
  targets_[target].features.push_back(static_cast<int>(features_.size()));
  features_.push_back(std::move(feature));
}

// Places the features of a target in its row.
void TfrecordEncoder::Finish(Target* target) {
  const bool is_single = target->features.size() == 1;
  for (const int index : target->features) {
    Feature& feature = *features_[index];
    const proto::TfrecordFeature& spec = feature.spec;
    if (spec.has_max_length()) {
      feature.shape = {spec.max_length()};
    } else if (!spec.shape().empty()) {
      feature.shape = {spec.shape().begin(), spec.shape().end()};
    } else if (is_single) {
      feature.shape = target->wanted;  // Labels have one value.
    }
    feature.count = nn::ElementCount(feature.shape);
    if (const auto form = job::ImageFormOf(feature.shape); IsImage(spec) && form.ok()) {
      // Between class numbers there is nothing to interpolate.
      feature.image = ImageTarget{form->height, form->width, form->channels,
                                  /*is_nearest=*/feature.label != nullptr};
    }
    feature.place = target->elements;
    target->elements += feature.count;
    if (is_single) target->shape = feature.shape;
    const bool is_copied = feature.raw && IsSmall(*feature.raw) && !spec.has_default_();
    if (is_single && is_copied && feature.label == nullptr) {
      target->type = *feature.raw;
    }
  }
  const bool fits = nn::ElementCount(target->wanted) == target->elements;
  if (!is_single) target->shape = fits ? target->wanted : nn::Shape{target->elements};
  target->row_bytes = target->elements * ElementBytes(target->type);
}

absl::Status TfrecordEncoder::CheckShapes() const {
  for (const auto& feature : features_) {
    if (!IsImage(feature->spec) || feature->image) continue;
    return Wrong(feature->spec, "is an image, and its shape is ",
                 job::ImageFormOf(feature->shape).status().message());
  }
  for (int i = 0; i < targets(); ++i) {
    const Target& target = targets_[i];
    if (i >= inputs_) {
      const auto shape = labels_[i - inputs_].ShapeAtLoss(target.shape);
      if (shape.ok()) continue;
      return absl::InvalidArgumentError(absl::StrCat(target.name, ": ", shape.status().message()));
    }
    const int64_t wanted = nn::ElementCount(target.wanted);
    if (target.elements == wanted) continue;
    std::vector<std::string> names;
    for (const int feature : target.features) names.push_back(features_[feature]->spec.name());
    return absl::InvalidArgumentError(absl::StrCat(
        target.name, " takes ", Plural(wanted, "value"), " per example, the features have ",
        target.elements, ": ", NamesText(names), "; set \"shape\" or \"max_length\""));
  }
  return absl::OkStatus();
}

Array TfrecordEncoder::ArrayOf(int target, std::shared_ptr<const FileBytes> rows,
                               int64_t examples) const {
  Array::Layout layout;
  layout.type = targets_[target].type;
  layout.row_shape = targets_[target].shape;
  return Array(std::move(rows), examples, layout);
}

template <typename T>
absl::Status TfrecordEncoder::Store(const Feature& feature, T value, char* at) const {
  const bool is_whole_target = targets_[feature.target].type == ElementType::kInt32;
  const auto number = static_cast<double>(value);
  if (is_whole_target) {
    if (!(number >= -2147483648.0 && number < 2147483648.0 && number == std::trunc(number))) {
      return Wrong(feature.spec, "has the value ", number, ", not a whole number of 32 bits");
    }
    const auto whole = static_cast<int32_t>(value);
    std::memcpy(at, &whole, sizeof whole);
  } else {
    const auto stored = static_cast<float>(value);
    const double scaled = feature.label == nullptr ? number * scale_ : number;
    if (!source_.allow_nan() && !std::isfinite(static_cast<float>(scaled))) {
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
absl::Status TfrecordEncoder::StoreAll(const Feature& feature, const std::vector<T>& values,
                                       char* at) const {
  // There are more if another feature takes more values of the same list.
  const auto count = std::min<size_t>(values.size(), feature.count);
  for (size_t i = 0; i < count; ++i) {
    CAIRN_RETURN_IF_ERROR(Store(feature, values[i], at + i * 4));
  }
  return absl::OkStatus();
}

absl::Status TfrecordEncoder::EncodeNames(const Feature& feature, const FeatureValues& values,
                                          char* at) const {
  const auto count = std::min<size_t>(values.bytes.size(), feature.count);
  for (size_t i = 0; i < count; ++i) {
    const std::string_view name = values.bytes[i];
    const auto id = feature.ids.find(name);
    if (id == feature.ids.end() && !feature.spec.unknown()) {
      return Wrong(feature.spec, "has the value ", Quoted(name), ", which is not in its vocabulary",
                   feature.label == nullptr ? "; add it, or set \"unknown\": true" : "; add it");
    }
    const int32_t number = id == feature.ids.end() ? feature.spec.vocabulary_size() : id->second;
    CAIRN_RETURN_IF_ERROR(Store(feature, number, at + i * 4));
  }
  return absl::OkStatus();
}

absl::Status TfrecordEncoder::EncodeRaw(const Feature& feature, const FeatureValues& values,
                                        char* at) const {
  const int64_t item = ElementBytes(*feature.raw);
  if (values.kind != FeatureValues::Kind::kBytes || values.count != 1) {
    return Wrong(feature.spec, "has ", values.count, " ", KindText(values.kind),
                 " values, \"decode\": \"raw\" takes one of bytes");
  }
  const std::string_view bytes = values.bytes[0];
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
    case ElementType::kFloat64:
      break;
  }
  return store(double{});
}

absl::Status TfrecordEncoder::EncodeImage(const Feature& feature, const FeatureValues& values,
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

absl::Status TfrecordEncoder::CheckCount(const Feature& feature,
                                         const FeatureValues& values) const {
  if (feature.spec.has_max_length() || values.count == feature.count) return absl::OkStatus();
  return Wrong(feature.spec, "has ", Plural(values.count, "value"), ", ", feature.count,
               " expected: shape ", nn::ShapeText(feature.shape),
               "; set \"shape\", or \"max_length\" for lists of any length");
}

// `at` is the place of the feature's values, which are zero.
absl::Status TfrecordEncoder::EncodeFeature(const Feature& feature, const FeatureValues& values,
                                            std::string_view record, char* at) const {
  using Kind = FeatureValues::Kind;
  const proto::TfrecordFeature& spec = feature.spec;
  if (values.kind == Kind::kMissing && !spec.has_max_length()) {
    if (!spec.has_default_()) {
      return Wrong(spec, "is missing; the record has ", NamesText(ExampleParser::NamesIn(record)),
                   "; set \"default\" if records may lack it");
    }
    return StoreAll(feature, std::vector<double>(feature.count, spec.default_()), at);
  }
  if (feature.raw) return EncodeRaw(feature, values, at);
  if (feature.image) return EncodeImage(feature, values, at);
  CAIRN_RETURN_IF_ERROR(CheckCount(feature, values));
  const bool is_named = !feature.ids.empty();
  if (values.kind == Kind::kBytes && !is_named) {
    return Wrong(
        spec,
        "has bytes; set \"vocabulary\" if they are names, \"decode\": \"image\" if they "
        "are a JPEG or PNG file, or \"decode\": \"raw\" and \"dtype\" if they are a tensor");
  }
  if (is_named && values.kind != Kind::kBytes && values.kind != Kind::kMissing) {
    return Wrong(spec, "has ", KindText(values.kind), " values, \"vocabulary\" is for bytes");
  }
  if (spec.has_dtype() && values.kind != Kind::kMissing && spec.dtype() != KindText(values.kind)) {
    return Wrong(spec, "has ", KindText(values.kind), " values, \"dtype\" says ", spec.dtype());
  }
  if (is_named) {
    CAIRN_RETURN_IF_ERROR(EncodeNames(feature, values, at));
  } else if (values.kind == Kind::kInts) {
    CAIRN_RETURN_IF_ERROR(StoreAll(feature, values.ints, at));
  } else {
    CAIRN_RETURN_IF_ERROR(StoreAll(feature, values.floats, at));
  }
  const int64_t stored = std::min(values.count, feature.count);
  return StoreAll(feature, std::vector<double>(feature.count - stored, spec.padding()),
                  at + stored * 4);
}

absl::Status TfrecordEncoder::Encode(std::string_view record, std::vector<FeatureValues>* values,
                                     Rows* rows) const {
  CAIRN_RETURN_IF_ERROR(parser_->Parse(record, values));
  for (int i = 0; i < targets(); ++i) {
    const Target& target = targets_[i];
    std::string& bytes = (*rows)[i];
    bytes.resize(bytes.size() + target.row_bytes);
    char* const row = bytes.data() + bytes.size() - target.row_bytes;
    for (const int index : target.features) {
      const Feature& feature = *features_[index];
      CAIRN_RETURN_IF_ERROR(EncodeFeature(feature, (*values)[feature.parsed], record,
                                          row + feature.place * ElementBytes(target.type)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TfrecordEncoder::File> TfrecordEncoder::ReadFile(const std::string& path,
                                                                DataStorage* storage) const {
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<RecordReader> reader, RecordReader::Open(path));
  std::vector<std::unique_ptr<Spool>> spools;
  for (int i = 0; i < targets(); ++i) spools.push_back(std::make_unique<Spool>(path, storage));
  File file;
  Rows rows(targets());
  std::vector<size_t> sizes(targets());
  RecordReader::Record record;
  std::vector<FeatureValues> values;
  while (true) {
    CAIRN_ASSIGN_OR_RETURN(const bool found, reader->Next(&record));
    if (!found) break;
    for (int i = 0; i < targets(); ++i) sizes[i] = rows[i].size();
    const absl::Status status = record.damage.empty() ? Encode(record.bytes, &values, &rows)
                                                      : absl::InvalidArgumentError(record.damage);
    if (!status.ok()) {
      const std::string error = absl::StrCat(reader->Place(record), ": ", status.message());
      if (source_.skip_damaged() == 0) return absl::InvalidArgumentError(error);
      if (file.damaged.count() == 0) file.damaged.set_first_error(error);
      file.damaged.set_count(file.damaged.count() + 1);
      // A part of its rows may have been added.
      for (int i = 0; i < targets(); ++i) rows[i].resize(sizes[i]);
      continue;
    }
    ++file.examples;
    for (int i = 0; i < targets(); ++i) {
      if (rows[i].size() < kPieceBytes) continue;
      CAIRN_RETURN_IF_ERROR(spools[i]->Append(rows[i]));
      rows[i].clear();
    }
  }
  for (int i = 0; i < targets(); ++i) {
    CAIRN_RETURN_IF_ERROR(spools[i]->Append(rows[i]));
    CAIRN_ASSIGN_OR_RETURN(file.rows.emplace_back(), spools[i]->Finish());
  }
  return file;
}

}  // namespace cairn::worker
