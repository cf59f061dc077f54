#include "worker/job_sources.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"
#include "tests/worker/data/tfrecord/example_bytes.h"
#include "tests/worker/line_plan.h"
#include "worker/data/batch_loader.h"
#include "worker/data/files/read_at.h"
#include "worker/job_data.h"
#include "worker/job_inspection.h"

namespace cairn::worker {
namespace {

using cairn::testing::NpyBytes;
using cairn::testing::Raw;
using cairn::testing::WriteDataFile;
using ::testing::HasSubstr;

// Which files of a job's data are opened, when, and that they are those that were inspected.

TEST(JobSourcesTest, OtherFilesThanTheInspectedOnesAreRefused) {
  const proto::JobPlan plan = Planned(LinePlan(TenNumbers("}")));
  WriteDataFile("ten.npy", NpyBytes("<f4", "(10, 1)", Raw(std::vector<float>(10, 1.0f))));
  EXPECT_THAT(OpenError(plan), HasSubstr("ten.npy: it is not the one that was inspected"));
}

TEST(JobSourcesTest, FilesOfAnInferenceHaveFingerprintsUnlessThePlanHasThem) {
  const auto fingerprints = [](const proto::JobPlan& plan, bool needs_labels) {
    const auto model = *nn::Model::Create(plan.model());
    auto files = FingerprintValidation(plan, *model, needs_labels);
    EXPECT_TRUE(files.ok()) << files.status();
    return *std::move(files);
  };
  const auto write = [](const std::string& value) {
    return WriteDataFile("print.npy", NpyBytes("<f4", "(1, 1)", value));
  };
  const std::string file = write("abcd");
  const proto::JobPlan plan =
      LinePlan(R"({"train": {"npy": {"features": [)" + Quoted(file) + R"(], "labels": [)" +
               Quoted(file) + R"(]}}, )" + R"("validation": {"npy": {"features": [)" +
               Quoted(file) + R"(], "labels": [)" + Quoted(file) + "]}}}");
  const auto inputs = fingerprints(plan, /*needs_labels=*/false);
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].first(), file);
  EXPECT_EQ(inputs[0].count(), 1);
  EXPECT_EQ(inputs[0].fingerprint(), fingerprints(plan, false)[0].fingerprint());
  EXPECT_EQ(fingerprints(plan, /*needs_labels=*/true).size(), 2u);
  write("abce");
  EXPECT_NE(inputs[0].fingerprint(), fingerprints(plan, false)[0].fingerprint());
  // Loading compares them with the plan.
  EXPECT_TRUE(fingerprints(Planned(plan), /*needs_labels=*/true).empty());
  const proto::JobPlan mixed =
      LinePlan(R"({"train": )" + MixOf("", "") + R"(, "validation": )" + MixOf("", "") + "}");
  EXPECT_EQ(fingerprints(mixed, /*needs_labels=*/true).size(), 4u);
  EXPECT_TRUE(fingerprints(Planned(mixed), /*needs_labels=*/true).empty());
}

TEST(JobSourcesTest, TheFingerprintsOfManyFilesAreFew) {
  std::string names;
  for (int i = 0; i < 300; ++i) {
    const std::string name = absl::StrCat("many", i, ".npy");
    absl::StrAppend(&names, i == 0 ? "" : ",",
                    Quoted(WriteDataFile(name, NpyBytes("<f4", "(1, 1)", "abcd"))));
  }
  const proto::JobPlan plan = LinePlan(R"({"train": {"npy": {"features": [)" + names + "]}}, " +
                                       R"("validation": {"npy": {"features": [)" + names + "]}}}");
  const auto files = FingerprintValidation(plan, **nn::Model::Create(plan.model()), false);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(files->size(), 150u);
  EXPECT_EQ(files->at(1).count(), 2);
  EXPECT_THAT(files->at(1).first(), ::testing::EndsWith("many2.npy"));
  const uint64_t before = files->back().fingerprint();
  WriteDataFile("many299.npy", NpyBytes("<f4", "(1, 1)", "abce"));
  const auto after = FingerprintValidation(plan, **nn::Model::Create(plan.model()), false);
  EXPECT_NE(after->back().fingerprint(), before);
  EXPECT_EQ(after->front().fingerprint(), files->front().fingerprint());
}

