#include "nn/optimizers/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/config_arguments.h"
#include "nn/keras_words.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

using Config = proto::LearningRateSchedule;
using Function = std::function<double(double step)>;

Function Constant(const Config& config) {
  return [rate = config.initial_learning_rate()](double) { return rate; };
}

Function ExponentialDecay(const Config& config) {
  return [initial = config.initial_learning_rate(), steps = config.decay_steps(),
          rate = config.decay_rate(), staircase = config.staircase()](double step) {
    const double power = step / steps;
    return initial * std::pow(rate, staircase ? std::floor(power) : power);
  };
}

Function InverseTimeDecay(const Config& config) {
  return [initial = config.initial_learning_rate(), steps = config.decay_steps(),
          rate = config.decay_rate(), staircase = config.staircase()](double step) {
    const double times = step / steps;
    return initial / (1 + rate * (staircase ? std::floor(times) : times));
  };
}

Function PiecewiseConstantDecay(const Config& config) {
  return
      [boundaries = std::vector<double>(config.boundaries().begin(), config.boundaries().end()),
       values = std::vector<double>(config.values().begin(), config.values().end())](double step) {
        const auto next = std::lower_bound(boundaries.begin(), boundaries.end(), step);
        return values[next - boundaries.begin()];
      };
}

Function PolynomialDecay(const Config& config) {
  return [initial = config.initial_learning_rate(), steps = config.decay_steps(),
          end = config.has_end_learning_rate() ? config.end_learning_rate() : 0.0001,
          power = config.has_power() ? config.power() : 1.0, cycle = config.cycle()](double step) {
    const double cycles = cycle ? std::max(1.0, std::ceil(step / steps)) : 1;
    const double part = std::min(step, steps * cycles) / (steps * cycles);
    return (initial - end) * std::pow(1 - part, power) + end;
  };
}

double Cosine(double part) { return 0.5 * (1 + std::cos(std::numbers::pi * part)); }

Function CosineDecay(const Config& config) {
  const double from =
      config.has_warmup_target() ? config.warmup_target() : config.initial_learning_rate();
  return [from, steps = config.decay_steps(), alpha = config.alpha()](double step) {
    return from * ((1 - alpha) * Cosine(std::min(step, steps) / steps) + alpha);
  };
}

// A step's place in the sequence of periods whose lengths are 1, t_mul, t_mul^2, ... times the
// first period.
struct Period {
  double index = 0;
  double part = 0;  // The elapsed part of this period, in [0, 1).
};

Period FindPeriod(double periods, double t_mul) {
  if (t_mul == 1) return {std::floor(periods), periods - std::floor(periods)};
  const auto begin = [t_mul](double i) { return (std::pow(t_mul, i) - 1) / (t_mul - 1); };
  double index = std::floor(std::log(1 + periods * (t_mul - 1)) / std::log(t_mul));
  // Rounding of the logarithms may be off by one period at a period's first step.
  if (periods < begin(index)) --index;
  if (periods >= begin(index + 1)) ++index;
  return {index, (periods - begin(index)) / std::pow(t_mul, index)};
}

Function CosineDecayRestarts(const Config& config) {
  return [initial = config.initial_learning_rate(), steps = config.first_decay_steps(),
          t_mul = config.has_t_mul() ? config.t_mul() : 2.0,
          m_mul = config.has_m_mul() ? config.m_mul() : 1.0, alpha = config.alpha()](double step) {
    const Period period = FindPeriod(step / steps, t_mul);
    const double cosine = std::pow(m_mul, period.index) * Cosine(period.part);
    return initial * ((1 - alpha) * cosine + alpha);
  };
}

struct KnownSchedule {
  const char* name;
  std::vector<std::string> required;
  std::vector<std::string> optional;
  Function (*create)(const Config&);
};

std::vector<KnownSchedule> KnownSchedules() {
  return {
      {"constant", {"initial_learning_rate"}, {}, Constant},
      {"exponential_decay",
       {"initial_learning_rate", "decay_steps", "decay_rate"},
       {"staircase"},
       ExponentialDecay},
      {"inverse_time_decay",
       {"initial_learning_rate", "decay_steps", "decay_rate"},
       {"staircase"},
       InverseTimeDecay},
      {"piecewise_constant_decay", {"boundaries", "values"}, {}, PiecewiseConstantDecay},
      {"polynomial_decay",
       {"initial_learning_rate", "decay_steps"},
       {"end_learning_rate", "power", "cycle"},
       PolynomialDecay},
      {"cosine_decay",
       {"initial_learning_rate", "decay_steps"},
       {"alpha", "warmup_target"},
       CosineDecay},
      {"cosine_decay_restarts",
       {"initial_learning_rate", "first_decay_steps"},
       {"t_mul", "m_mul", "alpha"},
       CosineDecayRestarts},
  };
}

