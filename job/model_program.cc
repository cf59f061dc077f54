#include "job/model_program.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "job/field_checks.h"
#include "job/model_expression.h"
#include "job/model_objectives.h"
#include "nn/loss.h"
#include "nn/model_union.h"
#include "nn/moving_average.h"
#include "nn/tensor.h"
#include "re2/re2.h"
#include "re2/set.h"

namespace cairn::job {
namespace {

using Update = nn::VariableSpec::Update;

// A model of the job by itself.
struct Part {
  proto::ModelSpec spec;
  std::unique_ptr<nn::Model> model;
  bool is_trained = false;  // By some objective.
};
using Parts = std::map<std::string, Part>;

absl::StatusOr<Parts> ReadParts(const proto::Job& job, const proto::ModelSpec& spec) {
  Parts parts;
  size_t variables = 0;
  for (const std::string& name : nn::PartNames(spec)) {
    Part& part = parts[name];
    CAIRN_ASSIGN_OR_RETURN(part.spec, nn::PartOf(spec, name));
    auto model = nn::Model::Create(part.spec);
    if (!model.ok()) return BadField(absl::StrCat("models.", name), model.status().message());
    part.model = *std::move(model);
    part.is_trained = ObjectiveOf(job, name) >= 0;
    bool learns = false;
    for (const nn::VariableSpec& variable : part.model->variables()) {
      learns |= variable.update != Update::kFrozen;
    }
    if (learns != part.is_trained) {
      return BadField(absl::StrCat("models.", name),
                      learns ? "its layers are trainable, and no objective trains it"
                             : "no variable is trainable, and an objective trains it");
    }
    variables += part.model->variables().size();
  }
  for (const auto& [name, file] : job.models()) {
    if (!parts.contains(name)) return BadField(absl::StrCat("models.", name), "is not there");
  }
  if (static_cast<int>(parts.size()) != job.models_size()) {
    return BadField("models", "there are models that the job does not name");
  }
  return parts;
}

// The place of the variables of a layer of the union.
std::map<std::string, int> FirstVariables(const nn::Model& model) {
  std::map<std::string, int> first;
  for (const nn::Model::Node& node : model.nodes()) {
    if (node.owner < 0) first[node.layer->name()] = node.first_variable;
  }
  return first;
}

// Removes the weight penalties from a layer, and from the layers in it.
void RemovePenalties(google::protobuf::Struct* config) {
  std::vector<std::string> names;
  for (auto& [name, value] : *config->mutable_fields()) {
    const bool is_penalty = name.ends_with("_regularizer") && name != "activity_regularizer";
    if (is_penalty) names.push_back(name);
    if (!is_penalty && value.has_struct_value()) RemovePenalties(value.mutable_struct_value());
  }
  for (const std::string& name : names) config->mutable_fields()->erase(name);
}

// Joins the models of one expression to one model.
class Composition {
 public:
  Composition(const Parts& parts, nn::Shape* data_shape)
      : parts_(parts), data_shape_(*data_shape) {}

  // Returns the layer whose output is the expression's.
  absl::StatusOr<std::string> Add(const ModelExpression& call) {
    if (const auto known = outputs_.find(call.text); known != outputs_.end()) return known->second;
    const Part& part = parts_.at(call.model);
    const nn::Model& model = *part.model;
    if (model.outputs().size() != 1) {
      return absl::InvalidArgumentError(absl::StrCat("'", call.model, "' has ",
                                                     model.outputs().size(),
                                                     " outputs; a model in an objective has one"));
    }
    if (model.inputs().size() != call.arguments.size()) {
      return absl::InvalidArgumentError(absl::StrCat(call.text, " has ", call.arguments.size(),
                                                     " arguments, the model has ",
                                                     model.inputs().size(), " inputs"));
    }
    // The layers of the model by their own names, and what stands for them here.
    std::map<std::string, std::string> names;
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      CAIRN_ASSIGN_OR_RETURN(names[model.inputs()[i].name],
                             AddArgument(call, call.arguments[i], part, model.inputs()[i]));
    }
    const std::string prefix = call.text + "/";
    const auto first = first_calls_.try_emplace(call.model, prefix);
    for (const proto::LayerSpec& layer : part.spec.layers()) {
      if (layer.inputs().empty()) continue;
      proto::LayerSpec* added = spec_.add_layers();
      *added = layer;
      added->set_name(prefix + layer.name());
      for (std::string& input : *added->mutable_inputs()) input = names.at(input);
      const std::string& shared = layer.shares().empty() ? layer.name() : layer.shares();
      if (!layer.shares().empty()) added->set_shares(prefix + layer.shares());
      if (!first.second) added->set_shares(first.first->second + shared);
      // A model that nothing trains is a fixed function.
      if (!part.is_trained) added->set_infers(true);
      names[layer.name()] = added->name();
      models_[added->name()] = call.model;
      union_names_[added->name()] = absl::StrCat(call.model, "/", layer.name());
    }
    calls_.emplace_back(call.model, call.text);
    return outputs_[call.text] = names.at(model.outputs()[0].name);
  }

