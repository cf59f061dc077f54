#include "job/value_steps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "job/data_formats/named_places.h"
#include "job/field_checks.h"

namespace cairn::job {
namespace {

using Step = proto::PipelineStep;

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
// The longest side of an image, and the most elements of an example.
constexpr int64_t kSideMost = int64_t{1} << 16;
constexpr int64_t kElementsMost = int64_t{1} << 28;

template <typename Numbers>
absl::Status CheckFiniteNumbers(const std::string& path, const Numbers& numbers) {
  for (const double number : numbers) {
    if (!std::isfinite(number)) return BadField(path, number, " is not a finite number");
  }
  return absl::OkStatus();
}

// One number stands for height and width.
absl::Status CheckSize(const std::string& path,
                       const google::protobuf::RepeatedField<int64_t>& size) {
  if (size.empty() || size.size() > 2) {
    return BadField(path,
                    size.empty() ? "is missing" : absl::StrCat("has ", size.size(), " numbers"),
                    "; say height and width: [224, 224]");
  }
  for (const int64_t side : size) CAIRN_RETURN_IF_ERROR(CheckRange(path, true, side, 1, kSideMost));
  return absl::OkStatus();
}

// The axes of an image: height, width and, if there are three, channels.
absl::Status CheckIsImage(const nn::Shape& shape, int leading) {
  const size_t axes = shape.size() - std::min<size_t>(shape.size(), leading);
  if (axes == 2 || axes == 3) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("is for images of shape (height, width) or (height, "
                   "width, channels), the examples have the shape ",
                   nn::ShapeText(shape)));
}

}  // namespace

