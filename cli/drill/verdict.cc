#include "cli/drill/verdict.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace cairn::cli {
namespace {

// The ways in which the result is wrong.
std::vector<std::string> FindErrors(const TrainingResult& result,
                                    const std::optional<ValueComparison>& comparison) {
  if (!result.finished) return {"the job has no result: " + result.error};
  std::vector<std::string> errors;
  if (result.batches_done != result.total_batches) {
    errors.push_back(absl::StrCat(result.batches_done, " batches are counted as done, of ",
                                  result.total_batches));
  }
  if (result.applied_batches != result.total_batches) {
    errors.push_back(absl::StrCat("the ledger of the last checkpoint has ", result.applied_batches,
                                  " batches, of ", result.total_batches));
  }
  if (comparison && comparison->different > 0) {
    errors.push_back(absl::StrCat(
        comparison->different, " of ", comparison->values,
        " final values differ from the run without faults: ", comparison->first_difference));
  }
  return errors;
}

std::vector<std::string> FindGaps(const std::vector<FaultRecord>& faults) {
  std::vector<std::string> gaps;
  for (size_t i = 0; i < faults.size(); ++i) {
    const std::string name = absl::StrCat("fault ", i + 1, " (", FaultText(faults[i].fault), ")");
    if (!faults[i].at) {
      gaps.push_back(name +
                     " did not fire: the job ended before it; give the job more epochs, or "
                     "the drill a smaller --faults");
      continue;
    }
    if (faults[i].cut_short) {
      gaps.push_back(name +
                     " was cut short: the job ended while it lasted; give the job more epochs, or "
                     "the drill a smaller --faults");
      continue;
    }
    const FaultTraits& traits = TraitsOf(faults[i].fault.kind);
    const bool leaves_traces =
        traits.means == FaultMeans::kNetwork || traits.means == FaultMeans::kFailpoint;
    if (leaves_traces && faults[i].effects == 0) {
      gaps.push_back(name + " had no effect: nothing passed there while it lasted");
    } else if (traits.sign != FaultSign::kNone && !faults[i].to_notice) {
      gaps.push_back(name + " had no effect: the cluster did not notice it");
    }
  }
  return gaps;
}

}  // namespace

ValueComparison CompareBits(const std::vector<std::string>& names,
                            const std::vector<std::vector<float>>& values,
                            const std::vector<std::vector<float>>& expected) {
  ValueComparison comparison;
  for (size_t variable = 0; variable < names.size(); ++variable) {
    for (size_t i = 0; i < expected[variable].size(); ++i) {
      ++comparison.values;
      const float value = values[variable][i];
      const float wanted = expected[variable][i];
      if (std::bit_cast<uint32_t>(value) == std::bit_cast<uint32_t>(wanted)) continue;
      if (comparison.different++ == 0) {
        comparison.first_difference =
            absl::StrFormat("%s[%d] is %.9g, not %.9g", names[variable], i, value, wanted);
      }
    }
  }
  return comparison;
}

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return "passed";
    case Verdict::kWrong:
      return "wrong";
    case Verdict::kVoid:
      return "void";
  }
  return "";
}

Judgement Judge(const std::vector<FaultRecord>& faults, const TrainingResult& result,
                const std::optional<ValueComparison>& comparison) {
  Judgement judgement;
  const std::vector<std::string> errors = FindErrors(result, comparison);
  const std::vector<std::string> gaps = FindGaps(faults);
  judgement.verdict = !errors.empty() ? Verdict::kWrong
                      : !gaps.empty() ? Verdict::kVoid
                                      : Verdict::kPassed;
  judgement.findings = errors;
  judgement.findings.insert(judgement.findings.end(), gaps.begin(), gaps.end());
  if (!errors.empty()) return judgement;
  judgement.findings.push_back(
      absl::StrCat("each of ", result.total_batches, " batches is counted once"));
  judgement.findings.push_back(
      comparison ? absl::StrCat("all ", comparison->values,
                                " final values have the bits of the run without faults")
                 : "only the counts are compared: the bits of a job that is not synchronous "
                   "depend on the order of updates");
  return judgement;
}

}  // namespace cairn::cli