  proto::ModelSpec& spec() { return spec_; }
  const std::vector<ModelProgram::Input>& inputs() const { return inputs_; }
  // By layer: the model that it belongs to, and its name in the union.
  const std::map<std::string, std::string>& models() const { return models_; }
  const std::map<std::string, std::string>& union_names() const { return union_names_; }
  // Model and text of each different call, arguments first.
  const std::vector<std::pair<std::string, std::string>>& calls() const { return calls_; }

 private:
  absl::StatusOr<std::string> AddArgument(const ModelExpression& call,
                                          const ModelExpression& argument, const Part& part,
                                          const nn::Model::Input& input) {
    nn::Shape shape = {argument.size};
    std::string layer = argument.text;
    if (argument.kind == ModelExpression::Kind::kCall) {
      CAIRN_ASSIGN_OR_RETURN(layer, Add(argument));
      shape = parts_.at(argument.model).model->output_shape();
    }
    if (argument.kind == ModelExpression::Kind::kData) {
      if (data_shape_.empty()) data_shape_ = input.spec.shape;
      shape = data_shape_;
    }
    if (shape != input.spec.shape) {
      return absl::InvalidArgumentError(
          absl::StrCat(argument.text, " has the shape ", nn::ShapeText(shape), ", the input '",
                       input.name, "' of '", call.model, "' is ", nn::ShapeText(input.spec.shape)));
    }
    if (input.spec.type != proto::FLOAT32) {
      return absl::InvalidArgumentError(absl::StrCat("the input '", input.name, "' of '",
                                                     call.model,
                                                     "' is not float32, as objectives need it"));
    }
    if (argument.kind == ModelExpression::Kind::kCall || !added_inputs_.insert(layer).second) {
      return layer;
    }
    const auto source = absl::c_find_if(part.spec.layers(), [&](const proto::LayerSpec& each) {
      return each.name() == input.name;
    });
    proto::LayerSpec* added = spec_.add_layers();
    *added = *source;
    added->set_name(layer);
    spec_.add_inputs(layer);
    inputs_.push_back({.noise_size = argument.size, .noise_stream = argument.stream});
    return layer;
  }

  const Parts& parts_;
  nn::Shape& data_shape_;
  proto::ModelSpec spec_;
  std::vector<ModelProgram::Input> inputs_;
  std::set<std::string> added_inputs_;
  std::map<std::string, std::string> outputs_;      // By text of a call.
  std::map<std::string, std::string> first_calls_;  // By model: the prefix of its first call.
  std::map<std::string, std::string> models_;
  std::map<std::string, std::string> union_names_;
  std::vector<std::pair<std::string, std::string>> calls_;
};

class ProgramBuilder {
 public:
  ProgramBuilder(const proto::Job& job, const nn::Model& model, Parts parts)
      : job_(job), model_(model), parts_(std::move(parts)), first_(FirstVariables(model)) {
    program_.objective_of.resize(model.variables().size(), -1);
    program_.statistic_steps.resize(model.variables().size(), 1);
  }

  absl::StatusOr<ModelProgram> Build() {
    for (int i = 0; i < job_.objectives_size(); ++i) {
      CAIRN_RETURN_IF_ERROR(AddObjective(i));
    }
    CAIRN_RETURN_IF_ERROR(SetData());
    return std::move(program_);
  }

