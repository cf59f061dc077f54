#include "cli/model/raw_inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/model/raw_columns.h"
#include "common/status_macros.h"
#include "job/data_pipeline.h"
#include "job/preprocessing.h"
#include "job/value_steps.h"
#include "nn/tensor.h"

namespace cairn::cli {
namespace {

using google::protobuf::Struct;

// Its square, the variance of a Normalization layer, is a float32.
constexpr double kDeviationMax = 1.8e19;

// The largest number that is exact in a model's configuration, which has doubles.
constexpr int64_t kNumberMax = int64_t{1} << 53;

// Whether the step truncates to whole numbers, and does nothing to those.
bool IsWholeCast(const proto::PipelineStep& step) {
  return step.has_cast() && step.cast() != "float32" && step.cast() != "bool";
}

bool TakesAnyWhole(const proto::PipelineStep& step) {
  return step.has_hash() || step.has_vocabulary();
}

// A name that TensorFlow takes for what a layer computes.
std::string LayerName(const std::string& column) {
  std::string name = column;
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

class Preprocessing {
 public:
  Preprocessing(const proto::JobPlan& plan, std::vector<RawColumn> columns)
      : plan_(plan),
        leading_(job::WindowOf(plan.job().train()) ? 1 : 0),
        columns_(std::move(columns)) {
    for (const proto::LayerSpec& layer : plan.model().layers()) {
      if (!HasColumns(layer.name())) taken_.insert(layer.name());
    }
  }

  absl::StatusOr<proto::ModelSpec> Run() {
    model_ = plan_.model();
    model_.clear_layers();
    model_.clear_inputs();
    std::map<std::string, std::vector<std::string>> columns;  // By input that they replace.
    for (const proto::LayerSpec& layer : plan_.model().layers()) {
      if (layer.class_name() == "InputLayer" && HasColumns(layer.name())) {
        CAIRN_ASSIGN_OR_RETURN(columns[layer.name()], AddColumns(layer));
      } else {
        proto::LayerSpec& added = *model_.add_layers();
        added = layer;
        for (std::string& input : *added.mutable_inputs()) {
          if (const auto last = last_.find(input); last != last_.end()) input = last->second;
        }
      }
      if (layer.class_name() == "InputLayer") CAIRN_RETURN_IF_ERROR(Prepare(layer));
    }
    for (const std::string& input : plan_.model().inputs()) {
      if (!columns.contains(input)) model_.add_inputs(input);
      for (const std::string& column : columns[input]) model_.add_inputs(column);
    }
    return std::move(model_);
  }

 private:
  bool IsOf(const RawColumn& column, const std::string& input) const {
    return column.input.empty() ? plan_.model().inputs(0) == input : column.input == input;
  }

  // Whether a column of the input is converted: it then has an input of its own in the file.
  bool HasColumns(const std::string& input) const {
    return std::any_of(columns_.begin(), columns_.end(), [&](const RawColumn& column) {
      return IsOf(column, input) && column.is_converted();
    });
  }

  // Adds an input for each column of this one, and the layers that make its values of them. Returns
  // the names of the new inputs.
  absl::StatusOr<std::vector<std::string>> AddColumns(const proto::LayerSpec& input) {
    const nn::Shape target = ShapeOf(input);
    const auto count =
        std::count_if(columns_.begin(), columns_.end(),
                      [&](const RawColumn& column) { return IsOf(column, input.name()); });
    std::vector<std::string> names, parts;
    int64_t width = 0;
    for (const RawColumn& column : columns_) {
      if (!IsOf(column, input.name())) continue;
      // As the worker does, the only feature of an input takes all of its values.
      const bool is_whole = count == 1 && column.shape.empty() && !column.one_hot;
      const int64_t values = nn::ElementCount(is_whole ? target : column.shape);
      names.push_back(Add(absl::StrReplaceAll(column.name, {{"/", "_"}}), "InputLayer", {}));
      auto& arguments = *Last()->mutable_fields();
      // The texts of whole numbers are their digits.
      arguments["dtype"].set_string_value(column.is_converted() ? "string" : "float32");
      SetSizes({column.text ? 1 : values}, &arguments["batch_shape"]);
      std::string part = names.back();
      int64_t elements = values;
      if (column.text) {
        if (column.text->has_output_sequence_length()) {
          elements = column.text->output_sequence_length();
        }
        part = Vectorize(part, column, elements);
      } else if (column.is_converted()) {
        CAIRN_ASSIGN_OR_RETURN(const Part converted, Convert(part, column));
        part = converted.layer;
        elements *= converted.width;
      }
      if (column.one_hot && values > 1) part = AddReshape(part, {elements});
      parts.push_back(part);
      width += elements;
    }
    std::string whole = parts[0];
    if (parts.size() > 1) whole = Add(input.name() + "_columns", "Concatenate", parts);
    if (target != nn::Shape{width}) whole = AddReshape(whole, target, input.name() + "_Reshape");
    last_[input.name()] = whole;
    return names;
  }

  // The shape of an example of the input, after the columns and before the steps.
  nn::Shape ShapeOf(const proto::LayerSpec& input) const {
    const std::vector<const proto::PipelineStep*> steps = StepsOf(input.name());
    if (!steps.empty() && PlaceOf(input.name()) < plan_.data().input_shapes_size()) {
      const auto& planned = plan_.data().input_shapes(PlaceOf(input.name())).sizes();
      nn::Shape shape(planned.begin(), planned.end());
      if (shape.empty()) shape.push_back(1);
      return shape;
    }
    nn::Shape shape;
    const auto& sizes = input.config().fields().at("batch_shape").list_value().values();
    for (int i = 1; i < sizes.size(); ++i) {
      shape.push_back(static_cast<int64_t>(sizes[i].number_value()));
    }
    return shape;
  }

  // A layer that makes `width` values of each one.
  struct Part {
    std::string layer;
    int64_t width = 1;
  };

  // Adds the layers that make a column's ids or vectors of its values; returns the last one.
  absl::StatusOr<Part> Convert(const std::string& values, const RawColumn& column) {
    const std::string prefix = LayerName(values);
    Part part;
    part.width = static_cast<int64_t>(column.vocabulary.size()) + column.unknown;
    if (column.hash) {
      part.width = column.hash->num_bins();
      part.layer = Add(prefix + "_Hashing", "Hashing", {values});
      CAIRN_RETURN_IF_ERROR(SetHashing(*column.hash));
    } else {
      google::protobuf::ListValue terms;
      for (const std::string& name : column.vocabulary) terms.add_values()->set_string_value(name);
      part.layer = LookUp(values, "StringLookup", terms, column.unknown);
    }
    if (!column.one_hot) {
      part.width = 1;
      return part;
    }
    part.layer = Add(prefix + "_one_hot", "CategoryEncoding", {part.layer});
    auto& encoding = *Last()->mutable_fields();
    encoding["num_tokens"].set_number_value(static_cast<double>(part.width));
    encoding["output_mode"].set_string_value("one_hot");
    return part;
  }

  // Adds the layers that make ids of the terms.
  std::string LookUp(const std::string& values, const char* class_name,
                     const google::protobuf::ListValue& terms, bool unknown) {
    const std::string prefix = LayerName(values);
    const auto size = static_cast<double>(terms.values_size());
    std::string ids = Add(absl::StrCat(prefix, "_", class_name), class_name, {values});
    auto& lookup = *Last()->mutable_fields();
    lookup["num_oov_indices"].set_number_value(unknown ? 1 : 0);
    *lookup["vocabulary"].mutable_list_value() = terms;
    // Keras gives others the first index, and Cairn the last one: max(i - 1, size * (1 - i)).
    if (!unknown) return ids;
    const std::string known = AddRescaling(ids, prefix + "_known", 1, -1);
    const std::string others = AddRescaling(ids, prefix + "_unknown", -size, size);
    return Add(prefix + "_ids", "Maximum", {known, others});
  }

  // Sets the arguments of the last layer, a Hashing.
  absl::Status SetHashing(const proto::Hashing& hash) {
    auto& arguments = *Last()->mutable_fields();
    arguments["num_bins"].set_number_value(static_cast<double>(hash.num_bins()));
    for (int i = 0; i < 2 && !hash.salt().empty(); ++i) {
      const uint64_t salt = i == 0 ? hash.salt(0) : *hash.salt().rbegin();
      if (salt > static_cast<uint64_t>(kNumberMax)) return TooLarge("salt", salt);
      arguments["salt"].mutable_list_value()->add_values()->set_number_value(
          static_cast<double>(salt));
    }
    if (hash.has_mask_value_word()) {
      arguments["mask_value"].set_string_value(hash.mask_value_word());
    } else if (hash.has_mask_value()) {
      if (!IsExact(hash.mask_value())) return TooLarge("mask_value", hash.mask_value());
      arguments["mask_value"].set_number_value(static_cast<double>(hash.mask_value()));
    }
    return absl::OkStatus();
  }

  static bool IsExact(int64_t number) { return number >= -kNumberMax && number <= kNumberMax; }
  static absl::Status TooLarge(const char* field, const absl::AlphaNum& number) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", field, " ", number,
                     " is beyond 2^53, which the numbers in a model's configuration do not reach; "
                     "export without the flag and prepare the inputs before"));
  }

