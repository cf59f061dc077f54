#include "cluster/programs.h"

#include <filesystem>

#include "cli/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cluster {
namespace {

using ::testing::HasSubstr;

void MakeProgram(const std::string& path) {
  ASSERT_TRUE(cli::WriteFile(path, "#!/bin/sh\n").ok());
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
}

TEST(ProgramsTest, ProgramIsFoundBesideOrWhereABuildPutsIt) {
  const std::string top =
      std::filesystem::path(testing::TempDir() + "/programs_test").lexically_normal().string();
  MakeProgram(top + "/worker/worker");
  std::filesystem::create_directories(top + "/cli");
  EXPECT_EQ(*FindProgram(top + "/cli", "worker"), top + "/worker/worker");
  MakeProgram(top + "/cli/worker");
  EXPECT_EQ(*FindProgram(top + "/cli", "worker"), top + "/cli/worker");
}

TEST(ProgramsTest, MissingProgramIsAnErrorThatSaysHowToBuildIt) {
  EXPECT_THAT(std::string(FindProgram("/no/such", "worker").status().message()),
              HasSubstr("bazel build -c opt //worker"));
}

TEST(ProgramsTest, OwnFolderHoldsThisTest) {
  EXPECT_TRUE(std::filesystem::exists(*OwnFolder() + "/programs_test"));
}

}  // namespace
}  // namespace cairn::cluster
