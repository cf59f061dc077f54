#include "nn/optimizers/create_rule.h"

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/config_arguments.h"
#include "nn/keras_words.h"
#include "nn/optimizers/adadelta.h"
#include "nn/optimizers/adagrad.h"
#include "nn/optimizers/adam.h"
#include "nn/optimizers/adamax.h"
#include "nn/optimizers/ftrl.h"
#include "nn/optimizers/lamb.h"
#include "nn/optimizers/lion.h"
#include "nn/optimizers/nadam.h"
#include "nn/optimizers/rmsprop.h"
#include "nn/optimizers/sgd.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

struct KnownRule {
  const char* name;
  double learning_rate;
  double weight_decay;
  std::vector<std::string> arguments;  // Besides those that every optimizer has.
  std::unique_ptr<OptimizerRule> (*create)(const proto::Optimizer&);
};

std::vector<KnownRule> KnownRules() {
  const std::vector<std::string> moments = {"beta_1", "beta_2", "epsilon"};
  const std::vector<std::string> adam = {"beta_1", "beta_2", "epsilon", "amsgrad"};
  return {
      {"sgd", 0.01, 0, {"momentum", "nesterov"}, CreateSgd},
      {"adam", 0.001, 0, adam, CreateAdam},
      {"adamw", 0.001, 0.004, adam, CreateAdam},
      {"nadam", 0.001, 0, moments, CreateNadam},
      {"adamax", 0.001, 0, moments, CreateAdamax},
      {"adagrad", 0.001, 0, {"initial_accumulator_value", "epsilon"}, CreateAdagrad},
      {"adadelta", 0.001, 0, {"rho", "epsilon"}, CreateAdadelta},
      {"rmsprop", 0.001, 0, {"rho", "momentum", "epsilon", "centered"}, CreateRmsprop},
      {"ftrl",
       0.001,
       0,
       {"learning_rate_power", "initial_accumulator_value", "l1_regularization_strength",
        "l2_regularization_strength", "l2_shrinkage_regularization_strength", "beta"},
       CreateFtrl},
      {"lion", 0.001, 0, {"beta_1", "beta_2"}, CreateLion},
      {"lamb", 0.001, 0, moments, CreateLamb},
  };
}

std::vector<std::string> WithCommonArguments(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "learning_rate");
  for (const char* common :
       {"weight_decay", "exclude_from_weight_decay", "clipvalue", "clipnorm", "global_clipnorm",
        "use_ema", "ema_momentum", "ema_overwrite_frequency"}) {
    arguments.push_back(common);
  }
  return arguments;
}

ArgumentRange RangeOf(const std::string& name) {
  using Ends = ArgumentRange::Ends;
  if (name == "momentum" || name == "rho" || name == "ema_momentum") return {.largest = 1};
  // At 1 the bias correction would divide by zero.
  if (name == "beta_1" || name == "beta_2") return {.largest = 1, .ends = Ends::kBelowLargest};
  if (name == "learning_rate_power") {
    return {.smallest = -std::numeric_limits<double>::max(), .largest = 0};
  }
  const bool clips = name == "clipvalue" || name == "clipnorm" || name == "global_clipnorm";
  if (clips || name == "ema_overwrite_frequency") return {.ends = Ends::kAboveSmallest};
  return {};
}

absl::Status CheckNumbers(const proto::Optimizer& config) {
  std::vector<const google::protobuf::FieldDescriptor*> given;
  const google::protobuf::Reflection& reflection = *config.GetReflection();
  reflection.ListFields(config, &given);
  for (const google::protobuf::FieldDescriptor* field : given) {
    double value = 0;
    if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_DOUBLE) {
      value = reflection.GetDouble(config, field);
    } else if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_INT64) {
      value = static_cast<double>(reflection.GetInt64(config, field));
    } else {
      continue;
    }
    CAIRN_RETURN_IF_ERROR(CheckArgument(field->name(), value, RangeOf(field->name())));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<NamedRule> CreateRule(const proto::Optimizer& config) {
  std::vector<std::string> names;
  for (const KnownRule& known : KnownRules()) {
    names.push_back(known.name);
    if (absl::AsciiStrToLower(config.name()) != known.name) continue;
    // In a job file the schedule is a form of learning_rate, not a separate argument.
    proto::Optimizer written = config;
    written.clear_learning_rate_schedule();
    CAIRN_RETURN_IF_ERROR(CheckArguments(written, WithCommonArguments(known.arguments)));
    CAIRN_RETURN_IF_ERROR(CheckNumbers(config));
    return NamedRule{known.create(config), known.learning_rate, known.weight_decay};
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown optimizer '", config.name(), "'; ",
                   UnknownNameText("optimizer", config.name(), names)));
}

}  // namespace cairn::nn
