#include "nn/config_arguments.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/nearest_name.h"
#include "google/protobuf/message.h"

namespace cairn::nn {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::max();

std::string RangeText(const ArgumentRange& range) {
  const bool above = range.ends == ArgumentRange::Ends::kAboveSmallest;
  const bool below = range.ends == ArgumentRange::Ends::kBelowLargest;
  if (range.largest == kUnlimited && range.smallest == 0) {
    return above ? "finite and greater than 0" : "finite and not negative";
  }
  if (range.largest == kUnlimited) return absl::StrCat("finite and at least ", range.smallest);
  if (range.smallest == -kUnlimited) return absl::StrCat("finite and at most ", range.largest);
  return absl::StrCat(above ? "above " : "from ", range.smallest, below ? " to below " : " to ",
                      range.largest);
}

}  // namespace

absl::Status CheckArguments(const google::protobuf::Message& config,
                            const std::vector<std::string>& known) {
  std::vector<const google::protobuf::FieldDescriptor*> given;
  config.GetReflection()->ListFields(config, &given);
  for (const google::protobuf::FieldDescriptor* field : given) {
    const std::string& name = field->name();
    if (name == "name" || std::find(known.begin(), known.end(), name) != known.end()) continue;
    return absl::InvalidArgumentError(
        known.empty()
            ? absl::StrCat("unknown argument '", name, "'; it has none")
            : absl::StrCat("unknown argument '", name, "'; ", KnownNamesText(name, known)));
  }
  return absl::OkStatus();
}

absl::Status CheckArgument(const std::string& name, double value, const ArgumentRange& range) {
  const bool at_end =
      (range.ends == ArgumentRange::Ends::kAboveSmallest && value == range.smallest) ||
      (range.ends == ArgumentRange::Ends::kBelowLargest && value == range.largest);
  if (std::isfinite(static_cast<float>(value)) && value >= range.smallest &&
      value <= range.largest && !at_end) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' is ", value, "; it must be ", RangeText(range)));
}

std::string SnakeCase(const std::string& name) {
  std::string snake;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool starts_word =
        absl::ascii_isupper(name[i]) && i > 0 && absl::ascii_islower(name[i - 1]);
    if (starts_word) snake += '_';
    snake += absl::ascii_tolower(name[i]);
  }
  return snake;
}

}  // namespace cairn::nn
