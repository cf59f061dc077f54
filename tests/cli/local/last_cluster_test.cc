#include "cli/local/last_cluster.h"

#include <filesystem>

#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

TEST(LastClusterTest, TheNewestIsRememberedByItsAbsolutePath) {
  const std::string folder = testing::TempDir() + "/last_cluster_test/deep";
  ASSERT_TRUE(RememberLastCluster(folder, "/first").ok());
  EXPECT_EQ(LastCluster(folder), "/first");
  ASSERT_TRUE(RememberLastCluster(folder, "second").ok());
  EXPECT_EQ(LastCluster(folder), std::filesystem::current_path().string() + "/second");
}

TEST(LastClusterTest, WithoutAFolderNothingIsRemembered) {
  EXPECT_TRUE(RememberLastCluster("", "/state").ok());
  EXPECT_EQ(LastCluster(""), "");
  EXPECT_EQ(LastCluster("/no/such/folder"), "");
}

}  // namespace
}  // namespace cairn::cli