  // Adds the layer that makes `length` ids of a text.
  std::string Vectorize(const std::string& text, const RawColumn& column, int64_t length) {
    std::string ids = Add(LayerName(text) + "_TextVectorization", "TextVectorization", {text});
    auto& arguments = *Last()->mutable_fields();
    const auto set = [&](const char* field, const std::string& given, const char* otherwise) {
      if (given == "none") {  // Keras requires all of them in files.
        arguments[field].set_null_value(google::protobuf::NULL_VALUE);
      } else {
        arguments[field].set_string_value(given.empty() ? otherwise : given);
      }
    };
    set("standardize", column.text->standardize(), "lower_and_strip_punctuation");
    set("split", column.text->split(), "whitespace");
    set("ngrams", "none", "");
    arguments["output_sequence_length"].set_number_value(static_cast<double>(length));
    auto* const terms = arguments["vocabulary"].mutable_list_value();
    for (const std::string& token : column.vocabulary) terms->add_values()->set_string_value(token);
    return ids;
  }

  std::string AddRescaling(const std::string& input, const std::string& name, double scale,
                           double offset) {
    std::string added = Add(name, "Rescaling", {input});
    auto& arguments = *Last()->mutable_fields();
    arguments["scale"].set_number_value(scale);
    arguments["offset"].set_number_value(offset);
    return added;
  }

