#include "worker/data/data_reader.h"

#include <new>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

using ::testing::ElementsAre;
using Files = std::vector<std::string>;

TEST(DataReaderTest, ResultsHaveTheOrderOfTheFiles) {
  const auto sizes =
      ReadAll<size_t>({"a", "bb", "ccc"}, [](const std::string& file) { return file.size(); });
  ASSERT_TRUE(sizes.ok());
  EXPECT_THAT(*sizes, ElementsAre(1, 2, 3));
}

TEST(DataReaderTest, TheFirstErrorOfManyIsReturned) {
  const auto read = [](const std::string& file) -> absl::StatusOr<int> {
    if (file == "good") return 1;
    return absl::InvalidArgumentError(file);
  };
  EXPECT_EQ(ReadAll<int>({"good", "bad", "worse"}, read).status().message(), "bad");
}

TEST(DataReaderTest, AFileThatDoesNotFitIntoMemoryIsNamed) {
  for (const Files& files : {Files{"a"}, Files{"a", "b"}}) {
    const auto results = ReadEach<int>(
        files, [](const std::string&) -> absl::StatusOr<int> { throw std::bad_alloc(); });
    EXPECT_TRUE(absl::IsResourceExhausted(results[0].status()));
    EXPECT_EQ(results[0].status().message(),
              "data file a: it does not fit into this worker's memory");
  }
}

TEST(DataReaderTest, AllFilesAreFeaturesLabelsAndWeights) {
  const SourceFiles files = {.features = {{"x"}, {"y"}}, .labels = {{"l"}}, .weights = {"w"}};
  EXPECT_THAT(files.All(), ElementsAre("x", "y", "l", "w"));
}

}  // namespace
}  // namespace cairn::worker
