#include "tests/end_to_end/bad_input/stage.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <filesystem>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "tests/end_to_end/bad_input/damage.h"
#include "tests/end_to_end/bad_input/good_project.h"

namespace cairn::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr seconds kPatienceOfOne(60);
constexpr char kProject[] = "project";

// Whether file permissions now apply to programs of root too.
bool GiveUpReadingEverything() {
  bool given_up = true;
  for (const int capability : {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH}) {
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    given_up = given_up && prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 0;
  }
  return given_up || geteuid() != 0;
}

std::vector<std::string> WordsOf(std::string_view command) {
  std::vector<std::string> words = absl::StrSplit(std::string(command), ' ');
  for (std::string& word : words) {
    if (word == R"("")") word.clear();
  }
  return words;
}

bool NamesCluster(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--state" || word == "--coordinator") return true;
  }
  return false;
}

}  // namespace

Stage::Stage() : can_forbid_(GiveUpReadingEverything()) {
  // Runs at the path that its copies will have, because the journal contains the paths.
  const std::string folder = folder_.path(kProject);
  WriteGoodProject(folder);
  const CommandResult run = RunCairn(
      {"run", folder + "/job.json", "--ps", "1", "--workers", "1", "--state", folder + "/state"});
  if (run.exit_code != 0) throw std::runtime_error("the good job does not run: " + run.errors);
  fs::rename(folder, folder_.path("good"));
  cluster_.StartAll();
}

Process::Options Stage::OptionsOf(const InputKind& kind, const BadCase& bad,
                                  const std::string& folder) {
  std::vector<std::string> words = WordsOf(bad.command.empty() ? kind.command : bad.command);
  const std::string program = words[0];
  if (kind.asks_cluster && program == "cairn" && !NamesCluster(words)) {
    words.insert(words.end(), {"--coordinator", cluster_.coordinator_address()});
  }
  words[0] = ProgramPath((program == "cairn" ? "cli" : program) + "/" + program);
  Process::Options options;
  options.arguments = std::move(words);
  options.environment = {{"XDG_STATE_HOME", folder_.path("user")},
                         {"TERM", "dumb"},
                         {"TF_CONFIG", ReadFile(folder + "/TF_CONFIG." + program)}};
  options.output_file = folder + ".out";
  options.error_file = folder + ".err";
  options.folder = folder;
  return options;
}

Outcome Stage::Provoke(const InputKind& kind, const BadCase& bad) {
  const std::string folder = folder_.path(kProject);
  fs::remove_all(folder);
  fs::remove(folder + ".err");
  fs::copy(folder_.path("good"), folder, fs::copy_options::recursive);
  for (const Step& step : bad.steps) Do(step, folder, cluster_.coordinator_address());
  const Process::Options options = OptionsOf(kind, bad, folder);
  Process process(options);
  Outcome outcome;
  outcome.exit_code = process.Wait(kPatienceOfOne).value_or(-1);
  process.Kill();
  // Only root could remove unreadable folders.
  for (const Step& step : bad.steps) {
    if (step.kind != Step::Kind::kForbid) continue;
    fs::permissions(folder + "/" + std::string(step.file), fs::perms::owner_all);
  }
  outcome.says = Neutral(ReadFile(options.error_file), folder);
  return outcome;
}

std::string Stage::Neutral(const std::string& errors, const std::string& folder) const {
  // The start of a log line: 2026-01-31T12:00:00.123+0000 error worker
  static const std::regex kInformation(R"(\d{4}-\d\d-\d\dT[0-9:.+-]+ info \w+ [^\n]*\n)");
  static const std::pair<std::regex, const char*> kReplacements[] = {
      {std::regex(R"(\d{4}-\d\d-\d\dT[0-9:.+-]+ (\w+) \w+ )"), "$1 "},
      {std::regex(R"(127\.0\.0\.1:\d{2,})"), "HOST:PORT"},
      {std::regex(R"(\bjob \d+\b)"), "job N"},
      {std::regex(R"(\bprocess \d+\b)"), "process N"},
      {std::regex(R"(\s+$)"), ""}};
  std::string text = std::regex_replace(errors, kInformation, "");
  text = absl::StrReplaceAll(text, {{folder + "/", ""}, {folder, "."}});
  for (const auto& [what, instead] : kReplacements) {
    text = std::regex_replace(text, what, instead);
  }
  return text;
}

std::string Stage::NextJob() {
  const CommandResult result =
      cluster_.Cairn({"submit", folder_.path("good/job.json"), "--follow"}, kPatienceOfOne);
  if (result.exit_code == 0) return "";
  return absl::StrCat("exit code ", result.exit_code, ": ", result.errors, cluster_.Logs());
}

}  // namespace cairn::testing