 private:
  // What an objective has seen in the losses before.
  struct Seen {
    std::set<std::string> models;
    std::map<std::string, std::vector<std::string>> calls;  // By model.
  };

  absl::Status AddObjective(int index) {
    const proto::ModelObjective& said = job_.objectives(index);
    ModelProgram::Objective objective;
    objective.name = ObjectiveName(said);
    objective.every = said.has_every() ? said.every() : 1;
    const std::set<std::string> trains(said.trains().begin(), said.trains().end());
    Seen seen;
    std::vector<Composition> compositions;
    for (int i = 0; i < said.losses_size(); ++i) {
      const std::string path = absl::StrCat("objectives[", index, "].losses[", i, "]");
      CAIRN_RETURN_IF_ERROR(
          AddPass(path, said.losses(i), trains, &seen, &compositions, &objective));
    }
    // Only now the number of calls is known.
    for (size_t i = 0; i < objective.passes.size(); ++i) {
      WeighStatistics(compositions, i, seen, &objective.passes[i]);
    }
    for (size_t v = 0; v < model_.variables().size(); ++v) {
      const std::string& name = model_.variables()[v].name;
      const std::string model = name.substr(0, name.find('/'));
      if (!trains.contains(model) || model_.variables()[v].update == Update::kFrozen) continue;
      program_.objective_of[v] = index;
      program_.statistic_steps[v] = static_cast<int>(seen.calls[model].size());
      objective.variables.push_back(static_cast<int>(v));
    }
    program_.objectives.push_back(std::move(objective));
    return absl::OkStatus();
  }

  static absl::Status ExpectOneStatistic(const std::string& field, const nn::Model& pass) {
    for (const nn::Model::Node& node : pass.nodes()) {
      if (node.owner < 0 || node.statistic_weight == 0) continue;
      return BadField(field, "layer '", node.layer->name(), "' (", node.layer->class_name(),
                      "): is called several times, and moving averages take one value per pass: "
                      "freeze the layer, or call it with training=False");
    }
    return absl::OkStatus();
  }

  absl::Status AddPass(const std::string& path, const proto::ModelLoss& said,
                       const std::set<std::string>& trains, Seen* seen,
                       std::vector<Composition>* compositions, ModelProgram::Objective* objective) {
    const std::string of = path + ".of";
    const auto expression = ParseModelExpression(said.of());
    if (!expression.ok()) return BadField(of, expression.status().message());
    Composition& composition = compositions->emplace_back(parts_, &data_shape_);
    const auto output = composition.Add(*expression);
    if (!output.ok()) return BadField(of, output.status().message());
    proto::ModelSpec& spec = composition.spec();
    spec.set_name("pass");
    spec.add_outputs(*output);
    for (proto::LayerSpec& layer : *spec.mutable_layers()) {
      const auto model = composition.models().find(layer.name());
      if (model == composition.models().end() || !seen->models.contains(model->second)) continue;
      RemovePenalties(layer.mutable_config());
    }
    ModelProgram::Pass pass;
    auto model = nn::Model::Create(spec);
    if (!model.ok()) return BadField(of, model.status().message());
    pass.model = *std::move(model);
    CAIRN_RETURN_IF_ERROR(ExpectOneStatistic(of, *pass.model));
    pass.inputs = composition.inputs();
    CAIRN_RETURN_IF_ERROR(SetLoss(path, said, &pass));
    BindVariables(composition, trains, &pass);
    if (!absl::c_linear_search(pass.trained, true)) {
      return BadField(of, "calls none of the models that the objective trains (",
                      absl::StrJoin(trains, ", "), ")");
    }
    for (const auto& [name, text] : composition.calls()) {
      seen->models.insert(name);
      std::vector<std::string>& calls = seen->calls[name];
      if (!absl::c_linear_search(calls, text)) calls.push_back(text);
    }
    objective->passes.push_back(std::move(pass));
    return absl::OkStatus();
  }