  // Adds the layers behind an input.
  absl::Status Prepare(const proto::LayerSpec& input) {
    const std::vector<const proto::PipelineStep*> steps = StepsOf(input.name());
    // Integers are neither scaled nor standardized.
    const bool is_float = DtypeOf(input) == "float32";
    if (!is_float && steps.empty()) return absl::OkStatus();
    if (!steps.empty() && PlaceOf(input.name()) >= plan_.data().input_shapes_size()) {
      return NoLayer(*steps[0]);
    }
    const bool has_columns = HasColumns(input.name());
    last_.emplace(input.name(), input.name());
    const proto::DataSource& train = plan_.job().train();
    const double scale = train.has_scale() ? train.scale() : 1;
    const bool is_scaled = is_float && scale != 1;
    nn::Shape shape;
    bool is_whole = !is_float && !has_columns;
    if (!steps.empty()) {
      CAIRN_ASSIGN_OR_RETURN(shape, ShapeBefore(input.name(), steps));
      if (has_columns) {
        if (shape != ShapeOf(input)) Append(input.name(), shape);
      } else {
        CAIRN_ASSIGN_OR_RETURN(const std::string dtype,
                               FileType(DtypeOf(input), is_scaled, shape, steps));
        auto& fields = *Last()->mutable_fields();
        fields["dtype"].set_string_value(dtype);
        SetSizes(shape, &fields["batch_shape"]);
        is_whole = dtype != "float32";
      }
    }
    if (is_scaled) {
      auto& arguments = *Append(input.name(), "Rescaling")->mutable_fields();
      arguments["scale"].set_number_value(scale);
      arguments["offset"].set_number_value(0);  // Keras requires it in files.
      is_whole = false;
    }
    for (const proto::PipelineStep* step : steps) {
      CAIRN_RETURN_IF_ERROR(AddStep(input.name(), *step, shape, &is_whole));
      CAIRN_ASSIGN_OR_RETURN(shape, job::ShapeAfter(*step, std::move(shape), leading_));
    }
    if (!is_float) return absl::OkStatus();
    // Otherwise the statistics are of a step.
    if (plan_.job().train().standardize()) Normalize(input.name());
    return absl::OkStatus();
  }

