#include "cluster/daemon_flags.h"

#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "cluster/address.h"
#include "cluster/daemon.h"
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

}  // namespace

std::optional<int> ParseDaemonFlags(CLI::App* app, int argc, const char* const* argv) {
  try {
    app->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app->exit(error);
    const std::vector<std::string> left = app->remaining();
    const std::string reason =
        left.empty() ? FlagErrorText(error.what()) : UnknownWord(*app, left.front());
    std::fprintf(stderr, "%s: %s; see %s --help\n", app->get_name().c_str(), reason.c_str(),
                 app->get_name().c_str());
    return kExitBadUsage;
  }
  return std::nullopt;
}

FlagCheck IsAddress() {
  return [](const std::string& text) { return std::string(ParseAddress(text).status().message()); };
}

}  // namespace cairn::cluster
