#include "cli/local/ports.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

TEST(PortsTest, AddressesAreDifferent) {
  const auto addresses = ChooseAddresses({}, 20);
  ASSERT_TRUE(addresses.ok()) << addresses.status();
  EXPECT_EQ(std::set<std::string>(addresses->begin(), addresses->end()).size(), 20);
  EXPECT_THAT((*addresses)[0], testing::StartsWith("127.0.0.1:"));
}

TEST(PortsTest, FreePortsAreTakenAgainAndTakenOnesReplaced) {
  const auto first = ChooseAddresses({}, 2);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*ChooseAddresses(*first, 2), *first);
  // Both want the same port, which the first one gets.
  const auto clash = ChooseAddresses({(*first)[0], (*first)[0]}, 2);
  ASSERT_TRUE(clash.ok()) << clash.status();
  EXPECT_EQ((*clash)[0], (*first)[0]);
  EXPECT_NE((*clash)[1], (*first)[0]);
}

// Clusters that are started at the same moment, before any daemon listens.
TEST(PortsTest, ProcessesChooseDifferentPorts) {
  constexpr int kProcesses = 20;
  constexpr int kPorts = 20;
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto addresses = ChooseAddresses({"127.0.0.1:40001"}, kPorts);
      std::string text;
      if (addresses.ok()) {
        for (const std::string& address : *addresses) text += address + "\n";
      }
      const ssize_t written = write(pipes[1], text.data(), text.size());
      // Has its ports until it is killed.
      while (written > 0) pause();
      _exit(1);
    }
    children.push_back(child);
  }
  std::string all;
  char part[4096];
  while (std::count(all.begin(), all.end(), '\n') < kProcesses * kPorts) {
    const ssize_t count = read(pipes[0], part, sizeof(part));
    ASSERT_GT(count, 0);
    all.append(part, count);
  }
  for (const pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  const std::vector<std::string> chosen = absl::StrSplit(all, '\n', absl::SkipEmpty());
  EXPECT_EQ(std::set<std::string>(chosen.begin(), chosen.end()).size(), chosen.size());
}

TEST(PortsTest, WishesWithoutAPortAreReplaced) {
  const auto addresses = ChooseAddresses({"nonsense", "127.0.0.1:-5", "127.0.0.1:"}, 3);
  ASSERT_TRUE(addresses.ok()) << addresses.status();
  EXPECT_EQ(addresses->size(), 3);
}

}  // namespace
}  // namespace cairn::cli