  absl::Status SetLoss(const std::string& path, const proto::ModelLoss& said,
                       ModelProgram::Pass* pass) {
    auto created = nn::CreateLoss(said.loss());
    if (!created.ok()) return BadField(path + ".loss", created.status().message());
    std::unique_ptr<nn::Loss> loss = *std::move(created);
    const nn::Shape& output = pass->model->output_shape();
    if (const absl::Status fits = loss->ValidateOutput(output); !fits.ok()) {
      return BadField(path + ".loss", fits.message());
    }
    CAIRN_RETURN_IF_ERROR(SetTarget(path + ".target", said, *loss, pass));
    std::vector<nn::Objective::OutputLoss> losses;
    losses.push_back({.loss = std::move(loss), .weight = said.has_weight() ? said.weight() : 1});
    pass->objective = nn::Objective(std::move(losses), {});
    return absl::OkStatus();
  }

  absl::Status SetTarget(const std::string& path, const proto::ModelLoss& said,
                         const nn::Loss& loss, ModelProgram::Pass* pass) {
    const nn::Shape& output = pass->model->output_shape();
    if (said.target_array() == "labels") {
      pass->target = ModelProgram::Target::kLabels;
      if (pass->inputs.size() == 1 && pass->inputs[0].noise_size == 0)
        return SetLabels(path, said, *pass);
      return BadField(path, "\"labels\" belong to the data, and \"", said.of(),
                      "\" is not computed of data alone");
    }
    if (said.target_array() == "data") {
      pass->target = ModelProgram::Target::kData;
      if (data_shape_.empty()) {
        return BadField(path, "\"data\" is the input of no loss up to this one");
      }
      if (loss.label_type() != proto::FLOAT32) {
        return BadField(path, "loss ", loss.name(), " takes class numbers, not data");
      }
      const absl::Status fits = loss.ValidateShapes(output, data_shape_);
      return fits.ok() ? fits : BadField(path, fits.message());
    }
    pass->number = said.target();
    const double classes = output.empty() ? 1 : static_cast<double>(output.back());
    if (loss.label_type() == proto::INT32 && (said.target() != std::floor(said.target()) ||
                                              said.target() < 0 || said.target() >= classes)) {
      return BadField(path, said.target(), " is not a class number from 0 to ", classes - 1,
                      ", which loss ", loss.name(), " takes");
    }
    const bool is_probability =
        loss.name() == "binary_crossentropy" || loss.name() == "categorical_crossentropy";
    if (is_probability && (said.target() < 0 || said.target() > 1)) {
      return BadField(path, said.target(), " is not from 0 to 1, as loss ", loss.name(),
                      " needs it");
    }
    return absl::OkStatus();
  }

  // All losses with labels need them in the same form.
  absl::Status SetLabels(const std::string& path, const proto::ModelLoss& said,
                         const ModelProgram::Pass& pass) {
    auto loss = nn::CreateLoss(said.loss());
    if (!loss.ok()) return BadField(path, loss.status().message());
    if (program_.data_model == nullptr) {
      proto::ModelSpec spec;
      Composition composition(parts_, &data_shape_);
      CAIRN_ASSIGN_OR_RETURN(const ModelExpression expression, ParseModelExpression(said.of()));
      CAIRN_ASSIGN_OR_RETURN(const std::string output, composition.Add(expression));
      composition.spec().add_outputs(output);
      CAIRN_ASSIGN_OR_RETURN(program_.data_model, nn::Model::Create(composition.spec()));
      program_.data_objective = nn::Objective(*std::move(loss));
      return absl::OkStatus();
    }
    const nn::Loss& first = *program_.data_objective.losses()[0].loss;
    if (first.label_type() == (*loss)->label_type() &&
        first.LabelCount(program_.data_model->output_shape()) ==
            (*loss)->LabelCount(pass.model->output_shape())) {
      return absl::OkStatus();
    }
    return BadField(path, "another loss takes the labels in another form");
  }

  void BindVariables(const Composition& composition, const std::set<std::string>& trains,
                     ModelProgram::Pass* pass) const {
    const size_t count = pass->model->variables().size();
    pass->variables.resize(count, -1);
    pass->trained.resize(count, false);
    pass->statistic_weights.resize(count, 0);
    for (const nn::Model::Node& node : pass->model->nodes()) {
      if (node.owner >= 0) continue;
      const auto& variables = node.layer->variables();
      for (size_t v = 0; v < variables.size(); ++v) {
        const size_t place = node.first_variable + v;
        const std::string& name = composition.union_names().at(node.layer->name());
        pass->variables[place] = first_.at(name) + static_cast<int>(v);
        pass->trained[place] = trains.contains(composition.models().at(node.layer->name())) &&
                               variables[v].spec.update != Update::kFrozen;
      }
    }
  }