absl::Status CheckCast(const std::string& path, const Step& step) {
  return CheckWord(
      path, step.cast(),
      {"bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "int64", "float32"});
}

absl::Status CheckNormalize(const std::string& path, const Step& step) {
  const proto::NormalizeStep& spec = step.normalize();
  if (spec.mean().empty() != spec.deviation().empty()) {
    return BadField(path + (spec.mean().empty() ? ".mean" : ".deviation"),
                    "is missing; give both, or neither for those of the training data");
  }
  CAIRN_RETURN_IF_ERROR(CheckFiniteNumbers(path + ".mean", spec.mean()));
  CAIRN_RETURN_IF_ERROR(CheckFiniteNumbers(path + ".deviation", spec.deviation()));
  for (const double deviation : spec.deviation()) {
    if (deviation <= 0) return BadField(path + ".deviation", deviation, " is not above 0");
  }
  const int means = spec.mean_size();
  if (means == spec.deviation_size() || means == 1 || spec.deviation_size() == 1) {
    return absl::OkStatus();
  }
  return BadField(path + ".deviation", "has ", spec.deviation_size(), " numbers, \"mean\" has ",
                  means);
}

absl::Status CheckOneHot(const std::string& path, const Step& step) {
  return CheckRange(path, true, step.one_hot(), 1, kElementsMost);
}

absl::Status CheckHash(const std::string& path, const Step& step) {
  return CheckHashing(path, step.hash(), /*masks_text=*/false);
}

absl::Status CheckHashing(const std::string& path, const proto::Hashing& hash, bool masks_text) {
  if (!hash.has_num_bins()) {
    return BadField(path + ".num_bins", "is missing; it is the number of different results");
  }
  CAIRN_RETURN_IF_ERROR(CheckRange(path + ".num_bins", true, hash.num_bins(), 1, kMost));
  if (hash.salt_size() > 2) {
    return BadField(path + ".salt", "has ", hash.salt_size(), " numbers, at most 2");
  }
  if (!masks_text && hash.has_mask_value_word()) {
    return BadField(path + ".mask_value", "\"", hash.mask_value_word(),
                    "\" is a text, and the values are numbers");
  }
  if (!masks_text || !hash.has_mask_value()) return absl::OkStatus();
  return BadField(path + ".mask_value", hash.mask_value(),
                  " is a number, and a column is hashed as text; write \"", hash.mask_value(),
                  "\"");
}

absl::Status CheckVocabulary(const std::string& path, const Step& step) {
  const proto::VocabularyStep& spec = step.vocabulary();
  if (spec.numbers().empty()) {
    return BadField(path + ".numbers",
                    "is missing; list the numbers in the order of their ids. Names have a "
                    "\"vocabulary\" in the description of their column");
  }
  std::set<int64_t> numbers;
  for (const int64_t number : spec.numbers()) {
    if (numbers.insert(number).second) continue;
    return BadField(path + ".numbers", number, " appears twice; keep one of them");
  }
  return absl::OkStatus();
}

absl::Status CheckPad(const std::string& path, const Step& step) {
  const proto::PadStep& spec = step.pad();
  if (!spec.has_length()) {
    return BadField(path + ".length", "is missing; it is the length of each example");
  }
  CAIRN_RETURN_IF_ERROR(CheckRange(path + ".length", true, spec.length(), 1, kElementsMost));
  if (std::abs(spec.value()) <= std::numeric_limits<float>::max()) return absl::OkStatus();
  return BadField(path + ".value", spec.value(), " does not fit into float32");
}

absl::Status CheckInterpolation(const std::string& path, const std::string& interpolation) {
  return CheckWord(path, interpolation, nn::ResizeMethodNames());
}

nn::ResizeMethod ResizeMethodOf(const std::string& interpolation) {
  return nn::ResizeMethodNamed(interpolation).value_or(nn::ResizeMethod::kBilinear);
}

absl::Status CheckResize(const std::string& path, const Step& step) {
  const proto::ResizeStep& spec = step.resize();
  CAIRN_RETURN_IF_ERROR(CheckSize(path + ".size", spec.size()));
  if (spec.has_interpolation()) {
    CAIRN_RETURN_IF_ERROR(CheckInterpolation(path + ".interpolation", spec.interpolation()));
  }
  if (!spec.crop_to_aspect_ratio() || !spec.pad_to_aspect_ratio()) return absl::OkStatus();
  return BadField(path + ".pad_to_aspect_ratio",
                  "conflicts with \"crop_to_aspect_ratio\"; keep one of them");
}

absl::Status CheckCrop(const std::string& path, const Step& step) {
  return CheckSize(path + ".size", step.crop().size());
}

absl::Status CheckFlip(const std::string& path, const Step& step) {
  return CheckWord(path, step.flip(), {"horizontal", "vertical", "horizontal_and_vertical"});
}

absl::Status CheckValueStepsFitModel(const std::string& path, const proto::DataSource& source,
                                     const nn::Signature& model) {
  const std::vector<std::string> names = NamesOf(model.inputs());
  for (int i = 0; i < source.pipeline_size(); ++i) {
    const Step& step = source.pipeline(i);
    if (!ChangesValues(step)) continue;
    const std::string at = absl::StrCat(path, ".pipeline[", i, "].input");
    if (step.has_input()) CAIRN_RETURN_IF_ERROR(CheckWord(at, step.input(), names));
    if (step.has_input() || names.size() == 1) continue;
    return BadField(at, "is missing; the model's inputs are ", absl::StrJoin(names, ", "));
  }
  for (int input = 0; input < static_cast<int>(names.size()); ++input) {
    const std::vector<const Step*> steps = ValueStepsOf(source, model, input);
    const auto measured = std::count_if(steps.begin(), steps.end(),
                                        [](const Step* step) { return IsMeasured(*step); });
    if (measured + (source.standardize() ? 1 : 0) > 1) {
      return BadField(path + ".pipeline", "normalizes the input '", names[input],
                      "' by the training data twice; keep one \"normalize\", or \"standardize\"");
    }
    // Integer inputs are not scaled.
    const bool is_scaled = source.has_scale() && source.scale() != 1 &&
                           model.inputs()[input].spec.type != proto::INT32;
    if (!is_scaled || steps.empty() || !TakesWholes(*steps[0])) continue;
    return BadField(path + ".scale",
                    "makes fractions of the whole numbers that the pipeline takes; "
                    "leave it out");
  }
  return absl::OkStatus();
}

bool ChangesValues(const Step& step) {
  return step.step_case() >= Step::kCast && step.step_case() <= Step::kFlip;
}

bool IsRandom(const Step& step) { return step.crop().random() || step.has_flip(); }

bool TakesWholes(const Step& step) {
  return step.has_one_hot() || step.has_hash() || step.has_vocabulary();
}

bool IsMeasured(const Step& step) {
  return step.has_normalize() && step.normalize().mean().empty();
}

std::vector<const Step*> ValueStepsOf(const proto::DataSource& source, const nn::Signature& model,
                                      int input) {
  std::vector<const Step*> steps;
  for (const Step& step : source.pipeline()) {
    const bool is_of = !step.has_input() || step.input() == model.inputs()[input].name;
    if (is_of && ChangesValues(step)) steps.push_back(&step);
  }
  return steps;
}

absl::StatusOr<nn::Shape> ShapeAfter(const Step& step, nn::Shape shape, int leading) {
  const auto replace = [&](const auto& size) {
    shape[leading] = size[0];
    shape[leading + 1] = *size.rbegin();
  };
  switch (step.step_case()) {
    case Step::kOneHot:
      // As Keras's CategoryEncoding.
      if (!shape.empty() && shape.back() == 1) shape.pop_back();
      shape.push_back(step.one_hot());
      break;
    case Step::kPad:
      if (static_cast<int>(shape.size()) <= leading) {
        return absl::InvalidArgumentError("is for lists, the examples are single numbers");
      }
      shape[leading] = step.pad().length();
      break;
    case Step::kNormalize: {
      const int64_t places = shape.empty() ? 1 : shape.back();
      for (const int count : {step.normalize().mean_size(), step.normalize().deviation_size()}) {
        if (count <= 1 || count == places) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("has ", count, " numbers, the last axis of the examples, of shape ",
                         nn::ShapeText(shape), ", has ", places));
      }
      break;
    }
    case Step::kResize:
      CAIRN_RETURN_IF_ERROR(CheckIsImage(shape, leading));
      replace(step.resize().size());
      break;
    case Step::kCrop: {
      CAIRN_RETURN_IF_ERROR(CheckIsImage(shape, leading));
      const auto& size = step.crop().size();
      if (size[0] > shape[leading] || *size.rbegin() > shape[leading + 1]) {
        return absl::InvalidArgumentError(absl::StrCat("takes ", size[0], " x ", *size.rbegin(),
                                                       " of images of ", shape[leading], " x ",
                                                       shape[leading + 1], "; resize them before"));
      }
      replace(size);
      break;
    }
    case Step::kFlip:
      CAIRN_RETURN_IF_ERROR(CheckIsImage(shape, leading));
      break;
    default:
      break;
  }
  int64_t elements = 1;
  for (const int64_t size : shape) {
    if (size > 0 && elements > kElementsMost / size) {
      return absl::InvalidArgumentError(
          absl::StrCat("makes more than ", kElementsMost, " values of an example"));
    }
    elements *= size;
  }
  return shape;
}

std::optional<nn::Shape> RowShape(const proto::DataSource& source, const nn::Signature& model,
                                  int input) {
  for (const Step* step : ValueStepsOf(source, model, input)) {
    const bool stays = step->has_cast() || step->has_normalize() || step->has_hash() ||
                       step->has_vocabulary() || step->has_flip();
    if (!stays) return std::nullopt;
  }
  nn::Shape shape = model.inputs()[input].spec.shape;
  const bool has_window = std::any_of(source.pipeline().begin(), source.pipeline().end(),
                                      [](const Step& step) { return step.has_window(); });
  if (has_window && !shape.empty()) shape.erase(shape.begin());
  return shape;
}

proto::DataType RowType(const proto::DataSource& source, const nn::Signature& model, int input) {
  for (const Step* step : ValueStepsOf(source, model, input)) {
    if (TakesWholes(*step)) return proto::INT32;
    if (step->has_cast() || step->has_normalize() || step->has_resize()) return proto::FLOAT32;
  }
  return model.inputs()[input].spec.type;
}

absl::StatusOr<DecodedSize> DecodedSizeOf(const proto::DataSource& source,
                                          const nn::Signature& model) {
  const proto::ImagesSource& images = source.images();
  DecodedSize size{.method = ResizeMethodOf(images.interpolation()),
                   .crops = images.crop_to_aspect_ratio(),
                   .pads = images.pad_to_aspect_ratio()};
  const std::vector<const Step*> steps = ValueStepsOf(source, model, 0);
  if (!images.image_size().empty()) {
    size.height = images.image_size(0);
    size.width = *images.image_size().rbegin();
  } else if (!steps.empty() && steps[0]->has_resize()) {
    const proto::ResizeStep& resize = steps[0]->resize();
    size = {resize.size(0), *resize.size().rbegin(), ResizeMethodOf(resize.interpolation()),
            resize.crop_to_aspect_ratio(), resize.pad_to_aspect_ratio()};
  } else if (const std::optional<nn::Shape> shape = RowShape(source, model, 0)) {
    size.height = (*shape)[0];
    size.width = (*shape)[1];
  } else {
    return absl::InvalidArgumentError(
        "is missing: images are decoded to this size before the steps of the pipeline that change "
        "it; or begin with {\"resize\": {\"size\": [256, 256]}}");
  }
  return size;
}

}  // namespace cairn::job
