#include "cluster/address.h"

#include <gtest/gtest.h>

namespace cairn::cluster {
namespace {

// tf_config_test has the invalid addresses and their messages.

TEST(AddressTest, ParsedAddressesRoundTrip) {
  for (const char* text : {"localhost:1", "10.0.0.7:65535", "[::1]:2222", "[fe80::1%eth0]:80",
                           "ps-0.cluster_a.example:2222"}) {
    const auto address = ParseAddress(text);
    ASSERT_TRUE(address.ok()) << address.status();
    EXPECT_EQ(address->ToString(), text);
  }
}

TEST(AddressTest, PortZeroIsAllowedOnlyOnRequest) {
  EXPECT_FALSE(ParseAddress("h:0").ok());
  EXPECT_EQ(ParseAddress("h:0", /*allow_port_zero=*/true)->port, 0);
}

TEST(AddressTest, BindAddressIsTheOwnInterface) {
  EXPECT_EQ(BindAddress({"localhost", 5}), "127.0.0.1:5");
  EXPECT_EQ(BindAddress({"127.0.0.1", 5}), "127.0.0.1:5");
  EXPECT_EQ(BindAddress({"::1", 5}), "[::1]:5");
  EXPECT_EQ(BindAddress({"10.0.0.7", 5}), "10.0.0.7:5");
  EXPECT_EQ(BindAddress({"0.0.0.0", 5}), "0.0.0.0:5");
  EXPECT_EQ(BindAddress({"ps-0.example", 5}), "ps-0.example:5");
}

TEST(AddressTest, LoopbackAddressesAreRecognized) {
  for (const char* const host :
       {"localhost", "127.0.0.1", "127.255.0.9", "::1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(IsLoopback({host, 5})) << host;
  }
  for (const char* const host : {"10.0.0.7", "0.0.0.0", "::", "fe80::1", "::ffff:10.0.0.7",
                                 "128.0.0.1", "ps-0.example", "127.example", "localhost.example"}) {
    EXPECT_FALSE(IsLoopback({host, 5})) << host;
  }
}

}  // namespace
}  // namespace cairn::cluster
