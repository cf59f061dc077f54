#include "cli/model/raw_inputs.h"

#include <algorithm>
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
#include "job/data_pipeline.h"

namespace cairn::cli {
namespace {

using google::protobuf::Struct;

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
  explicit Preprocessing(const proto::JobPlan& plan) : plan_(plan) {
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
      if (layer.class_name() == "InputLayer") Prepare(layer);
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
  void Prepare(const proto::LayerSpec& input) {
    // Integers are neither scaled nor standardized.
    const auto dtype = input.config().fields().find("dtype");
    const bool is_float =
        dtype == input.config().fields().end() || dtype->second.string_value() == "float32";
    if (!is_float) return;
    last_.emplace(input.name(), input.name());
    if (const double scale = plan_.job().train().scale();
        plan_.job().train().has_scale() && scale != 1) {
      auto& arguments = *Append(input.name(), "Rescaling")->mutable_fields();
      arguments["scale"].set_number_value(scale);
      arguments["offset"].set_number_value(0);  // Keras requires it in files.
    }
    const auto& inputs = plan_.model().inputs();
    for (int i = 0; i < inputs.size() && i < plan_.data().inputs_size(); ++i) {
      const auto& statistics = plan_.data().inputs(i);
      if (inputs[i] != input.name() || statistics.mean().empty()) continue;
      auto& arguments = *Append(input.name(), "Normalization")->mutable_fields();
      for (int place = 0; place < statistics.mean_size(); ++place) {
        const double deviation = statistics.deviation(place);
        arguments["mean"].mutable_list_value()->add_values()->set_number_value(
            statistics.mean(place));
        arguments["variance"].mutable_list_value()->add_values()->set_number_value(deviation *
                                                                                   deviation);
      }
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
  proto::ModelSpec model_;
  std::set<std::string> taken_;
  std::map<std::string, std::string> last_;  // By input: the last layer that prepares it.
};

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
  if (!plan.job().train().mix().empty()) {
    return absl::InvalidArgumentError(
        "--with-preprocessing: the sources of \"mix\" may have different inputs; export without "
        "the "
        "flag and prepare the inputs before");
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
