#include "cli/model/job_files.h"

#include <filesystem>

#include "cli/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class JobFilesTest : public testing::Test {
 protected:
  JobFilesTest() {
    std::filesystem::remove_all(folder_);
    for (const char* name : {"x-1.npy", "x-2.npy", "y.npy", "other.npy"}) {
      EXPECT_TRUE(WriteFile(folder_ + name, name).ok());
    }
    EXPECT_TRUE(WriteFile(folder_ + "model/model.json", R"({"modelTopology": {},
        "weightsManifest": [{"paths": ["weights.bin"], "weights": []}]})")
                    .ok());
    EXPECT_TRUE(WriteFile(folder_ + "model/weights.bin", "").ok());
    job_.set_model(folder_ + "model/model.json");
    job_.mutable_train()->mutable_npy()->add_features(folder_ + "x-*.npy");
    job_.mutable_train()->mutable_npy()->add_labels(folder_ + "y.npy");
  }

  std::string Check(const std::string& output) {
    return std::string(CheckOverwritesNone("--trace", output, FilesOfJob(job_)).message());
  }

  const std::string folder_ = testing::TempDir() + "/job_files_test/";
  proto::Job job_;
};

TEST_F(JobFilesTest, DataModelAndItsWeightsAreNamedWithWhatWouldOverwriteThem) {
  EXPECT_EQ(Check(folder_ + "y.npy"), "--trace: " + folder_ + "y.npy would overwrite " + folder_ +
                                          "y.npy (the job's data); choose another file");
  EXPECT_THAT(Check(folder_ + "x-2.npy"), HasSubstr("the job's data"));
  EXPECT_THAT(Check(folder_ + "model/model.json"), HasSubstr("the job's model"));
  EXPECT_THAT(Check(folder_ + "model/weights.bin"), HasSubstr("the job's model"));
}

TEST_F(JobFilesTest, AnotherNameOfTheSameFileIsNoOtherFile) {
  std::filesystem::create_symlink("y.npy", folder_ + "link");
  std::filesystem::create_hard_link(folder_ + "y.npy", folder_ + "hard");
  for (const char* name : {"link", "hard", "model/../y.npy"}) {
    EXPECT_THAT(Check(folder_ + name), AllOf(HasSubstr(name), HasSubstr("y.npy (the job's data)")));
  }
}

TEST_F(JobFilesTest, OtherFilesMayBeOverwrittenAndNewOnesMade) {
  EXPECT_EQ(Check(folder_ + "other.npy"), "");
  EXPECT_EQ(Check(folder_ + "x-3.npy"), "");
  EXPECT_EQ(Check("/dev/null"), "");
  job_.set_model("/on/another/machine/model.json");
  EXPECT_EQ(Check(folder_ + "other.npy"), "");
}

TEST_F(JobFilesTest, AnExportGoesOverAnEarlierOneButNotOverTheJobsModel) {
  const nn::ExportFormat& format = *nn::FindExportFormat("");
  const auto check = [&](const std::string& name) {
    return CheckExportOverwritesNone("--output", format, folder_ + name, job_);
  };
  EXPECT_THAT(std::string(check("model").message()),
              HasSubstr("--output: " + folder_ + "model/weights.bin would overwrite"));
  EXPECT_TRUE(WriteFile(folder_ + "earlier/model.json", "{}").ok());
  EXPECT_TRUE(check("earlier").ok());
}

}  // namespace
}  // namespace cairn::cli
