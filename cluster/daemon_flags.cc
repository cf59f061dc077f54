#include "cluster/daemon_flags.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cluster/address.h"
#include "cluster/daemon.h"
#include "cluster/rpc_channel.h"
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
  std::string failpoint_file;
  std::vector<std::string> routes;
  app->add_flag("--unsafe_testing", unsafe_testing, "For tests: allow the flags below");
  app->add_option("--failpoint", failpoints,
                  "For tests: NAME=ACTION[@FIRST[-LAST]], see doc/faults.md; may be repeated")
      ->allow_extra_args(false);
  app->add_option("--failpoint_file", failpoint_file,
                  "For tests: a file of failpoints, one a line, which may change at any time");
  app->add_option("--route", routes,
                  "For tests: ADDRESS=ROUTE: connect to ROUTE in place of ADDRESS; may be repeated")
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
  const char* const testing_flag = !failpoints.empty()       ? "--failpoint"
                                   : !failpoint_file.empty() ? "--failpoint_file"
                                   : !routes.empty()         ? "--route"
                                                             : nullptr;
  if (testing_flag != nullptr && !unsafe_testing) {
    return BadUsage(
        *app, absl::StrCat(testing_flag,
                           " makes this process fail: add --unsafe_testing if that is wanted"));
  }
  for (const std::string& failpoint : failpoints) {
    if (const absl::Status armed = ArmFailpoint(failpoint); !armed.ok()) {
      return BadUsage(*app, absl::StrCat("--failpoint: ", armed.message()));
    }
  }
  if (!failpoint_file.empty()) ArmFailpointsOfFile(failpoint_file);
  for (const std::string& route : routes) {
    const std::pair<std::string, std::string> ends = absl::StrSplit(route, absl::MaxSplits('=', 1));
    for (const std::string& end : {ends.first, ends.second}) {
      if (const absl::Status parsed = ParseAddress(end).status(); !parsed.ok()) {
        return BadUsage(*app, absl::StrCat("--route: ", parsed.message()));
      }
    }
    RouteChannels(ends.first, ends.second);
  }
  return std::nullopt;
}

FlagCheck IsAddress() {
  return [](const std::string& text) { return std::string(ParseAddress(text).status().message()); };
}

}  // namespace cairn::cluster