TEST(JobSourcesTest, MoreFilesThanWereInspectedAreRefused) {
  const std::string folder = ::testing::TempDir();
  for (const char* name : {"many1.csv", "many2.csv"}) WriteDataFile(name, "x,y\n1,2\n");
  std::remove((folder + "/many3.csv").c_str());
  const proto::JobPlan plan =
      Planned(LinePlan(R"({"train": {"csv": {"files": [)" + Quoted(folder + "/many*.csv") +
                       R"(], "labels": [{"name": "y"}]}}})"));
  EXPECT_EQ(plan.examples(), 2);
  WriteDataFile("many3.csv", "x,y\n1,2\n");
  EXPECT_THAT(OpenError(plan), HasSubstr("3 data files on this host, 2 when the job was planned"));
}

// Twenty files of three examples each: the numbers from 0, as features and as labels.
std::string TwentyFiles() {
  using namespace cairn::testing;  // NOLINT
  for (int file = 0; file < 20; ++file) {
    std::string bytes;
    for (int i = 0; i < 3; ++i) {
      const auto value = static_cast<float>(file * 3 + i);
      bytes +=
          RecordBytes(ExampleBytes({{"x", FloatsFeature({value})}, {"y", FloatsFeature({value})}}));
    }
    WriteDataFile("many-" + std::string(1, static_cast<char>('a' + file)) + ".tfrecord", bytes);
  }
  return R"({"train": {"tfrecord": {"files": [)" +
         Quoted(::testing::TempDir() + "/many-?.tfrecord") +
         R"(], "features": [{"name": "x"}], "labels": [{"name": "y"}]}})";
}

TEST(JobSourcesTest, OnlyFilesWhoseExamplesAreReadAreOpened) {
  const proto::JobPlan plan =
      Planned(LinePlan(TwentyFiles() + R"(, "validation_fraction": 0.25})"));
  EXPECT_EQ(plan.examples(), 45);
  ASSERT_EQ(plan.data().train_index_size(), 20);
  const uint64_t before = FilesOpened();
  const JobData data = Open(plan);
  EXPECT_EQ(FilesOpened(), before);
  // The validation examples are in the last five files.
  std::vector<float> wanted(15);
  std::iota(wanted.begin(), wanted.end(), 45.0f);
  EXPECT_EQ(InputsOf(*data.validation), wanted);
  const uint64_t five = FilesOpened() - before;
  EXPECT_GE(five, 5u);
  EXPECT_EQ(InputsOf(*data.train).size(), 45u);
  EXPECT_EQ(FilesOpened() - before, 4 * five);
}

TEST(JobSourcesTest, TheLoaderOpensTheFileOfALaterBatchMeanwhile) {
  const proto::JobPlan plan = Planned(LinePlan(TwentyFiles() + "}"));
  const JobData data = Open(plan);
  const auto read = [&](int64_t batch, std::optional<int64_t> later) {
    // A batch of three examples is a file. The loader's end waits for its readers.
    BatchLoader loader(data.train, BatchSampler(60, 3, /*shuffle=*/false, /*seed=*/1));
    const uint64_t before = FilesOpened();
    EXPECT_TRUE(loader.Get(batch, {}, later).ok());
    return before;
  };
  const uint64_t before = read(0, std::nullopt);
  const uint64_t one = FilesOpened() - before;
  EXPECT_GE(one, 1u);
  read(1, 10);
  EXPECT_EQ(FilesOpened() - before, 3 * one);
  read(10, 10);
  EXPECT_EQ(FilesOpened() - before, 3 * one) << "it was opened before";
  EXPECT_EQ(InputsOf(*data.train)[30], 30.0f);
}