  static std::string DtypeOf(const proto::LayerSpec& input) {
    const auto dtype = input.config().fields().find("dtype");
    return dtype == input.config().fields().end() ? "float32" : dtype->second.string_value();
  }

  // The type of an input in the file, in front of these steps. One of whole numbers stands for the
  // steps "cast" that begin them.
  absl::StatusOr<std::string> FileType(const std::string& dtype, bool is_scaled,
                                       const nn::Shape& shape,
                                       const std::vector<const proto::PipelineStep*>& steps) const {
    const auto does_nothing = [&](const proto::PipelineStep* step) {
      return IsWholeCast(*step) || step->has_flip() ||
             (step->has_pad() && step->pad().length() == shape[leading_]);
    };
    const auto moves = [&](const proto::PipelineStep* step) {
      return does_nothing(step) || step->has_pad() || step->has_crop();
    };
    const auto first = std::find_if_not(steps.begin(), steps.end(), does_nothing);
    const auto computing = std::find_if_not(steps.begin(), steps.end(), moves);
    if (first == steps.end()) return dtype;
    if (computing == steps.end() || is_scaled || !TakesAnyWhole(**computing)) return "float32";
    if (first == computing) return "int64";
    return absl::InvalidArgumentError(absl::StrCat(
        "the step \"", job::NameOf(**first), "\" of the pipeline stands before \"",
        job::NameOf(**computing),
        "\", and its layer takes no whole numbers of 64 bits; put it behind, or export without "
        "the flag and prepare the inputs before"));
  }

  std::vector<const proto::PipelineStep*> StepsOf(const std::string& input) const {
    std::vector<const proto::PipelineStep*> steps;
    for (const proto::PipelineStep& step : plan_.job().train().pipeline()) {
      const bool is_of = !step.has_input() || step.input() == input;
      if (is_of && job::ChangesValues(step)) steps.push_back(&step);
    }
    return steps;
  }

  static absl::Status NoLayer(const proto::PipelineStep& step) {
    return absl::InvalidArgumentError(
        absl::StrCat("no layer of a model does what the step \"", job::NameOf(step),
                     "\" of the pipeline does; export without the flag and prepare the inputs "
                     "before"));
  }

  int PlaceOf(const std::string& input) const {
    const auto& inputs = plan_.model().inputs();
    return static_cast<int>(std::find(inputs.begin(), inputs.end(), input) - inputs.begin());
  }

  // The shape of the examples before the steps, as the layers take it.
  absl::StatusOr<nn::Shape> ShapeBefore(
      const std::string& input, const std::vector<const proto::PipelineStep*>& steps) const {
    const auto& planned = plan_.data().input_shapes(PlaceOf(input)).sizes();
    nn::Shape shape(planned.begin(), planned.end());
    nn::Shape after = shape;
    for (const proto::PipelineStep* step : steps) {
      CAIRN_ASSIGN_OR_RETURN(after, job::ShapeAfter(*step, std::move(after), leading_));
    }
    // The model may have a last axis of 1 that the files lack. Layers take no single numbers.
    const bool lacks_axis = after.size() + 1 == ModelRank(input);
    if (lacks_axis || shape.empty()) shape.push_back(1);
    return shape;
  }

  static void SetSizes(const nn::Shape& shape, google::protobuf::Value* batch_shape) {
    auto& sizes = *batch_shape->mutable_list_value();
    sizes.clear_values();
    sizes.add_values()->set_null_value(google::protobuf::NULL_VALUE);
    for (const int64_t size : shape) {
      sizes.add_values()->set_number_value(static_cast<double>(size));
    }
  }

