#include "cli/local/ports.h"

#include <set>

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

TEST(PortsTest, WishesWithoutAPortAreReplaced) {
  const auto addresses = ChooseAddresses({"nonsense", "127.0.0.1:-5", "127.0.0.1:"}, 3);
  ASSERT_TRUE(addresses.ok()) << addresses.status();
  EXPECT_EQ(addresses->size(), 3);
}

}  // namespace
}  // namespace cairn::cli