  static void WeighStatistics(const std::vector<Composition>& compositions, size_t index,
                              const Seen& seen, ModelProgram::Pass* pass) {
    for (const nn::Model::Node& node : pass->model->nodes()) {
      const auto& variables = node.layer->variables();
      for (size_t v = 0; v < variables.size(); ++v) {
        if (variables[v].spec.update != Update::kMovingAverage) continue;
        const std::string& model = compositions[index].models().at(node.layer->name());
        const std::vector<std::string>& calls = seen.calls.at(model);
        // A model with moving statistics is called once in a pass (ExpectOneStatistic).
        const auto text = absl::c_find_if(compositions[index].calls(), [&](const auto& call) {
                            return call.first == model;
                          })->second;
        const bool was_before = absl::c_any_of(
            absl::MakeConstSpan(compositions).first(index), [&](const Composition& earlier) {
              return absl::c_linear_search(earlier.calls(), std::pair(model, text));
            });
        pass->statistic_weights[node.first_variable + v] =
            was_before
                ? 0
                : nn::WeightOfCall(variables[v].spec.momentum, static_cast<int64_t>(calls.size()),
                                   absl::c_find(calls, text) - calls.begin());
      }
    }
  }

  absl::Status SetData() {
    if (program_.data_model != nullptr) return absl::OkStatus();
    proto::ModelSpec spec;
    proto::LayerSpec* input = spec.add_layers();
    input->set_name("data");
    input->set_class_name("InputLayer");
    auto* shape = (*input->mutable_config()->mutable_fields())["batch_shape"].mutable_list_value();
    shape->add_values()->set_null_value(google::protobuf::NULL_VALUE);
    for (const int64_t size : data_shape_)
      shape->add_values()->set_number_value(static_cast<double>(size));
    proto::LayerSpec* output = spec.add_layers();
    output->set_name("output");
    output->set_class_name("Activation");
    output->add_inputs("data");
    (*output->mutable_config()->mutable_fields())["activation"].set_string_value("linear");
    spec.add_inputs("data");
    spec.add_outputs("output");
    CAIRN_ASSIGN_OR_RETURN(program_.data_model, nn::Model::Create(spec));
    return absl::OkStatus();
  }

  const proto::Job& job_;
  const nn::Model& model_;
  const Parts parts_;
  const std::map<std::string, int> first_;
  nn::Shape data_shape_;
  ModelProgram program_;
};

}  // namespace

absl::StatusOr<ModelProgram> ModelProgram::Create(const proto::Job& job,
                                                  const proto::ModelSpec& spec,
                                                  const nn::Model& model) {
  CAIRN_ASSIGN_OR_RETURN(Parts parts, ReadParts(job, spec));
  return ProgramBuilder(job, model, std::move(parts)).Build();
}