  // The layers of images take (height, width, channels).
  absl::Status CheckImages(const proto::PipelineStep& step, const nn::Shape& shape) const {
    if (leading_ == 0 && shape.size() == 3) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "the step \"", job::NameOf(step), "\" of the pipeline changes ",
        leading_ > 0 ? "the images of a window"
                     : absl::StrCat("images of shape ", nn::ShapeText(shape)),
        ", and its layer takes images of shape (height, width, channels); export without the flag "
        "and prepare the inputs before"));
  }

  // Cairn's Resizing has two methods.
  static absl::Status CheckMethod(nn::ResizeMethod method) {
    using Method = nn::ResizeMethod;
    if (method == Method::kBilinear || method == Method::kNearest) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "the step \"resize\" of the pipeline has the interpolation \"", nn::NameOf(method),
        "\", and its layer has \"bilinear\" and \"nearest\"; export without the flag and prepare "
        "the inputs before"));
  }

  // Adds the layer that does what the step does in inference.
  // `*is_whole`: whether the values are whole numbers.
  absl::Status AddStep(const std::string& input, const proto::PipelineStep& step,
                       const nn::Shape& shape, bool* is_whole) {
    using Step = proto::PipelineStep;
    switch (step.step_case()) {
      case Step::kFlip:
        return absl::OkStatus();
      case Step::kCast:
        if (step.cast() == "bool") {
          // The square of the sign.
          const std::string sign = Add(input + "_sign", "Sign", {last_[input]});
          last_[input] = Add(input + "_bool", "Multiply", {sign, sign});
        } else if (step.cast() != "float32" && !*is_whole) {
          Truncate(input);
        }
        *is_whole |= step.cast() != "float32";
        return absl::OkStatus();
      case Step::kNormalize:
        *is_whole = false;
        return Normalize(input, step.normalize());
      case Step::kHash:
        *is_whole = true;
        Append(input, "Hashing");
        return SetHashing(step.hash());
      case Step::kVocabulary:
        *is_whole = true;
        return LookUp(input, step.vocabulary());
      case Step::kPad:
        *is_whole &= step.pad().value() == std::trunc(step.pad().value());
        Pad(input, step.pad(), shape);
        return absl::OkStatus();
      case Step::kOneHot: {
        *is_whole = true;
        auto& arguments = *Append(input, "CategoryEncoding")->mutable_fields();
        arguments["num_tokens"].set_number_value(static_cast<double>(step.one_hot()));
        arguments["output_mode"].set_string_value("one_hot");
        return absl::OkStatus();
      }
      case Step::kResize: {
        *is_whole = false;
        const proto::ResizeStep& resize = step.resize();
        if (resize.pad_to_aspect_ratio()) return NoLayer(step);
        CAIRN_RETURN_IF_ERROR(CheckImages(step, shape));
        CAIRN_RETURN_IF_ERROR(CheckMethod(job::ResizeMethodOf(resize.interpolation())));
        auto& fields = *Append(input, "Resizing")->mutable_fields();
        fields["height"].set_number_value(static_cast<double>(resize.size(0)));
        fields["width"].set_number_value(static_cast<double>(*resize.size().rbegin()));
        fields["interpolation"].set_string_value(resize.has_interpolation() ? resize.interpolation()
                                                                            : "bilinear");
        fields["crop_to_aspect_ratio"].set_bool_value(resize.crop_to_aspect_ratio());
        return absl::OkStatus();
      }
      case Step::kCrop: {
        CAIRN_RETURN_IF_ERROR(CheckImages(step, shape));
        const std::array wanted = {step.crop().size(0), *step.crop().size().rbegin()};
        std::array<std::array<int64_t, 2>, 2> sides;
        for (int axis = 0; axis < 2; ++axis) {
          const int64_t cut = shape[axis] - wanted[axis];
          sides[axis] = {cut / 2, cut - cut / 2};
        }
        SetSides(sides, &(*Append(input, "Cropping2D")->mutable_fields())["cropping"]);
        return absl::OkStatus();
      }
      default:
        return NoLayer(step);
    }
  }

  // sign(x) * floor(max(x, -x))
  void Truncate(const std::string& input) {
    const std::string x = last_[input];
    const std::string negative = AddRescaling(x, input + "_negative", -1, 0);
    const std::string size = Add(input + "_size", "Maximum", {x, negative});
    const std::string whole = Add(input + "_whole", "Floor", {size});
    const std::string sign = Add(input + "_sign", "Sign", {x});
    last_[input] = Add(input + "_cast", "Multiply", {sign, whole});
  }

  absl::Status LookUp(const std::string& input, const proto::VocabularyStep& step) {
    google::protobuf::ListValue terms;
    for (const int64_t number : step.numbers()) {
      if (!IsExact(number)) return TooLarge("number of the vocabulary", number);
      terms.add_values()->set_number_value(static_cast<double>(number));
    }
    last_[input] = LookUp(last_[input], "IntegerLookup", terms, step.unknown());
    return absl::OkStatus();
  }

  // Fills or cuts the axis behind the leading ones, which an image has as its width. Zeros that
  // fill it become other numbers by the mean of a Normalization, which is 0 elsewhere.
  void Pad(const std::string& input, const proto::PadStep& step, const nn::Shape& shape) {
    const int64_t length = shape[leading_];
    const int64_t wanted = step.length();
    if (length == wanted) return;
    const int64_t windows = leading_ == 0 ? 1 : shape[0];
    nn::Shape image = {windows, length, nn::ElementCount(shape) / (windows * length)};
    Append(input, image);
    const bool cuts = length > wanted;
    auto& arguments = *Append(input, cuts ? "Cropping2D" : "ZeroPadding2D")->mutable_fields();
    SetSides({{{0, 0}, {0, std::abs(wanted - length)}}}, &arguments[cuts ? "cropping" : "padding"]);
    image[1] = wanted;
    if (!cuts && step.value() != 0) {
      Append(input, {nn::ElementCount(image)});
      std::vector<double> mean;
      for (int64_t i = 0; i < nn::ElementCount(image); ++i) {
        mean.push_back(i / image[2] % wanted < length ? 0 : -step.value());
      }
      Normalize(input, mean, std::vector<double>{1});
    }
    nn::Shape after = shape;
    after[leading_] = wanted;
    Append(input, after);
  }

  // Of ZeroPadding2D and Cropping2D: above and below, left and right.
  static void SetSides(const std::array<std::array<int64_t, 2>, 2>& sides,
                       google::protobuf::Value* argument) {
    for (const std::array<int64_t, 2>& axis : sides) {
      auto& pair = *argument->mutable_list_value()->add_values()->mutable_list_value();
      for (const int64_t side : axis) {
        pair.add_values()->set_number_value(static_cast<double>(side));
      }
    }
  }

  absl::Status Normalize(const std::string& input, const proto::NormalizeStep& step) {
    if (step.mean().empty()) {
      Normalize(input);
    } else if (step.mean_size() > 1 || step.deviation_size() > 1) {
      for (const double deviation : step.deviation()) {
        CAIRN_RETURN_IF_ERROR(CheckDeviation(deviation));
      }
      Normalize(input, step.mean(), step.deviation());
    } else {  // The same for all values.
      auto& arguments = *Append(input, "Rescaling")->mutable_fields();
      arguments["scale"].set_number_value(1 / step.deviation(0));
      arguments["offset"].set_number_value(-step.mean(0) / step.deviation(0));
    }
    return absl::OkStatus();
  }

  // The step divides by any number above 0.
  static absl::Status CheckDeviation(double deviation) {
    if (deviation >= job::kDeviationMin && deviation <= kDeviationMax) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the step \"normalize\" of the pipeline divides by ", deviation,
                     ", and its layer by numbers from ", job::kDeviationMin, " to ", kDeviationMax,
                     "; export without the flag and prepare the inputs before"));
  }

  // By the statistics of the training data.
  void Normalize(const std::string& input) {
    const int place = PlaceOf(input);
    if (place >= plan_.data().inputs_size()) return;
    const auto& statistics = plan_.data().inputs(place);
    if (!statistics.mean().empty()) Normalize(input, statistics.mean(), statistics.deviation());
  }

  template <typename Numbers>
  void Normalize(const std::string& input, const Numbers& mean, const Numbers& deviation) {
    const int places = std::max(mean.size(), deviation.size());
    auto& arguments = *Append(input, "Normalization")->mutable_fields();
    for (int i = 0; i < places; ++i) {
      const double each = deviation[i % deviation.size()];
      arguments["mean"].mutable_list_value()->add_values()->set_number_value(mean[i % mean.size()]);
      arguments["variance"].mutable_list_value()->add_values()->set_number_value(each * each);
    }
  }

  std::string AddReshape(const std::string& input, const nn::Shape& shape, std::string name = "") {
    if (name.empty()) name = LayerName(input) + "_Reshape";
    std::string added = Add(std::move(name), "Reshape", {input});
    auto& target = *(*Last()->mutable_fields())["target_shape"].mutable_list_value();
    for (const int64_t size : shape) {
      target.add_values()->set_number_value(static_cast<double>(size));
    }
    return added;
  }

  // The number of axes of an example of the model's input.
  size_t ModelRank(const std::string& input) const {
    const auto layer =
        std::find_if(plan_.model().layers().begin(), plan_.model().layers().end(),
                     [&](const proto::LayerSpec& each) { return each.name() == input; });
    return layer->config().fields().at("batch_shape").list_value().values_size() - 1;
  }

  // Gives the input's values another shape.
  void Append(const std::string& input, const nn::Shape& shape) {
    last_[input] = AddReshape(last_[input], shape, input + "_Reshape");
  }

  // Adds a layer behind the input's last one.
  Struct* Append(const std::string& input, const char* class_name) {
    last_[input] = Add(absl::StrCat(input, "_", class_name), class_name, {last_[input]});
    return Last();
  }

  // Adds a layer and returns its name, which is this one or, if that is taken, a longer one.
  std::string Add(std::string name, const char* class_name,
                  const std::vector<std::string>& inputs) {
    while (!taken_.insert(name).second) name += "_";
    if (inputs.size() != 1) model_.set_sequential(false);
    proto::LayerSpec& layer = *model_.add_layers();
    layer.set_name(name);
    layer.set_class_name(class_name);
    layer.mutable_inputs()->Assign(inputs.begin(), inputs.end());
    return name;
  }

  // The arguments of the last layer.
  Struct* Last() { return model_.mutable_layers(model_.layers_size() - 1)->mutable_config(); }

  const proto::JobPlan& plan_;
  const int leading_;  // Axes of a window's rows.
  const std::vector<RawColumn> columns_;
  proto::ModelSpec model_;
  std::set<std::string> taken_;
  std::map<std::string, std::string> last_;  // By input: the last layer that prepares it.
};

