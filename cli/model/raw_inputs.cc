#include "cli/model/raw_inputs.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "job/data_formats/csv_format.h"
#include "job/data_formats/data_features.h"
#include "job/data_formats/text_format.h"
#include "job/data_pipeline.h"
#include "job/preprocessing.h"
#include "job/value_steps.h"
#include "nn/tensor.h"

namespace cairn::cli {
namespace {

using google::protobuf::Struct;

// Its square, the variance of a Normalization layer, is a float32.
constexpr double kDeviationMax = 1.8e19;

// As job::VocabularyOf. InvalidArgument: a name that no model file can have.
absl::StatusOr<std::vector<std::string>> TermsOf(const proto::CsvColumn& column,
                                                 const proto::DataPlan& plan) {
  std::vector<std::string> names = job::VocabularyOf(column, plan);
  for (const std::string& name : names) {
    if (IsUtf8(name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("column ", column.name(), " has the name \"", absl::CHexEscape(name),
                     "\", which is not UTF-8, as the text in a model is"));
  }
  return names;
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
  explicit Preprocessing(const proto::JobPlan& plan)
      : plan_(plan), leading_(job::WindowOf(plan.job().train()) ? 1 : 0) {
    for (const proto::LayerSpec& layer : plan.model().layers()) {
      if (!HasCategories(layer.name())) taken_.insert(layer.name());
    }
  }

  absl::StatusOr<proto::ModelSpec> Run() {
    model_ = plan_.model();
    model_.clear_layers();
    model_.clear_inputs();
    std::map<std::string, std::vector<std::string>> columns;  // By input that they replace.
    for (const proto::LayerSpec& layer : plan_.model().layers()) {
      if (layer.class_name() == "InputLayer" && HasCategories(layer.name())) {
        CAIRN_ASSIGN_OR_RETURN(columns[layer.name()], AddColumns(layer));
        model_.set_sequential(false);
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
  bool IsOf(const proto::CsvColumn& column, const std::string& input) const {
    return column.has_input() ? column.input() == input : plan_.model().inputs(0) == input;
  }

  bool HasCategories(const std::string& input) const {
    for (const proto::CsvColumn& column : plan_.job().train().csv().features()) {
      if (IsOf(column, input) && job::IsCategorical(column)) return true;
    }
    return false;
  }

  // Adds an input for each column of this one, and the layers that make its values of them. Returns
  // the names of the new inputs.
  absl::StatusOr<std::vector<std::string>> AddColumns(const proto::LayerSpec& input) {
    std::vector<std::string> names, parts;
    int64_t width = 0;
    for (const proto::CsvColumn& column : plan_.job().train().csv().features()) {
      if (!IsOf(column, input.name())) continue;
      CAIRN_ASSIGN_OR_RETURN(const std::vector<std::string> vocabulary,
                             TermsOf(column, plan_.data()));
      names.push_back(Add(absl::StrReplaceAll(column.name(), {{"/", "_"}}), "InputLayer", {}));
      auto& arguments = *Last()->mutable_fields();
      arguments["dtype"].set_string_value(job::IsCategorical(column) ? "string" : "float32");
      auto* const shape = arguments["batch_shape"].mutable_list_value();
      shape->add_values()->set_null_value(google::protobuf::NULL_VALUE);
      shape->add_values()->set_number_value(1);
      parts.push_back(job::IsCategorical(column) ? LookUp(names.back(), column, vocabulary)
                                                 : names.back());
      width += column.one_hot() ? static_cast<int64_t>(vocabulary.size()) + column.unknown() : 1;
    }
    std::string whole = parts[0];
    if (parts.size() > 1) whole = Add(input.name() + "_columns", "Concatenate", parts);
    const auto& shape = input.config().fields().at("batch_shape").list_value().values();
    if (shape.size() != 2 || shape[1].number_value() != static_cast<double>(width)) {
      whole = Add(input.name() + "_Reshape", "Reshape", {whole});
      auto& arguments = *Last()->mutable_fields();
      auto* const target = arguments["target_shape"].mutable_list_value();
      for (int i = 1; i < shape.size(); ++i) *target->add_values() = shape[i];
    }
    last_[input.name()] = whole;
    return names;
  }

  // Adds the layers that make a column's ids or vectors of its texts; returns the last one.
  std::string LookUp(const std::string& text, const proto::CsvColumn& column,
                     const std::vector<std::string>& vocabulary) {
    const std::string prefix = LayerName(text);
    const auto size = static_cast<double>(vocabulary.size());
    std::string ids = Add(prefix + "_StringLookup", "StringLookup", {text});
    auto& lookup = *Last()->mutable_fields();
    lookup["num_oov_indices"].set_number_value(column.unknown() ? 1 : 0);
    auto* const terms = lookup["vocabulary"].mutable_list_value();
    for (const std::string& name : vocabulary) terms->add_values()->set_string_value(name);
    // Keras gives other texts the first index, and Cairn the last one: max(i - 1, size * (1 - i)).
    if (column.unknown()) {
      const std::string known = AddRescaling(ids, prefix + "_known", 1, -1);
      const std::string unknown = AddRescaling(ids, prefix + "_unknown", -size, size);
      ids = Add(prefix + "_ids", "Maximum", {known, unknown});
    }
    if (!column.one_hot()) return ids;
    ids = Add(prefix + "_one_hot", "CategoryEncoding", {ids});
    auto& encoding = *Last()->mutable_fields();
    encoding["num_tokens"].set_number_value(size + column.unknown());
    encoding["output_mode"].set_string_value("one_hot");
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
    if (!steps.empty() && HasCategories(input.name())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the input '", input.name(), "' has columns of names and the step \"",
          job::NameOf(*steps[0]),
          "\" of the pipeline, which layers do not do together; export without the flag and "
          "prepare the inputs before"));
    }
    // Integers are neither scaled nor standardized.
    const auto dtype = input.config().fields().find("dtype");
    const bool is_float =
        dtype == input.config().fields().end() || dtype->second.string_value() == "float32";
    if (!is_float) return steps.empty() ? absl::OkStatus() : NoLayer(*steps[0]);
    if (!steps.empty() && PlaceOf(input.name()) >= plan_.data().input_shapes_size()) {
      return NoLayer(*steps[0]);
    }
    last_.emplace(input.name(), input.name());
    if (const double scale = plan_.job().train().scale();
        plan_.job().train().has_scale() && scale != 1) {
      auto& arguments = *Append(input.name(), "Rescaling")->mutable_fields();
      arguments["scale"].set_number_value(scale);
      arguments["offset"].set_number_value(0);  // Keras requires it in files.
    }
    nn::Shape shape;
    if (!steps.empty()) {
      CAIRN_ASSIGN_OR_RETURN(shape, SetShape(input.name(), steps));
    }
    for (const proto::PipelineStep* step : steps) {
      CAIRN_RETURN_IF_ERROR(AddStep(input.name(), *step, shape));
      CAIRN_ASSIGN_OR_RETURN(shape, job::ShapeAfter(*step, std::move(shape), leading_));
    }
    // Otherwise the statistics are of a step.
    if (plan_.job().train().standardize()) Normalize(input.name());
    return absl::OkStatus();
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

  // Gives the input, which was added last, the shape of the examples before the steps; returns it.
  absl::StatusOr<nn::Shape> SetShape(const std::string& input,
                                     const std::vector<const proto::PipelineStep*>& steps) {
    const auto& planned = plan_.data().input_shapes(PlaceOf(input)).sizes();
    nn::Shape shape(planned.begin(), planned.end());
    nn::Shape after = shape;
    for (const proto::PipelineStep* step : steps) {
      CAIRN_ASSIGN_OR_RETURN(after, job::ShapeAfter(*step, std::move(after), leading_));
    }
    auto& sizes = *(*Last()->mutable_fields())["batch_shape"].mutable_list_value();
    // The model may have a last axis of 1 that the files lack. Layers take no single numbers.
    const bool lacks_axis = static_cast<int>(after.size()) == sizes.values_size() - 2;
    if (lacks_axis || shape.empty()) shape.push_back(1);
    sizes.clear_values();
    sizes.add_values()->set_null_value(google::protobuf::NULL_VALUE);
    for (const int64_t size : shape)
      sizes.add_values()->set_number_value(static_cast<double>(size));
    return shape;
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

  // Resizing has two methods.
  static absl::Status CheckMethod(nn::ResizeMethod method) {
    using Method = nn::ResizeMethod;
    if (method == Method::kBilinear || method == Method::kNearest) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "the step \"resize\" of the pipeline has the interpolation \"", nn::NameOf(method),
        "\", and its layer has \"bilinear\" and \"nearest\"; export without the flag and prepare "
        "the inputs before"));
  }

  // Adds the layer that does what the step does in inference.
  absl::Status AddStep(const std::string& input, const proto::PipelineStep& step,
                       const nn::Shape& shape) {
    using Step = proto::PipelineStep;
    switch (step.step_case()) {
      case Step::kFlip:
        return absl::OkStatus();
      case Step::kCast:
        return step.cast() == "float32" ? absl::OkStatus() : NoLayer(step);
      case Step::kNormalize:
        return Normalize(input, step.normalize());
      case Step::kOneHot: {
        auto& arguments = *Append(input, "CategoryEncoding")->mutable_fields();
        arguments["num_tokens"].set_number_value(static_cast<double>(step.one_hot()));
        arguments["output_mode"].set_string_value("one_hot");
        return absl::OkStatus();
      }
      case Step::kResize: {
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
        auto& arguments = *Append(input, "Cropping2D")->mutable_fields();
        for (int axis = 0; axis < 2; ++axis) {
          const int64_t before = (shape[axis] - wanted[axis]) / 2;
          auto& sides = *arguments["cropping"].mutable_list_value()->add_values();
          for (const int64_t side : {before, shape[axis] - wanted[axis] - before}) {
            sides.mutable_list_value()->add_values()->set_number_value(static_cast<double>(side));
          }
        }
        return absl::OkStatus();
      }
      default:
        return NoLayer(step);
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

  // Adds a layer behind the input's last one.
  Struct* Append(const std::string& input, const char* class_name) {
    last_[input] = Add(absl::StrCat(input, "_", class_name), class_name, {last_[input]});
    return Last();
  }

  // Adds a layer and returns its name, which is this one or, if that is taken, a longer one.
  std::string Add(std::string name, const char* class_name,
                  const std::vector<std::string>& inputs) {
    while (!taken_.insert(name).second) name += "_";
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
  proto::ModelSpec model_;
  std::set<std::string> taken_;
  std::map<std::string, std::string> last_;  // By input: the last layer that prepares it.
};

// What the job does to the values of a feature, and no layer does. Null: nothing.
const char* UnwrittenWork(const proto::DataFeature& feature) {
  return feature.has_hash()                 ? "are hashed"
         : feature.has_text_vectorization() ? "are divided into tokens"
         : job::HasNames(feature)           ? "are looked up in a vocabulary"
         : feature.has_default_() || feature.has_default_name()
             ? "are replaced where they are missing"
             : nullptr;
}

// The features of a source of records, of a Parquet table or of texts.
job::DataFeatures FeaturesOf(const proto::JobPlan& plan) {
  const proto::DataSource& source = plan.job().train();
  if (source.has_tfrecord()) return source.tfrecord().features();
  if (source.has_parquet()) return source.parquet().features();
  if (!source.has_text()) return {};
  const auto& layers = plan.model().layers();
  const bool takes_text =
      std::any_of(layers.begin(), layers.end(), [](const proto::LayerSpec& layer) {
        const auto dtype = layer.config().fields().find("dtype");
        return layer.class_name() == "InputLayer" && dtype != layer.config().fields().end() &&
               dtype->second.string_value() == "string";
      });
  return job::TextFeatures(source.text(), takes_text);
}

// The first column whose missing values the job replaces, if there is one.
std::string FilledColumn(const proto::JobPlan& plan) {
  for (const proto::CsvColumn& column : plan.job().train().csv().features()) {
    if (column.has_missing()) return column.name();
  }
  return "";
}

}  // namespace

absl::StatusOr<proto::ModelSpec> ModelOfRawInputs(const proto::JobPlan& plan) {
  if (const std::string column = FilledColumn(plan); !column.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--with-preprocessing: missing values of column ", column,
        " are replaced, which no layer does; export without the flag and prepare the inputs "
        "before"));
  }
  for (const proto::CsvColumn& column : plan.job().train().csv().features()) {
    if (!column.has_hash()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--with-preprocessing: the texts of column ", column.name(),
                     " are hashed, which no layer of a job does; export without the flag and "
                     "prepare the inputs before"));
  }
  for (const proto::DataFeature& feature : FeaturesOf(plan)) {
    const char* const work = UnwrittenWork(feature);
    if (work == nullptr) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--with-preprocessing: the values of \"", feature.name(), "\" ", work,
                     ", and only columns of csv get layers for this; export without the flag and "
                     "prepare the inputs before"));
  }
  if (!plan.job().train().mix().empty()) {
    return absl::InvalidArgumentError(
        "--with-preprocessing: the sources of \"mix\" may have different inputs; export without "
        "the "
        "flag and prepare the inputs before");
  }
  if (!plan.job().train().zip().empty()) {
    return absl::InvalidArgumentError(
        "--with-preprocessing: each source of \"zip\" has its own preprocessing; export without "
        "the flag and prepare the inputs before");
  }
  const auto& columns = plan.job().train().csv().features();
  const bool has_categories = std::any_of(columns.begin(), columns.end(), job::IsCategorical);
  if (has_categories && job::WindowOf(plan.job().train())) {
    return absl::InvalidArgumentError(
        "--with-preprocessing: an input is a window of rows with names, which no layer takes; "
        "export without the flag and prepare the inputs before");
  }
  auto model = Preprocessing(plan).Run();
  if (model.ok()) return model;
  return absl::InvalidArgumentError(
      absl::StrCat("--with-preprocessing: ", std::string(model.status().message())));
}

}  // namespace cairn::cli
