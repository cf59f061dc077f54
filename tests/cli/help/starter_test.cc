#include "cli/help/starter.h"

#include <cmath>
#include <map>

#include "cli/files.h"
#include "cli/job_file.h"
#include "cli/model_reader.h"
#include "common/npy.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

std::map<std::string, std::string> Files() {
  std::map<std::string, std::string> files;
  for (const StarterFile& file : StarterFiles()) files[file.name] = file.contents;
  return files;
}

TEST(StarterTest, TheJobAndItsModelAreGood) {
  const std::string folder = testing::TempDir() + "/starter_test";
  for (const auto& [name, contents] : Files()) {
    ASSERT_TRUE(WriteFile(folder + "/" + name, contents).ok());
  }
  const auto job = ReadJobFile(folder + "/job.json");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->name(), "spirals");
  EXPECT_TRUE(ReadModelFile(job->model()).ok());
  for (const std::string& file :
       {job->train().npy().features(0), job->validation().npy().features(0)}) {
    EXPECT_TRUE(ReadFile(file).ok()) << file;
  }
}

TEST(StarterTest, PointsLieInTheUnitDiscAndTheirLabelsNameThreeArms) {
  auto files = Files();
  const std::string& x = files["train_x.npy"];
  const auto header = ParseNpyHeader(x, x.size());
  ASSERT_TRUE(header.ok()) << header.status();
  std::vector<float> points(static_cast<size_t>(header->element_count()));
  ASSERT_TRUE(
      DecodeNpyAsFloat(*header, x.substr(header->data_offset), absl::MakeSpan(points)).ok());
  for (size_t i = 0; i < points.size(); i += 2) EXPECT_LE(std::hypot(points[i], points[i + 1]), 1);

  const std::string& y = files["train_y.npy"];
  const auto labels_header = ParseNpyHeader(y, y.size());
  ASSERT_TRUE(labels_header.ok()) << labels_header.status();
  EXPECT_EQ(labels_header->shape[0], header->shape[0]);
  std::vector<int32_t> labels(static_cast<size_t>(labels_header->element_count()));
  ASSERT_TRUE(
      DecodeNpyAsInt32(*labels_header, y.substr(labels_header->data_offset), absl::MakeSpan(labels))
          .ok());
  std::map<int32_t, int> counts;
  for (const int32_t label : labels) ++counts[label];
  EXPECT_EQ(counts, (std::map<int32_t, int>{{0, 2000}, {1, 2000}, {2, 2000}}));
}

TEST(StarterTest, TrainingAndTestPointsDiffer) {
  auto files = Files();
  EXPECT_NE(files["train_x.npy"].substr(0, 400), files["test_x.npy"].substr(0, 400));
}

}  // namespace
}  // namespace cairn::cli
