#include "nn/optimizer.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "nn/optimizers/adagrad.h"
#include "nn/optimizers/adam.h"
#include "nn/optimizers/sgd.h"
#include "proto/job.pb.h"

namespace cairn::nn {
namespace {

struct KnownOptimizer {
  const char* name;
  std::vector<std::string> arguments;
  std::unique_ptr<Optimizer> (*create)(const proto::Optimizer&);
};

std::vector<KnownOptimizer> KnownOptimizers() {
  return {
      {"sgd", {"learning_rate", "momentum", "nesterov"}, CreateSgd},
      {"adam", {"learning_rate", "beta_1", "beta_2", "epsilon"}, CreateAdam},
      {"adagrad", {"learning_rate", "initial_accumulator_value", "epsilon"}, CreateAdagrad},
  };
}

absl::Status CheckRange(const std::string& name, double value) {
  const char* range = "finite and not negative";
  bool in_range = std::isfinite(static_cast<float>(value)) && value >= 0;
  if (name == "momentum") {
    range = "from 0 to 1";
    in_range &= value <= 1;
  } else if (name == "beta_1" || name == "beta_2") {
    range = "from 0 to below 1";  // At 1 the bias correction divides by zero.
    in_range &= value < 1;
  }
  if (in_range) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' is ", value, "; it must be ", range));
}

absl::Status CheckArguments(const proto::Optimizer& config, const std::vector<std::string>& known) {
  std::vector<const google::protobuf::FieldDescriptor*> given;
  config.GetReflection()->ListFields(config, &given);
  for (const google::protobuf::FieldDescriptor* field : given) {
    if (field->name() == "name") continue;
    if (std::find(known.begin(), known.end(), field->name()) == known.end()) {
      return absl::InvalidArgumentError(absl::StrCat("unknown argument '", field->name(),
                                                     "'; known: ", absl::StrJoin(known, ", ")));
    }
    if (field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_DOUBLE) {
      CAIRN_RETURN_IF_ERROR(
          CheckRange(field->name(), config.GetReflection()->GetDouble(config, field)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Optimizer>> CreateOptimizer(const proto::Optimizer& config) {
  std::vector<std::string> names;
  for (const KnownOptimizer& known : KnownOptimizers()) {
    names.push_back(known.name);
    if (absl::AsciiStrToLower(config.name()) != known.name) continue;
    if (absl::Status status = CheckArguments(config, known.arguments); !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("optimizer ", known.name, ": ", std::string(status.message())));
    }
    return known.create(config);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown optimizer '", config.name(), "'; known: ", absl::StrJoin(names, ", ")));
}

}  // namespace cairn::nn
