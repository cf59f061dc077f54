#include "worker/data/encoded_rows.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"
#include "worker/data/files/load_file.h"

namespace cairn::worker {
namespace {

using cairn::testing::Raw;
using cairn::testing::WriteDataFile;
using ::testing::HasSubstr;

EncodedLayouts OneInput() { return {1, {{.type = ElementType::kFloat32}}}; }

EncodedFile Encoded(const std::vector<float>& values) {
  EncodedFile file;
  file.rows = {FileBytes::InMemory("d.x", Raw(values))};
  file.examples = static_cast<int64_t>(values.size());
  return file;
}

std::vector<float> Floats(const Array& array) {
  std::vector<float> values(array.rows());
  EXPECT_TRUE(array
                  .ForEachRow([&](int64_t row, const char* bytes) {
                    array.RowToFloats(bytes, 1, &values[row]);
                    return absl::OkStatus();
                  })
                  .ok());
  return values;
}

TEST(EncodedRowsTest, InputsAndLabelsGetTheirRows) {
  const EncodedLayouts layouts = {
      1, {{.type = ElementType::kFloat32, .row_shape = {2}}, {.type = ElementType::kInt32}}};
  EXPECT_EQ(layouts.row_bytes(0), 8);
  EXPECT_EQ(layouts.row_bytes(1), 4);
  EncodedFile file;
  file.rows = {FileBytes::InMemory("d.x", Raw<float>({1, 2, 3, 4})),
               FileBytes::InMemory("d.x", Raw<int32_t>({5, 6}))};
  file.examples = 2;
  SourceArrays all = ArraysOf(layouts);
  EXPECT_TRUE(all.checked);
  ASSERT_TRUE(AddRows(layouts, file, &all).ok());
  ASSERT_TRUE(AddRows(layouts, file, &all).ok());
  EXPECT_EQ(all.inputs[0].ToString(), "float32 (4, 2)");
  EXPECT_EQ(all.labels[0].ToString(), "int32 (4,)");
  EXPECT_EQ(Floats(all.labels[0]), (std::vector<float>{5, 6, 5, 6}));
}

TEST(EncodedRowsTest, InspectedFilesAreInTheIndexWithTheirDamage) {
  const std::vector<std::string> paths = {WriteDataFile("i0.x", "12345"),
                                          WriteDataFile("i1.x", "")};
  std::vector<EncodedFile> files = {Encoded({1, 2}), Encoded({3})};
  files[1].damaged.set_count(1);
  files[1].damaged.set_first_error("bad");
  files[1].damaged.add_places(0);
  SourceArrays all = ArraysOf(OneInput());
  ASSERT_TRUE(AddInspectedFiles(OneInput(), paths, files, &all).ok());
  EXPECT_EQ(Floats(all.inputs[0]), (std::vector<float>{1, 2, 3}));
  ASSERT_EQ(all.index.size(), 2u);
  EXPECT_EQ(all.index[0].examples(), 2);
  EXPECT_EQ(all.index[0].bytes(), 5u);
  EXPECT_EQ(all.index[1].examples(), 1);
  EXPECT_EQ(all.damaged.count(), 1);
  EXPECT_EQ(all.damaged.places(0), 2) << "behind those of the first file";
  EXPECT_TRUE(CheckDamage(all.damaged, 1).ok());
  EXPECT_EQ(CheckDamage(all.damaged, 0, "damaged text").message(),
            "1 damaged text, \"skip_damaged\" allows 0; the first: bad");
}

class DeferredRowsTest : public ::testing::Test {
 protected:
  // The error of reading the rows of a part, of which `read` returns two.
  absl::Status Read(int64_t planned, uint64_t fingerprint, const absl::Status& error) {
    SourceArrays all = ArraysOf(OneInput());
    DeferredPart part;
    part.files = {{path_, fingerprint}};
    part.examples = planned;
    part.read = [&]() -> absl::StatusOr<EncodedFile> {
      ++reads_;
      if (!error.ok()) return error;
      return Encoded({1, 2});
    };
    EXPECT_TRUE(AddDeferredRows(OneInput(), std::move(part), &all).ok());
    EXPECT_EQ(reads_, 0);
    EXPECT_EQ(all.inputs[0].rows(), planned);
    absl::Status status =
        all.inputs[0].ForEachRow([](int64_t, const char*) { return absl::OkStatus(); });
    if (!status.ok()) return status;
    return all.inputs[0].ForEachRow([](int64_t, const char*) { return absl::OkStatus(); });
  }

  const std::string path_ = WriteDataFile("d.x", "contents");
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

// A part of several files, of which any may have changed.
TEST_F(DeferredRowsTest, EachFileOfAPartIsThatOfThePlan) {
  const std::string other = WriteDataFile("e.x", "other");
  const uint64_t first = *FileFingerprint(path_);
  const uint64_t second = *FileFingerprint(other);
  for (const bool is_changed : {false, true}) {
    SourceArrays all = ArraysOf(OneInput());
    DeferredPart part;
    part.files = {{path_, first}, {other, second + is_changed}};
    part.examples = 2;
    part.read = [] { return Encoded({1, 2}); };
    ASSERT_TRUE(AddDeferredRows(OneInput(), std::move(part), &all).ok());
    const absl::Status status = all.inputs[0].OpenFiles({0});
    EXPECT_EQ(status.ok(), !is_changed) << status;
    if (!is_changed) continue;
    EXPECT_THAT(std::string(status.message()), HasSubstr("e.x: its contents"));
  }
}

TEST_F(DeferredRowsTest, OnlyTheFilesThatAreUsedAreRead) {
  const std::vector<std::string> paths = {path_, WriteDataFile("f.x", "other")};
  PlannedFiles planned;
  planned.index.resize(2);
  for (size_t i = 0; i < paths.size(); ++i) {
    planned.index[i].set_examples(2);
    planned.fingerprints.push_back(*FileFingerprint(paths[i]));
  }
  std::vector<std::string> read;
  SourceArrays all = ArraysOf(OneInput());
  ASSERT_TRUE(AddDeferredFiles(
                  OneInput(), paths, planned,
                  [&read](const std::string& path) {
                    read.push_back(path);
                    return Encoded({1, 2});
                  },
                  &all)
                  .ok());
  EXPECT_EQ(all.inputs[0].rows(), 4);
  EXPECT_TRUE(all.inputs[0].OpenFiles({3}).ok());
  EXPECT_EQ(read, std::vector<std::string>{paths[1]});
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