TEST(JobSourcesTest, AFileThatCannotBeOpenedAheadIsAnErrorOnlyOfItsBatch) {
  const proto::JobPlan plan = Planned(LinePlan(TwentyFiles() + "}"));
  const JobData data = Open(plan);
  std::filesystem::remove(::testing::TempDir() + "/many-k.tfrecord");
  BatchLoader loader(data.train, BatchSampler(60, 3, /*shuffle=*/false, /*seed=*/1));
  for (int64_t batch = 0; batch < 10; ++batch) {
    EXPECT_TRUE(loader.Get(batch, {}, 10).ok()) << batch;
  }
  EXPECT_THAT(std::string(loader.Get(10, {}).status().message()), HasSubstr("many-k.tfrecord"));
}

// What workers find in `parts` parts of the training files, put together.
proto::DataSurvey SurveyOf(const proto::JobPlan& plan, uint32_t parts) {
  proto::DataSurvey all;
  for (uint32_t part = 0; part < parts; ++part) {
    proto::Inspect inspect = InspectOf(plan);
    inspect.set_stage(proto::Inspect::SURVEY);
    inspect.set_parts(parts);
    inspect.set_part(part);
    const proto::InspectReply reply = InspectJob(inspect, {});
    EXPECT_EQ(reply.error(), "");
    EXPECT_TRUE(reply.has_survey());
    EXPECT_EQ(reply.survey().part(), part);
    const proto::DamagedRecords damaged = reply.survey().damaged();
    const proto::DamagedRecords before = all.damaged();
    all.MergeFrom(reply.survey());
    if (before.count() > 0) all.mutable_damaged()->set_first_error(before.first_error());
    if (before.count() + damaged.count() > 0) {
      all.mutable_damaged()->set_count(before.count() + damaged.count());
    } else {
      all.clear_damaged();
    }
  }
  return all;
}

