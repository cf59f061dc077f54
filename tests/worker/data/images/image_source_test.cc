#include "worker/data/images/image_source.h"

#include <filesystem>
#include <fstream>

#include "common/failpoint.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nn/test_model.h"
#include "tests/worker/data/images/image_bytes.h"
#include "worker/data/files/load_file.h"
#include "worker/data/files/read_at.h"
#include "worker/data/source_arrays.h"

namespace cairn::worker {
namespace {

using cairn::testing::PngBytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class ImageSource : public ::testing::Test {
 protected:
  ImageSource()
      : model_(nn::testing::ModelOf({{"in", "InputLayer", R"({"batch_shape": [null, 2, 2, 1]})"},
                                     {"flat", "Flatten", "{}"},
                                     {"out", "Dense", R"({"units": 2})"}})) {
    fs::remove_all(root_);
    source_.mutable_images()->add_directory(root_);
    Write("ant/1.png", PngBytes(2, 2, 1, std::string(4, '\x01')));
    Write("ant/2.png", PngBytes(2, 2, 1, std::string(4, '\x02')));
    Write("bee/3.png", PngBytes(4, 4, 1, std::string(16, '\x03')));
    Write("bee/4.png", PngBytes(1, 9, 3, std::string(27, '\x04')));
  }

  void Write(const std::string& name, const std::string& bytes) {
    fs::create_directories(fs::path(root_ + "/" + name).parent_path());
    std::ofstream(root_ + "/" + name, std::ios::binary) << bytes;
  }

  absl::StatusOr<SourceArrays> Read(const PlannedFiles* planned, bool has_labels = true) {
    const auto files = ListFiles(source_, *model_, has_labels);
    if (!files.ok()) return files.status();
    std::vector<LabelSpec> labels;
    if (has_labels) labels.push_back({.type = proto::INT32, .least = 0, .most = 1});
    return ReadImages({source_, *files, plan_, *model_, labels, storage_.get(), planned});
  }

  PlannedFiles Planned() {
    const auto arrays = Read(nullptr);
    EXPECT_TRUE(arrays.ok()) << arrays.status();
    return {arrays->index, *FingerprintFiles(*ListFiles(source_, *model_)), storage_};
  }

  std::string Error() { return std::string(Read(nullptr).status().message()); }

  const std::string root_ = ::testing::TempDir() + "/image_source";
  std::unique_ptr<nn::Model> model_;
  proto::DataSource source_;
  proto::DataPlan plan_;
  std::shared_ptr<DataStorage> storage_ = std::make_shared<DataStorage>(DataStorage::Options());
};

// The first element of each row.
std::vector<float> Firsts(const Array& array) {
  std::vector<float> values;
  std::string scratch;
  std::vector<float> row(array.elements());
  for (int64_t i = 0; i < array.rows(); ++i) {
    const auto bytes = array.Row(i, &scratch);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    if (!bytes.ok()) return {};
    array.RowToFloats(*bytes, 1, row.data());
    values.push_back(row[0]);
  }
  return values;
}

TEST_F(ImageSource, EachImageIsARowWithTheNumberOfItsFolder) {
  const auto arrays = Read(nullptr);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(arrays->inputs[0].ToString(), "float32 (4, 2, 2, 1)");
  EXPECT_THAT(Firsts(arrays->inputs[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Firsts(arrays->labels[0]), ElementsAre(0, 0, 1, 1));
  ASSERT_EQ(arrays->index.size(), 4u);
  EXPECT_EQ(arrays->index[2].examples(), 1);
  // Many rows at a time.
  int64_t rows = 0;
  ASSERT_TRUE(arrays->inputs[0]
                  .ForEachRow([&](int64_t, const char*) {
                    ++rows;
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_EQ(rows, 4);
}

TEST_F(ImageSource, NearestRowsAreBytes) {
  source_.mutable_images()->set_interpolation("nearest");
  const auto arrays = Read(nullptr);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(arrays->inputs[0].ToString(), "uint8 (4, 2, 2, 1)");
  EXPECT_THAT(Firsts(arrays->inputs[0]), ElementsAre(1, 2, 3, 4));
}

TEST_F(ImageSource, ClassNamesOrderAndChooseTheFolders) {
  source_.mutable_images()->add_class_names("bee");
  source_.mutable_images()->add_class_names("ant");
  auto arrays = Read(nullptr);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_THAT(Firsts(arrays->inputs[0]), ElementsAre(3, 4, 1, 2));
  EXPECT_THAT(Firsts(arrays->labels[0]), ElementsAre(0, 0, 1, 1));
  source_.mutable_images()->mutable_class_names()->RemoveLast();
  arrays = Read(nullptr);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_THAT(Firsts(arrays->inputs[0]), ElementsAre(3, 4));
}

TEST_F(ImageSource, LabelsAreThoseOfTheClassesOfTheTrainingData) {
  fs::create_directories(root_ + "/aardvark");  // No image has this class.
  ASSERT_TRUE(InspectImages(source_, {}, &plan_).ok());
  EXPECT_THAT(plan_.vocabularies(0).names(), ElementsAre("aardvark", "ant", "bee"));
  EXPECT_THAT(Error(), HasSubstr("it has 3 class folders, labels from 0 to 1 expected"));
  plan_.mutable_vocabularies(0)->clear_names();
  plan_.mutable_vocabularies(0)->add_names("bee");
  plan_.mutable_vocabularies(0)->add_names("cat");
  EXPECT_THAT(Error(), HasSubstr("ant/1.png: its folder \"ant\" is none of the classes bee, cat"));
  plan_.mutable_vocabularies(0)->set_names(1, "ant");
  const auto arrays = Read(nullptr);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_THAT(Firsts(arrays->labels[0]), ElementsAre(1, 1, 0, 0));
  // Another order would give the classes other numbers.
  source_.mutable_images()->add_class_names("ant");
  source_.mutable_images()->add_class_names("bee");
  EXPECT_THAT(Error(), HasSubstr("class_names are ant, bee, those of the training data bee, ant"));
  source_.mutable_images()->mutable_class_names()->SwapElements(0, 1);
  EXPECT_TRUE(Read(nullptr).ok());
}

TEST_F(ImageSource, WithoutLabelsFoldersHaveNoMeaning) {
  Write("0.png", PngBytes(2, 2, 1, std::string(4, '\x09')));
  const auto arrays = Read(nullptr, /*has_labels=*/false);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_TRUE(arrays->labels.empty());
  EXPECT_THAT(Firsts(arrays->inputs[0]), ElementsAre(9, 1, 2, 3, 4));
}

TEST_F(ImageSource, OnlyImagesWhoseRowsAreReadAreOpenedAndOnlyOnce) {
  const PlannedFiles planned = Planned();
  const uint64_t before = FilesOpened();
  const auto arrays = Read(&planned);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(FilesOpened(), before);
  EXPECT_THAT(Firsts(arrays->labels[0]), ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(FilesOpened(), before);
  EXPECT_THAT(Firsts(arrays->inputs[0].Select(RowSelection::Range(1, 2))), ElementsAre(2));
  EXPECT_EQ(FilesOpened(), before + 1);
  EXPECT_THAT(Firsts(arrays->inputs[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Firsts(arrays->inputs[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(FilesOpened(), before + 4);
}

TEST_F(ImageSource, WithoutMemoryImagesAreDecodedAgain) {
  storage_ = std::make_shared<DataStorage>(DataStorage::Options{.memory_bytes = 4});
  const PlannedFiles planned = Planned();
  const auto arrays = Read(&planned);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  const uint64_t before = FilesOpened();
  for (int i = 0; i < 2; ++i) EXPECT_THAT(Firsts(arrays->inputs[0]), ElementsAre(1, 2, 3, 4));
  // The first image is kept.
  EXPECT_EQ(FilesOpened(), before + 7);
}

TEST_F(ImageSource, AnImageThatChangedSinceThePlanIsAnErrorWhenItIsRead) {
  const PlannedFiles planned = Planned();
  const auto arrays = Read(&planned);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  Write("ant/2.png", PngBytes(2, 2, 1, std::string(4, '\x07')));
  std::string scratch;
  EXPECT_TRUE(arrays->inputs[0].Row(0, &scratch).ok());
  const absl::Status status = arrays->inputs[0].Row(1, &scratch).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("ant/2.png: its contents are not those that were inspected"));
}

TEST_F(ImageSource, DamagedImagesAreSkippedUpToTheLimit) {
  Write("ant/2.png", "");
  Write("bee/3.png", PngBytes(4, 4, 1, std::string(16, '\x03')).substr(0, 50));
  EXPECT_THAT(Error(), HasSubstr("ant/2.png: "));
  source_.set_skip_damaged(1);
  EXPECT_THAT(Error(), HasSubstr("2 damaged images, \"skip_damaged\" allows 1; the first: "));
  source_.set_skip_damaged(2);
  const auto arrays = Read(nullptr);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(arrays->damaged.count(), 2);
  EXPECT_THAT(arrays->damaged.places(), ElementsAre(1, 2));
  EXPECT_THAT(arrays->damaged.first_error(), HasSubstr("ant/2.png"));
  const PlannedFiles planned = Planned();
  for (const PlannedFiles* plan : {static_cast<const PlannedFiles*>(nullptr), &planned}) {
    const auto rest = Read(plan);
    ASSERT_TRUE(rest.ok()) << rest.status();
    EXPECT_THAT(Firsts(rest->inputs[0]), ElementsAre(1, 4));
    EXPECT_THAT(Firsts(rest->labels[0]), ElementsAre(0, 1));
  }
}

TEST_F(ImageSource, CachedImagesAreKeptInTheSpoolFolder) {
  storage_ = std::make_shared<DataStorage>(
      DataStorage::Options{.memory_bytes = 4, .spool_folder = ::testing::TempDir()});
  source_.add_pipeline()->mutable_cache();
  const PlannedFiles planned = Planned();
  const auto arrays = Read(&planned);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  const uint64_t before = FilesOpened();
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Firsts(arrays->inputs[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(FilesOpened(), before + 4);
}

TEST_F(ImageSource, AFullSpoolFolderCostsOnlyTime) {
  storage_ = std::make_shared<DataStorage>(DataStorage::Options{
      .memory_bytes = 0, .spool_bytes = 4, .spool_folder = ::testing::TempDir()});
  source_.add_pipeline()->mutable_cache();
  const PlannedFiles planned = Planned();
  const auto arrays = Read(&planned);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Firsts(arrays->inputs[0]), ElementsAre(1, 2, 3, 4));
}

// Without the attempts the images are decoded in each epoch.
TEST_F(ImageSource, AfterAFailureTheSpoolFolderIsNotTriedAgain) {
  storage_ = std::make_shared<DataStorage>(
      DataStorage::Options{.memory_bytes = 0, .spool_folder = ::testing::TempDir()});
  source_.add_pipeline()->mutable_cache();
  const PlannedFiles planned = Planned();
  const auto arrays = Read(&planned);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  ASSERT_TRUE(ArmFailpoint("spool.write=error@1").ok());
  const uint64_t before = FilesOpened();
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Firsts(arrays->inputs[0]), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(FilesOpened(), before + 12);
  EXPECT_EQ(FailpointFired("spool.write"), 1);
  DisarmFailpoints();
}

TEST_F(ImageSource, ATableHasThePathsAndLabels) {
  const std::string table = root_ + "/table.csv";
  Write("table.csv", "class,x,filename\n10,0,bee/3.png\n9,0,ant/1.png\n9,0," + root_ +
                         "/ant/2.png\n10,0,ant/1.png\n");
  source_.mutable_images()->clear_directory();
  source_.mutable_images()->add_table(table);
  ASSERT_TRUE(InspectImages(source_, {}, &plan_).ok());
  EXPECT_THAT(plan_.vocabularies(0).names(), ElementsAre("9", "10"));
  const PlannedFiles planned = Planned();
  ASSERT_EQ(planned.index.size(), 5u);  // The last one is the table.
  EXPECT_EQ(planned.index[4].examples(), 0);
  for (const PlannedFiles* plan : {static_cast<const PlannedFiles*>(nullptr), &planned}) {
    const auto arrays = Read(plan);
    ASSERT_TRUE(arrays.ok()) << arrays.status();
    EXPECT_THAT(Firsts(arrays->inputs[0]), ElementsAre(3, 1, 2, 1));
    EXPECT_THAT(Firsts(arrays->labels[0]), ElementsAre(1, 0, 0, 1));
  }
  // Other labels of the same size.
  Write("table.csv", "class,x,filename\n10,0,bee/3.png\n9,0,ant/1.png\n9,0," + root_ +
                         "/ant/2.png\n10,1,ant/1.png\n");
  EXPECT_THAT(std::string(Read(&planned).status().message()),
              HasSubstr("table.csv: it is not the one that was inspected"));
  source_.mutable_images()->add_class_names("9");
  plan_.Clear();
  auto arrays = Read(nullptr);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_THAT(Firsts(arrays->inputs[0]), ElementsAre(1, 2));
  // Without labels, images stand beside tables.
  source_.mutable_images()->add_table(root_ + "/bee/4.png");
  arrays = Read(nullptr, /*has_labels=*/false);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  EXPECT_EQ(arrays->inputs[0].rows(), 5);
}

TEST_F(ImageSource, ATableWithoutItsColumnsIsNamed) {
  Write("table.tsv", "filename\tlabel\nant/1.png\ta\n");
  source_.mutable_images()->clear_directory();
  source_.mutable_images()->add_table(root_ + "/table.tsv");
  EXPECT_THAT(Error(), HasSubstr("table.tsv: it has no column \"class\", only filename, label; "
                                 "\"path_column\" and \"label_column\" name them"));
  source_.mutable_images()->set_label_column("label");
  EXPECT_TRUE(Read(nullptr).ok());
  Write("table.tsv", "filename\tlabel\n\ta\n");
  EXPECT_THAT(Error(), HasSubstr("column \"filename\": \"\" is not the path of an image"));
  Write("table.tsv", "filename\tlabel\n");
  EXPECT_THAT(Error(), HasSubstr("table.tsv: it has no row"));
}

}  // namespace
}  // namespace cairn::worker
