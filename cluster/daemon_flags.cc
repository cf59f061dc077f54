#include "cluster/daemon_flags.h"

#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "cluster/address.h"
#include "cluster/daemon.h"
#include "common/failpoint.h"
#include "common/nearest_name.h"

namespace cairn::cluster {
namespace {

std::string UnknownWord(const CLI::App& app, const std::string& word) {
  if (word.empty() || word[0] != '-') {
    return absl::StrCat("\"", word, "\" is not a flag; only flags are accepted");
  }
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) names.push_back(option->get_name());
  const std::string flag = word.substr(0, word.find('='));
  return absl::StrCat("there is no flag ", flag, DidYouMean(flag, names));
}

int BadUsage(const CLI::App& app, std::string_view reason) {
  std::fprintf(stderr, "%s: %s; see %s --help\n", app.get_name().c_str(),
               std::string(reason).c_str(), app.get_name().c_str());
  return kExitBadUsage;
}

}  // namespace

std::optional<int> ParseDaemonFlags(CLI::App* app, int argc, const char* const* argv) {
  bool unsafe_testing = false;
  std::vector<std::string> failpoints;
  app->add_flag("--unsafe_testing", unsafe_testing, "For tests: allow --failpoint");
  app->add_option("--failpoint", failpoints,
                  "For tests: NAME=ACTION[@FIRST[-LAST]], see doc/faults.md; may be repeated")
      ->allow_extra_args(false);
  try {
    app->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app->exit(error);
    const std::vector<std::string> left = app->remaining();
    const std::string reason =
        left.empty() ? FlagErrorText(error.what()) : UnknownWord(*app, left.front());
    return BadUsage(*app, reason);
  }
  if (!failpoints.empty() && !unsafe_testing) {
    return BadUsage(*app,
                    "--failpoint makes this process fail: add --unsafe_testing if that is wanted");
  }
  for (const std::string& failpoint : failpoints) {
    if (const absl::Status armed = ArmFailpoint(failpoint); !armed.ok()) {
      return BadUsage(*app, absl::StrCat("--failpoint: ", armed.message()));
    }
  }
  return std::nullopt;
}

FlagCheck IsAddress() {
  return [](const std::string& text) { return std::string(ParseAddress(text).status().message()); };
}

}  // namespace cairn::cluster