namespace {

// Limits of exclude_from_weight_decay. The coordinator matches all names with all patterns at once.
// The cost of a name does not depend on the number of patterns, except of those with repetitions.
constexpr int kPatternsMax = 10000;
constexpr int kRepetitionsMax = 100;
constexpr size_t kPatternSizeMax = 1000;
constexpr int64_t kPatternsMemory = int64_t{64} << 20;
constexpr char kPatternsTooLarge[] =
    "the patterns need too much memory; use fewer, shorter or simpler ones";

// Matches names with all patterns in one pass.
absl::StatusOr<std::unique_ptr<re2::RE2::Set>> CompilePatterns(
    const std::string& field, const google::protobuf::RepeatedPtrField<std::string>& texts) {
  if (texts.size() > kPatternsMax) {
    return BadField(field, texts.size(), " patterns, the most are ", kPatternsMax,
                    "; use patterns that are in the names of several variables");
  }
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(kPatternsMemory);
  auto patterns = std::make_unique<re2::RE2::Set>(options, re2::RE2::UNANCHORED);
  int repetitions = 0;
  for (const std::string& text : texts) {
    if (text.size() > kPatternSizeMax) {
      return BadField(field, "'", text.substr(0, 20), "...' has ", text.size(),
                      " bytes, the most are ", kPatternSizeMax);
    }
    std::string error;
    if (patterns->Add(text, &error) < 0) {
      return BadField(field, "'", text, "' is no regular expression: ", error);
    }
    if (text.find_first_of("*+{") == std::string::npos) continue;
    if (++repetitions > kRepetitionsMax) {
      return BadField(field, "more than ", kRepetitionsMax,
                      " patterns contain *, + or {, the last is '", text,
                      "'; use patterns without them");
    }
  }
  if (!patterns->Compile()) return BadField(field, kPatternsTooLarge);
  return patterns;
}

// Gives the variables of optimizer `rule` that are excluded from its decay to one without decay.
absl::Status ExcludeFromDecay(const proto::Optimizer& config, const std::string& path, int rule,
                              const std::vector<nn::VariableSpec>& variables,
                              VariableRules* rules) {
  if (config.exclude_from_weight_decay().empty()) return absl::OkStatus();
  proto::Optimizer without_decay = config;
  without_decay.set_weight_decay(0);
  const int excluded = static_cast<int>(rules->optimizers.size());
  CAIRN_ASSIGN_OR_RETURN(rules->optimizers.emplace_back(), nn::CreateOptimizer(without_decay));
  const std::string field = absl::StrCat(path, ".exclude_from_weight_decay");
  const auto& texts = config.exclude_from_weight_decay();
  CAIRN_ASSIGN_OR_RETURN(const auto patterns, CompilePatterns(field, texts));
  std::vector<bool> matches(texts.size(), false);
  std::vector<int> matching;
  for (size_t v = 0; v < variables.size(); ++v) {
    if (rules->optimizer_of[v] != rule) continue;
    matching.clear();
    re2::RE2::Set::ErrorInfo error = {};
    if (patterns->Match(variables[v].name, &matching, &error)) {
      rules->optimizer_of[v] = excluded;
    } else if (error.kind != re2::RE2::Set::kNoError) {
      return BadField(field, kPatternsTooLarge);
    }
    for (const int pattern : matching) matches[pattern] = true;
  }
  const auto unused = std::find(matches.begin(), matches.end(), false);
  if (unused != matches.end()) {
    return BadField(field, absl::StrCat("'", texts[static_cast<int>(unused - matches.begin())],
                                        "' is in the name of no variable, such as ",
                                        variables.empty() ? "" : variables[0].name));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<VariableRules> VariableRules::Create(
    const proto::Job& job, const proto::ModelSpec& spec,
    const std::vector<nn::VariableSpec>& variables) {
  VariableRules rules;
  for (const nn::VariableSpec& variable : variables) rules.momentums.push_back(variable.momentum);
  rules.optimizer_of.resize(variables.size(), 0);
  if (!HasModels(job)) {
    CAIRN_ASSIGN_OR_RETURN(rules.optimizers.emplace_back(), nn::CreateOptimizer(job.optimizer()));
    CAIRN_RETURN_IF_ERROR(ExcludeFromDecay(job.optimizer(), "optimizer", 0, variables, &rules));
    return rules;
  }
  CAIRN_ASSIGN_OR_RETURN(const auto model, nn::Model::Create(spec));
  CAIRN_ASSIGN_OR_RETURN(const ModelProgram program, ModelProgram::Create(job, spec, *model));
  if (program.objective_of.size() != variables.size()) {
    return absl::InvalidArgumentError("the variables are not those of the job's models");
  }
  for (const proto::ModelObjective& objective : job.objectives()) {
    CAIRN_ASSIGN_OR_RETURN(rules.optimizers.emplace_back(),
                           nn::CreateOptimizer(objective.optimizer()));
  }
  for (size_t v = 0; v < variables.size(); ++v) {
    // Frozen variables have no optimizer, and any index will do.
    rules.optimizer_of[v] = std::max(0, program.objective_of[v]);
    rules.momentums[v] = std::pow(rules.momentums[v], program.statistic_steps[v]);
  }
  for (int i = 0; i < job.objectives_size(); ++i) {
    CAIRN_RETURN_IF_ERROR(ExcludeFromDecay(job.objectives(i).optimizer(),
                                           absl::StrCat("objectives[", i, "].optimizer"), i,
                                           variables, &rules));
  }
  return rules;
}

}  // namespace cairn::job
