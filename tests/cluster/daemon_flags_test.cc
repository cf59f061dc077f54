#include "cluster/daemon_flags.h"

#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "cluster/daemon.h"
#include "cluster/rpc_channel.h"
#include "common/failpoint.h"
#include "common/flag_checks.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cluster {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

struct Parsed {
  std::optional<int> exit_code;
  std::string errors;
  std::string state = "here";
};

Parsed Parse(std::vector<const char*> words) {
  Parsed parsed;
  CLI::App app("Does things.", "some_daemon");
  app.set_version_flag("--version", "1.2");
  app.add_option("--state", parsed.state);
  int threads = 1;
  app.add_option("--threads", threads)->check(WholeNumber(1, 8));
  words.insert(words.begin(), "some_daemon");
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  parsed.exit_code = ParseDaemonFlags(&app, static_cast<int>(words.size()), words.data());
  ::testing::internal::GetCapturedStdout();
  parsed.errors = ::testing::internal::GetCapturedStderr();
  return parsed;
}

TEST(DaemonFlagsTest, ValidFlagsAreAccepted) {
  const Parsed parsed = Parse({"--state", "there", "--threads=3"});
  EXPECT_EQ(parsed.exit_code, std::nullopt);
  EXPECT_EQ(parsed.state, "there");
}

TEST(DaemonFlagsTest, HelpAndVersionExitWithZero) {
  EXPECT_EQ(Parse({"--help"}).exit_code, 0);
  EXPECT_EQ(Parse({"--version"}).exit_code, 0);
}

TEST(DaemonFlagsTest, ErrorsAreReportedInOneLine) {
  const struct {
    std::vector<const char*> words;
    std::string reason;
  } cases[] = {{{"--sate", "x"}, "there is no flag --sate (did you mean --state?)"},
               {{"--sate=x"}, "there is no flag --sate (did you mean --state?)"},
               {{"--qqqqqqqq"}, "there is no flag --qqqqqqqq"},
               {{"state"}, "\"state\" is not a flag; only flags are accepted"},
               {{"--state"}, "--state needs a value"},
               {{"--threads", "0"}, "--threads: \"0\" is not a whole number from 1 to 8"},
               {{"--failpoint", "journal.open=crash"},
                "--failpoint makes this process fail: add --unsafe_testing if that is wanted"},
               {{"--route", "h:1=h:2"},
                "--route makes this process fail: add --unsafe_testing if that is wanted"},
               {{"--unsafe_testing", "--route", "h:1"}, "--route: address \"\" is empty"},
               {{"--unsafe_testing", "--failpoint", "journal.opn=crash"},
                "--failpoint: there is no failpoint \"journal.opn\" (did you mean journal.open?)"}};
  for (const auto& one : cases) {
    const Parsed parsed = Parse(one.words);
    EXPECT_EQ(parsed.exit_code, kExitBadUsage);
    EXPECT_THAT(parsed.errors, StartsWith("some_daemon: " + one.reason));
    EXPECT_THAT(parsed.errors, EndsWith("; see some_daemon --help\n"));
  }
}

TEST(DaemonFlagsTest, EachFailpointFlagArmsOne) {
  const Parsed parsed = Parse({"--unsafe_testing", "--failpoint", "journal.open=error@2", "--state",
                               "there", "--failpoint=journal.sync=error"});
  EXPECT_EQ(parsed.exit_code, std::nullopt);
  EXPECT_EQ(parsed.state, "there");
  EXPECT_TRUE(CAIRN_FAILPOINT("journal.open").ok());
  EXPECT_FALSE(CAIRN_FAILPOINT("journal.open").ok());
  EXPECT_FALSE(CAIRN_FAILPOINT("journal.sync").ok());
  DisarmFailpoints();
}

TEST(DaemonFlagsTest, RoutesReplaceAddresses) {
  const Parsed parsed = Parse({"--unsafe_testing", "--route", "h:1=127.0.0.1:2"});
  EXPECT_EQ(parsed.exit_code, std::nullopt);
  EXPECT_EQ(RouteOf("h:1"), "127.0.0.1:2");
  EXPECT_EQ(RouteOf("h:3"), "h:3");
}

TEST(DaemonFlagsTest, AnAddressIsAHostAndAPort) {
  EXPECT_EQ(IsAddress()("host:80"), "");
  EXPECT_EQ(IsAddress()("host"),
            "address \"host\" has no port; write HOST:PORT, for example 10.0.0.7:2222 or "
            "[fe80::1]:2222");
}

}  // namespace
}  // namespace cairn::cluster
