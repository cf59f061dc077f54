#include "worker/data/features/deferred_rows.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nn/test_model.h"
#include "tests/worker/data/data_files.h"
#include "worker/data/files/load_file.h"

namespace cairn::worker {
namespace {

using cairn::testing::Raw;
using cairn::testing::WriteDataFile;
using ::testing::HasSubstr;

class DeferredRowsTest : public ::testing::Test {
 protected:
  DeferredRowsTest()
      : model_(nn::testing::ModelOf(
            {{"in", "InputLayer", R"({"batch_shape": [null, 1]})"}, {"out", "Flatten", "{}"}})) {
    FeatureSpecs features;
    features.Add()->set_name("x");
    encoder_ = std::make_shared<const FeatureEncoder>(
        features, FeatureSpecs(), proto::DataSource(), proto::DataPlan(), *model_,
        std::vector<LabelSpec>(), FeatureEncoder::Words());
    path_ = WriteDataFile("d.x", "contents");
  }

  // The error of reading the rows of a part, of which `read` returns two.
  absl::Status Read(int64_t planned, uint64_t fingerprint, const absl::Status& error) {
    SourceArrays all;
    all.inputs.resize(1);
    DeferredPart part{path_, planned, fingerprint, [&]() -> absl::StatusOr<FeatureEncoder::File> {
                        ++reads_;
                        if (!error.ok()) return error;
                        FeatureEncoder::File file;
                        file.rows = {FileBytes::InMemory("d.x", Raw<float>({1, 2}))};
                        file.examples = 2;
                        return file;
                      }};
    EXPECT_TRUE(AddDeferredRows(encoder_, std::move(part), &all).ok());
    EXPECT_EQ(reads_, 0);
    EXPECT_EQ(all.inputs[0].rows(), planned);
    absl::Status status =
        all.inputs[0].ForEachRow([](int64_t, const char*) { return absl::OkStatus(); });
    if (!status.ok()) return status;
    return all.inputs[0].ForEachRow([](int64_t, const char*) { return absl::OkStatus(); });
  }

  std::unique_ptr<nn::Model> model_;
  std::shared_ptr<const FeatureEncoder> encoder_;
  std::string path_;
  int reads_ = 0;
};

TEST_F(DeferredRowsTest, APartIsReadOnceAndAsItWasPlanned) {
  const uint64_t fingerprint = *FileFingerprint(path_);
  EXPECT_TRUE(Read(2, fingerprint, absl::OkStatus()).ok());
  EXPECT_EQ(reads_, 1);
  reads_ = 0;
  EXPECT_THAT(std::string(Read(3, fingerprint, absl::OkStatus()).message()),
              HasSubstr("it has 2 examples, not the 3 that were inspected"));
  reads_ = 0;
  const absl::Status damaged = Read(2, fingerprint, absl::InvalidArgumentError("damaged"));
  EXPECT_TRUE(absl::IsDataLoss(damaged)) << damaged;
  reads_ = 0;
  const absl::Status changed = Read(2, fingerprint + 1, absl::OkStatus());
  EXPECT_TRUE(absl::IsDataLoss(changed)) << changed;
  EXPECT_THAT(std::string(changed.message()), HasSubstr("d.x: its contents are not those that"));
}

TEST_F(DeferredRowsTest, FilesAreDeferredIfThePlanHasAllOfThem) {
  EXPECT_FALSE(IsIndexed(nullptr, 0));
  PlannedFiles planned;
  planned.storage = std::make_shared<DataStorage>(DataStorage::Options());
  EXPECT_FALSE(IsIndexed(&planned, 1));
  planned.index.resize(1);
  planned.fingerprints = {7};
  EXPECT_TRUE(IsIndexed(&planned, 1));
}

}  // namespace
}  // namespace cairn::worker