TEST(JobSourcesTest, FilesThatAreInspectedInPartsGiveTheSamePlan) {
  const std::string files = TwentyFiles();
  std::ifstream file(::testing::TempDir() + "/many-f.tfrecord", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(bytes.empty());
  bytes.back() ^= 1;  // Of the last record's checksum.
  WriteDataFile("many-f.tfrecord", bytes);
  for (const std::string& more :
       {std::string(R"(, "validation_fraction": 0.25})"), std::string("}")}) {
    std::string job = files + more;
    const size_t place = job.find(R"("labels")");
    ASSERT_NE(place, std::string::npos);
    // In "train", behind "tfrecord".
    job.insert(job.find("}}", place) + 1, R"(, "skip_damaged": 2, "standardize": true)");
    const proto::JobPlan plan = LinePlan(job);
    const proto::InspectReply whole = InspectJob(InspectOf(plan), {});
    ASSERT_EQ(whole.error(), "");
    EXPECT_EQ(whole.data().train_damaged().count(), 1);
    for (const uint32_t parts : {1, 3, 20, 33}) {
      proto::Inspect inspect = InspectOf(plan);
      *inspect.add_surveys() = SurveyOf(plan, parts);
      EXPECT_EQ(InspectJob(inspect, {}).SerializeAsString(), whole.SerializeAsString()) << parts;
    }
  }
}

TEST(JobSourcesTest, AnInspectionThatKnowsAllPartsOpensNoFile) {
  const proto::JobPlan plan = LinePlan(TwentyFiles() + "}");
  proto::Inspect inspect = InspectOf(plan);
  *inspect.add_surveys() = SurveyOf(plan, 4);
  const uint64_t before = FilesOpened();
  EXPECT_EQ(InspectJob(inspect, {}).examples(), 60);
  EXPECT_EQ(FilesOpened(), before);
}

TEST(JobSourcesTest, FilesThatChangeWhileTheyAreInspectedAreRefused) {
  const proto::JobPlan plan = LinePlan(TwentyFiles() + "}");
  proto::Inspect inspect = InspectOf(plan);
  *inspect.add_surveys() = SurveyOf(plan, 4);
  WriteDataFile("many-z.tfrecord", "");
  EXPECT_EQ(InspectJob(inspect, {}).error(),
            "job field train.tfrecord: the data files were changed while they were inspected, or "
            "this worker sees others: it has 21 files, and 20 were inspected");
  const std::string folder = ::testing::TempDir();
  std::filesystem::remove(folder + "/many-z.tfrecord");
  std::filesystem::rename(folder + "/many-b.tfrecord", folder + "/many-z.tfrecord");
  EXPECT_THAT(InspectJob(inspect, {}).error(), HasSubstr("it has 20 files with other names"));
  std::filesystem::rename(folder + "/many-z.tfrecord", folder + "/many-b.tfrecord");
}

// Another worker has made it.
TEST(JobSourcesTest, AnIndexThatCannotBeIsRefused) {
  const proto::JobPlan plan = Planned(LinePlan(TwentyFiles() + "}"));
  const std::vector<std::function<void(proto::DataPlan*)>> forgeries = {
      [](proto::DataPlan* data) { data->add_train_index()->set_examples(3); },
      [](proto::DataPlan* data) { data->mutable_train_index()->RemoveLast(); },
      [](proto::DataPlan* data) { data->clear_train_files(); },
      [](proto::DataPlan* data) { data->mutable_train_index(3)->set_examples(-1); },
      [](proto::DataPlan* data) { data->mutable_train_index(3)->set_examples(INT64_MAX); },
      [](proto::DataPlan* data) { data->mutable_train_index(3)->add_part_rows(3); },
      [](proto::DataPlan* data) {
        data->mutable_train_index(3)->add_part_rows(3);
        data->mutable_train_index(3)->add_part_examples(4);
      },
      [](proto::DataPlan* data) {
        data->mutable_train_index(3)->add_part_rows(-3);
        data->mutable_train_index(3)->add_part_examples(-3);
      },
  };
  for (size_t i = 0; i < forgeries.size(); ++i) {
    proto::JobPlan forged = plan;
    forgeries[i](forged.mutable_data());
    EXPECT_THAT(OpenError(forged), HasSubstr("the plan's index, of ")) << i;
  }
}

TEST(JobSourcesTest, MoreDamagedRecordsInAllPartsThanAreAllowedAreRefused) {
  const proto::JobPlan plan = LinePlan(TwentyFiles() + "}");
  proto::Inspect inspect = InspectOf(plan);
  *inspect.add_surveys() = SurveyOf(plan, 4);
  inspect.mutable_surveys(0)->mutable_damaged()->set_count(3);
  inspect.mutable_surveys(0)->mutable_damaged()->set_first_error("the first");
  EXPECT_EQ(
      InspectJob(inspect, {}).error(),
      "job field train.tfrecord: 3 damaged records, \"skip_damaged\" allows 0; the first: the "
      "first");
}

TEST(JobSourcesTest, OnlyDivisibleFilesAreInspectedInParts) {
  proto::Inspect inspect = InspectOf(LinePlan(TenNumbers("}")));
  inspect.set_stage(proto::Inspect::SURVEY);
  inspect.set_parts(2);
  EXPECT_THAT(InspectJob(inspect, {}).error(), HasSubstr("there is no part 0 of 2"));
  inspect = InspectOf(LinePlan(TwentyFiles() + "}"));
  inspect.set_stage(proto::Inspect::SURVEY);
  inspect.set_parts(2);
  inspect.set_part(2);
  EXPECT_THAT(InspectJob(inspect, {}).error(), HasSubstr("there is no part 2 of 2"));
}

TEST(JobSourcesTest, AnIndexedFileOfAnotherSizeIsNotTheOneThatWasInspected) {
  const proto::JobPlan plan = Planned(LinePlan(TwentyFiles() + "}"));
  WriteDataFile("many-c.tfrecord", "");
  EXPECT_THAT(OpenError(plan), HasSubstr("many-c.tfrecord: it has 0 bytes, and had "));
  WriteDataFile("many-y.tfrecord", "");
  EXPECT_THAT(OpenError(plan), HasSubstr("21 data files on this host, 20 when"));
  std::filesystem::remove(::testing::TempDir() + "/many-y.tfrecord");
}

}  // namespace
}  // namespace cairn::worker
