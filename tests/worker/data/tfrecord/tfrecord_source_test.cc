#include "worker/data/tfrecord/tfrecord_source.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nn/test_model.h"
#include "tests/worker/data/data_files.h"
#include "tests/worker/data/tfrecord/example_bytes.h"
#include "worker/data/files/load_file.h"
#include "worker/data/files/read_at.h"

namespace cairn::worker {
namespace {

using cairn::testing::ExampleBytes;
using cairn::testing::IntsFeature;
using cairn::testing::RecordBytes;
using cairn::testing::WriteDataFile;
using ::testing::HasSubstr;

std::string Numbers(int64_t first, int64_t end) {
  std::string bytes;
  for (int64_t i = first; i < end; ++i) {
    bytes += RecordBytes(ExampleBytes({{"x", IntsFeature({i})}, {"y", IntsFeature({i % 2})}}));
  }
  return bytes;
}

class TfrecordSource : public ::testing::Test {
 protected:
  TfrecordSource()
      : model_(nn::testing::ModelOf({{"in", "InputLayer", R"({"batch_shape": [null, 1]})"},
                                     {"out", "Dense", R"({"units": 2})"}})) {
    source_.mutable_tfrecord()->add_features()->set_name("x");
    source_.mutable_tfrecord()->add_labels()->set_name("y");
    // The second file has no records.
    for (const std::string& bytes : {Numbers(0, 3), std::string(), Numbers(3, 5)}) {
      const std::string name = "s" + std::to_string(files_.features[0].size()) + ".tfrecord";
      files_.features[0].push_back(WriteDataFile(name, bytes));
    }
  }

  absl::StatusOr<SourceArrays> Read(const PlannedFiles* planned) {
    const std::vector<LabelSpec> labels = {{.type = proto::INT32, .least = 0, .most = 1}};
    return ReadTfrecord({source_, files_, plan_, *model_, labels, storage_.get(), planned});
  }

  PlannedFiles Planned() {
    const auto arrays = Read(nullptr);
    EXPECT_TRUE(arrays.ok()) << arrays.status();
    PlannedFiles planned{arrays->index, {}, storage_};
    for (const std::string& file : files_.features[0]) {
      planned.fingerprints.push_back(*FileFingerprint(file));
    }
    return planned;
  }

  std::unique_ptr<nn::Model> model_;
  proto::DataSource source_;
  SourceFiles files_{.features = {{}}};
  const proto::DataPlan plan_;
  std::shared_ptr<DataStorage> storage_ = std::make_shared<DataStorage>(DataStorage::Options());
};

float At(const Array& array, int64_t row) {
  std::string scratch;
  float value = -1;
  const auto bytes = array.Row(row, &scratch);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  if (bytes.ok()) array.RowToFloats(*bytes, 1, &value);
  return value;
}

TEST_F(TfrecordSource, FilesFollowEachOtherAndAreIndexed) {
  const auto arrays = Read(nullptr);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  ASSERT_EQ(arrays->inputs[0].rows(), 5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(At(arrays->inputs[0], i), i);
    EXPECT_EQ(At(arrays->labels[0], i), i % 2);
  }
  ASSERT_EQ(arrays->index.size(), 3u);
  EXPECT_EQ(arrays->index[0].examples(), 3);
  EXPECT_EQ(arrays->index[1].bytes(), 0u);
  EXPECT_EQ(arrays->index[2].examples(), 2);
}

TEST_F(TfrecordSource, OnlyFilesWhoseRowsAreReadAreOpenedAndOnlyOnce) {
  const PlannedFiles planned = Planned();
  const uint64_t before = FilesOpened();
  const auto arrays = Read(&planned);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(arrays->inputs[0].rows(), 5);
  EXPECT_EQ(FilesOpened(), before);
  EXPECT_EQ(At(arrays->inputs[0], 4), 4);
  const uint64_t of_one_file = FilesOpened() - before;
  EXPECT_GT(of_one_file, 0u);
  EXPECT_EQ(At(arrays->labels[0], 3), 1);
  EXPECT_EQ(At(arrays->inputs[0], 3), 3);
  EXPECT_EQ(FilesOpened(), before + of_one_file);
  EXPECT_EQ(At(arrays->inputs[0], 0), 0);
  EXPECT_EQ(FilesOpened(), before + 2 * of_one_file);
}

TEST_F(TfrecordSource, AFileThatChangedSinceThePlanIsAnErrorWhenItIsRead) {
  const PlannedFiles planned = Planned();
  const auto arrays = Read(&planned);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  WriteDataFile("s2.tfrecord", Numbers(13, 15));
  EXPECT_EQ(At(arrays->inputs[0], 0), 0);
  std::string scratch;
  const absl::Status status = arrays->inputs[0].Row(3, &scratch).status();
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("s2.tfrecord: its contents are not those that were inspected"));
}

TEST_F(TfrecordSource, MoreDamagedRecordsThanAllowedAreAnError) {
  std::string bytes = Numbers(0, 3);
  bytes[14] ^= 1;
  WriteDataFile("s0.tfrecord", bytes);
  const std::string cut = Numbers(3, 5);
  WriteDataFile("s2.tfrecord", cut.substr(0, cut.size() - 1));
  source_.set_skip_damaged(2);
  const auto arrays = Read(nullptr);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(arrays->damaged.count(), 2);
  EXPECT_THAT(arrays->damaged.places(), ::testing::ElementsAre(0, 4));
  EXPECT_THAT(arrays->damaged.first_error(), HasSubstr("s0.tfrecord, record 0 at byte 0"));
  EXPECT_EQ(arrays->inputs[0].rows(), 3);
  source_.set_skip_damaged(1);
  EXPECT_THAT(std::string(Read(nullptr).status().message()),
              HasSubstr("2 damaged records, \"skip_damaged\" allows 1; the first: data file "));
  source_.clear_skip_damaged();
  EXPECT_THAT(std::string(Read(nullptr).status().message()),
              HasSubstr("s0.tfrecord, record 0 at byte 0: its checksum is wrong"));
}

TEST_F(TfrecordSource, WithoutMemoryRowsAreInSpoolFiles) {
  storage_ = std::make_shared<DataStorage>(DataStorage::Options{.memory_bytes = 0});
  const PlannedFiles planned = Planned();
  const auto arrays = Read(&planned);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(At(arrays->inputs[0], i), i);
}

}  // namespace
}  // namespace cairn::worker
