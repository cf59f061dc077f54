#include "tests/collectives/ranks.h"

#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/common/free_port.h"

namespace cairn::collectives::testing {

std::vector<std::string> FreeAddresses(int count) {
  std::vector<std::string> addresses;
  for (int i = 0; i < count; ++i) {
    addresses.push_back(absl::StrCat("127.0.0.1:", cairn::testing::FreePort()));
  }
  return addresses;
}

void RunRanks(int size, const std::function<void(Group* group)>& body, GroupOptions options) {
  options.addresses = FreeAddresses(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    options.rank = rank;
    threads.emplace_back([options, &body] {
      const auto group = Group::Join(options);
      ASSERT_TRUE(group.ok()) << group.status();
      body(group->get());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace cairn::collectives::testing