ArgumentRange RangeOf(const std::string& name) {
  using Ends = ArgumentRange::Ends;
  if (name == "decay_steps" || name == "first_decay_steps") return {.ends = Ends::kAboveSmallest};
  if (name == "t_mul") return {.smallest = 1};
  if (name == "alpha") return {.largest = 1};
  return {};
}

absl::Status CheckValues(const Config& config) {
  std::vector<const google::protobuf::FieldDescriptor*> given;
  const google::protobuf::Reflection& reflection = *config.GetReflection();
  reflection.ListFields(config, &given);
  for (const google::protobuf::FieldDescriptor* field : given) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_DOUBLE) continue;
    if (!field->is_repeated()) {
      CAIRN_RETURN_IF_ERROR(CheckArgument(field->name(), reflection.GetDouble(config, field),
                                          RangeOf(field->name())));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(config, field); ++i) {
      CAIRN_RETURN_IF_ERROR(CheckArgument(absl::StrCat(field->name(), "[", i, "]"),
                                          reflection.GetRepeatedDouble(config, field, i), {}));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPieces(const Config& config) {
  if (config.values_size() != config.boundaries_size() + 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'values' has ", config.values_size(), " numbers; for ", config.boundaries_size(),
        " boundaries it must have ", config.boundaries_size() + 1));
  }
  for (int i = 1; i < config.boundaries_size(); ++i) {
    if (config.boundaries(i) > config.boundaries(i - 1)) continue;
    return absl::InvalidArgumentError(absl::StrCat("'boundaries[", i, "]' is ",
                                                   config.boundaries(i),
                                                   "; each must be greater than the one before"));
  }
  return absl::OkStatus();
}

bool IsGiven(const Config& config, const std::string& name) {
  const auto* field = config.GetDescriptor()->FindFieldByName(name);
  return field->is_repeated() ? config.GetReflection()->FieldSize(config, field) > 0
                              : config.GetReflection()->HasField(config, field);
}

absl::Status CheckSchedule(const Config& config, const KnownSchedule& known) {
  std::vector<std::string> arguments = known.required;
  arguments.insert(arguments.end(), known.optional.begin(), known.optional.end());
  arguments.push_back("warmup_steps");
  CAIRN_RETURN_IF_ERROR(CheckArguments(config, arguments));
  for (const std::string& name : known.required) {
    if (!IsGiven(config, name)) {
      return absl::InvalidArgumentError(absl::StrCat("'", name, "' is missing"));
    }
  }
  CAIRN_RETURN_IF_ERROR(CheckValues(config));
  if (config.has_warmup_target() && !(config.warmup_steps() > 0)) {
    return absl::InvalidArgumentError("'warmup_target' needs 'warmup_steps'");
  }
  return IsGiven(config, "values") ? CheckPieces(config) : absl::OkStatus();
}

Function WithWarmup(Function schedule, const Config& config) {
  if (!(config.warmup_steps() > 0)) return schedule;
  const double begin = config.has_warmup_target() ? config.initial_learning_rate() : 0;
  const double peak = schedule(0);
  return [schedule = std::move(schedule), begin, peak, steps = config.warmup_steps()](double step) {
    if (step >= steps) return schedule(step - steps);
    return begin + (peak - begin) * (step / steps);
  };
}

}  // namespace

absl::Status CheckScheduleName(const std::string& name) {
  std::vector<std::string> names;
  for (const KnownSchedule& known : KnownSchedules()) {
    names.push_back(known.name);
    if (SnakeCase(name) == known.name) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown schedule '", name, "'; ", UnknownNameText("schedule", name, names)));
}

absl::StatusOr<LearningRate::Function> LearningRate::CreateSchedule(const Config& config) {
  absl::Status status = CheckScheduleName(config.name());
  for (const KnownSchedule& known : KnownSchedules()) {
    if (SnakeCase(config.name()) != known.name) continue;
    status = CheckSchedule(config, known);
    if (status.ok()) return WithWarmup(known.create(config), config);
    status =
        absl::InvalidArgumentError(absl::StrCat(known.name, ": ", std::string(status.message())));
  }
  return absl::InvalidArgumentError(absl::StrCat("learning_rate: ", std::string(status.message())));
}

absl::StatusOr<LearningRate> LearningRate::Create(const proto::Optimizer& config,
                                                  double default_rate) {
  if (config.has_learning_rate_schedule()) {
    if (config.has_learning_rate()) {
      return absl::InvalidArgumentError(
          "'learning_rate' is given as a number and as a schedule; keep one of them");
    }
    CAIRN_ASSIGN_OR_RETURN(Function function, CreateSchedule(config.learning_rate_schedule()));
    return LearningRate(std::move(function));
  }
  const double rate = config.has_learning_rate() ? config.learning_rate() : default_rate;
  return LearningRate([rate](double) { return rate; });
}

}  // namespace cairn::nn