absl::StatusOr<proto::ModelSpec> AddPreprocessing(const proto::JobPlan& plan) {
  const proto::DataSource& train = plan.job().train();
  if (!train.mix().empty() || !train.zip().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(train.zip().empty() ? "the sources of \"mix\" may have different inputs"
                                         : "each source of \"zip\" has its own preprocessing",
                     "; export without the flag and prepare the inputs before"));
  }
  CAIRN_ASSIGN_OR_RETURN(std::vector<RawColumn> columns, RawColumnsOf(plan));
  const bool is_converted = std::any_of(columns.begin(), columns.end(),
                                        [](const RawColumn& each) { return each.is_converted(); });
  if (is_converted && job::WindowOf(train)) {
    return absl::InvalidArgumentError(
        "an input is a window of rows with names, which no layer takes; export without the flag "
        "and prepare the inputs before");
  }
  return Preprocessing(plan, std::move(columns)).Run();
}

}  // namespace

absl::StatusOr<proto::ModelSpec> ModelOfRawInputs(const proto::JobPlan& plan) {
  auto model = AddPreprocessing(plan);
  if (model.ok()) return model;
  return absl::InvalidArgumentError(
      absl::StrCat("--with-preprocessing: ", std::string(model.status().message())));
}

}  // namespace cairn::cli
