#include "worker/job_inspection.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/data_inspection.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "job/data_source.h"
#include "tests/nn/test_model.h"
#include "tests/worker/counting_plan.h"
#include "tests/worker/data/data_files.h"
#include "tests/worker/data/tfrecord/example_bytes.h"
#include "tests/worker/line_plan.h"
#include "worker/data/files/read_at.h"

namespace cairn::worker {
namespace {

using cairn::testing::WriteDataFile;
using ::testing::HasSubstr;

TEST(JobInspectionTest, InspectionCountsTheExamplesOfBothSources) {
  const proto::InspectReply reply =
      InspectJob(InspectOf(CountingPlan({.batches_per_epoch = 5, .validation = true})), {});
  EXPECT_EQ(reply.error(), "");
  EXPECT_EQ(reply.job_id(), 7u);
  EXPECT_EQ(reply.examples(), 20);
  EXPECT_EQ(reply.validation_examples(), 20);
  EXPECT_EQ(reply.data().train_files_size(), 2);
  EXPECT_EQ(reply.data().validation_files_size(), 2);
}

TEST(JobInspectionTest, AFilterThatKeepsNoRowOfACsvFileIsNamed) {
  const std::string csv = Quoted(WriteDataFile("none.csv", "x,y\n1,0\n"));
  const proto::JobPlan plan =
      LinePlan(R"({"train": {"csv": {"files": [)" + csv +
               R"(], "features": [{"name": "x"}], "labels": [{"name": "y"}]},
                  "pipeline": [{"filter": "x > 1"}, {"take": 1}]}})");
  EXPECT_EQ(InspectJob(InspectOf(plan), {}).error(),
            "job field train.csv: no row is left for which \"filter\" is true");
}

TEST(JobInspectionTest, WhatSourcesOfAMixtureMustShareIsNotFoundInOne) {
  const auto error_of = [](const std::string& csv) {
    const std::string file = Quoted(WriteDataFile("m.csv", "x,y\n1,a\n,b\n"));
    const auto plan = LinePlan(R"({"train": {"mix": [{"source": {"csv": {"files": [)" + file +
                               "], " + csv + "}}}]}}");
    return InspectJob(InspectOf(plan), {}).error();
  };
  EXPECT_EQ(error_of(R"("labels": [{"name": "x"}])"),
            "job field train: mix[0]: name the columns in \"features\": all sources of a mixture "
            "share them");
  EXPECT_EQ(
      error_of(R"("features": [{"name": "x"}], "labels": [{"name": "y", "categorical": true}])"),
      "job field train: mix[0]: list the \"vocabulary\" of \"y\": all sources of a mixture share "
      "it");
  EXPECT_EQ(
      error_of(R"("features": [{"name": "x", "missing": {"name": "mean"}}],
                        "labels": [{"name": "y", "vocabulary": ["a", "b"]}])"),
      "job field train: mix[0]: replace missing values of \"x\" by a number: all sources of a "
      "mixture share it");
  EXPECT_NE(
      error_of(R"("features": [{"name": "x"}], "labels": [{"name": "y", "vocabulary": ["a"]}])")
          .find("job field train: mix[0]: data file "),
      std::string::npos);
  const auto texts = LinePlan(R"({"train": {"mix": [{"source": {"text": {"files": [)" +
                              Quoted(WriteDataFile("m.txt", "a\tone two\n")) +
                              R"(], "class_names": ["a"], "text_vectorization": {}}}}]}})");
  EXPECT_EQ(InspectJob(InspectOf(texts), {}).error(),
            "job field train: mix[0]: list the \"vocabulary\" of \"text_vectorization\": all "
            "sources of a mixture share it");
}

TEST(JobInspectionTest, RowsBeyondTheDataAreRefused) {
  const proto::InspectReply reply =
      InspectJob(InspectOf(LinePlan(TenNumbers(R"(, "rows": [2, 11]})"))), {});
  EXPECT_EQ(reply.error(),
            "job field train.npy: \"rows\": [2, 11] are not among the 10 rows of the data; the end "
            "is at most 10");
}

TEST(JobInspectionTest, OnlyChosenRowsDecideVocabulariesAndMeans) {
  const std::string csv = Quoted(WriteDataFile("rows.csv", "x,k,y\n9,c,0\n1,b,0\n,a,0\n3,b,0\n"));
  proto::JobPlan plan = LinePlan(
      R"({"train": {"csv": {"files": [)" + csv +
      R"(], "labels": [{"name": "y"}], "features": [{"name": "x", "missing": {"name": "mean"}}]}, )"
      R"("rows": [1, 4]}})");
  const proto::InspectReply reply = InspectJob(InspectOf(plan), {});
  EXPECT_EQ(reply.error(), "");
  ASSERT_EQ(reply.data().fills_size(), 1);
  EXPECT_EQ(reply.data().fills(0).value(), 2);
  EXPECT_EQ(reply.examples(), 3);
}

TEST(JobInspectionTest, OnlyRowsOfThePipelineDecideVocabulariesAndMeans) {
  const std::string csv =
      Quoted(WriteDataFile("steps.csv", "x,k,y\n9,c,0\n1,b,0\n,a,0\n70,z,0\n3,b,0\n50,a,0\n"));
  const proto::JobPlan plan = LinePlan(R"({"train": {"csv": {"files": [)" + csv +
                                       R"(], "labels": [{"name": "k", "categorical": true}],
         "features": [{"name": "x", "missing": {"name": "mean"}}]},
         "pipeline": [{"filter": "k <> 'z'"}, {"skip": 1}]}, "validation_fraction": 0.25})");
  const proto::InspectReply reply = InspectJob(InspectOf(plan), {});
  EXPECT_EQ(reply.error(), "");
  ASSERT_EQ(reply.data().fills_size(), 1);
  EXPECT_EQ(reply.data().fills(0).value(), 2);
  EXPECT_EQ(reply.examples(), 3);
  EXPECT_EQ(reply.validation_examples(), 1);
  ASSERT_EQ(reply.data().vocabularies_size(), 1);
  EXPECT_THAT(reply.data().vocabularies(0).names(), ::testing::ElementsAre("a", "b", "c"));
}

TEST(JobInspectionTest, InspectionSaysWhichSourceIsWrong) {
  proto::Inspect inspect = InspectOf(CountingPlan({.validation = true}));
  inspect.mutable_job()->mutable_validation()->mutable_npy()->set_features(0, "/gone.npy");
  const proto::InspectReply reply = InspectJob(inspect, {});
  EXPECT_THAT(reply.error(), ::testing::StartsWith("job field validation.npy: "));
  EXPECT_THAT(reply.error(), HasSubstr("/gone.npy"));
}

// Both the survey, which looks for names and means, and the reading find something.
TEST(JobInspectionTest, InspectionSaysAllThatIsWrongWithACsvFile) {
  const std::string train = WriteDataFile("wrong.csv", "x,y\n1,a\n\"2,5\",b\n3\n4,a\n,\n");
  const proto::JobPlan plan = LinePlan(R"({"train": {"csv": {"files": [)" + Quoted(train) + R"(],
      "features": [{"name": "x", "missing": {"name": "mean"}}, {"name": "z"}],
      "labels": [{"name": "y", "categorical": true}]}}, "validation_fraction": 0.5})");
  EXPECT_EQ(InspectJob(InspectOf(plan), {}).error(),
            "job field train.csv: the model's input 'in' takes 1 value per example, the data give "
            "2: columns \"x\", \"z\"; data file " +
                train +
                ": 4 problems: (1) it has no column \"z\"; it has \"x\", \"y\"; (2) line 3, column "
                "\"x\": \"2,5\" looks like a number with a decimal comma; numbers have a decimal "
                "point: write 2.5; (3) line 4: 1 field where the first line has 2; is the "
                "delimiter another, or a quote missing?; (4) line 6, column \"y\": \"\" is a "
                "missing value; leave the line out, or set \"missing\": \"NAME\"");
}

TEST(JobInspectionTest, AFractionThatLeavesNothingIsRefused) {
  const auto refusal = [](const char* fraction) {
    return InspectJob(InspectOf(LinePlan(
                          TenNumbers(R"(}, "validation_fraction": )" + std::string(fraction)))),
                      {})
        .error();
  };
  EXPECT_EQ(
      refusal("0.95"),
      "job field train.npy: validation_fraction: 0.95 of 10 examples leaves none for training");
}

TEST(JobInspectionTest, StepsAreCheckedOnNormalizedValues) {
  const auto error_of = [](int first, const std::string& cast) {
    const std::string numbers = NumbersFrom(first, 10);
    return InspectJob(InspectOf(LinePlan(R"({"train": )" + numbers +
                                         R"(, "pipeline": [{"normalize": {}}, {"cast": ")" + cast +
                                         R"("}]}})")),
                      {})
        .error();
  };
  // The normalized values are from -4.5 / sqrt(8.25), about -1.57, to 1.57.
  EXPECT_EQ(error_of(1000, "int8"), "");
  EXPECT_THAT(error_of(100, "uint8"), HasSubstr("row 0: pipeline step \"cast\": the value -1 does "
                                                "not fit into uint8"));
}

TEST(JobInspectionTest, StepsOfTfrecordAreCheckedBeforeTheJobStarts) {
  using namespace cairn::testing;  // NOLINT
  const std::string file = WriteDataFile(
      "steps.tfrecord",
      RecordBytes(ExampleBytes({{"x", FloatsFeature({1})}, {"y", FloatsFeature({0})}})));
  const auto error_of = [&](const std::string& deviation, bool is_whole) {
    proto::JobPlan plan = LinePlan(R"({"train": {"tfrecord": {"files": [)" + Quoted(file) +
                                   R"(], "features": [{"name": "x"}], "labels": [{"name": "y"}]},
                    "pipeline": [{"normalize": {"mean": [0], "deviation": [)" +
                                   deviation + "]}}]}}");
    if (is_whole) {
      *plan.mutable_model() = nn::testing::SpecOf(
          {{"in", "InputLayer", R"({"batch_shape": [null, 1], "dtype": "int32"})"},
           {"ids", "Embedding", R"({"input_dim": 4, "output_dim": 1})"},
           {"out", "Flatten"}});
    }
    return InspectJob(InspectOf(plan), {}).error();
  };
  EXPECT_EQ(error_of("2", false), "");
  EXPECT_EQ(error_of("0.5", true), "");
  EXPECT_THAT(error_of("2", true), ::testing::EndsWith("the value 0.5 is not a whole number"));
  EXPECT_THAT(error_of("1e-45", false),
              HasSubstr("after the pipeline, element 0 is inf, not a finite float32"));
}

// How often a file with one array is opened.
constexpr size_t kOpensOfArray = 3;

// The last reply of an inspection by so many workers. Of the files that they do not divide,
// `others` are opened for it.
proto::InspectReply InspectTogether(const proto::JobPlan& plan, uint32_t workers,
                                    size_t others = 1000) {
  proto::JobRecord record;
  record.set_job_id(plan.job_id());
  *record.mutable_model() = plan.model();
  std::vector<coordinator::TaskId> tasks;
  for (uint32_t i = 0; i < workers; ++i) tasks.push_back(coordinator::WorkerTask(i));
  coordinator::DataInspection inspection(1);
  while (true) {
    coordinator::Outbox outbox;
    inspection.Advance(record, plan.job(), tasks, &outbox);
    if (outbox.commands.empty()) break;
    for (const auto& sending : outbox.commands) {
      const uint64_t before = FilesOpened();
      proto::InspectReply reply = InspectJob(sending.command.inspect(), {});
      if (inspection.asked_for_all() && sending.command.inspect().surveys_size() > 0) {
        EXPECT_LE(FilesOpened() - before, job::SurveyedSources(plan.job()).size() + others)
            << "but for the names of the columns of each source, all is known";
      }
      if (inspection.asked_for_all() || !reply.error().empty()) return reply;
      EXPECT_FALSE(reply.has_data());
      const absl::Status status = inspection.OnPart(sending.task, reply);
      EXPECT_TRUE(status.ok()) << status;
    }
  }
  ADD_FAILURE() << "the inspection has no end";
  return {};
}

void ExpectSame(const std::string& job, size_t others = 0) {
  SCOPED_TRACE(job);
  const proto::JobPlan plan = LinePlan(job);
  const proto::InspectReply alone = InspectTogether(plan, 1);
  ASSERT_EQ(alone.error(), "");
  EXPECT_GT(alone.examples(), 10);
  for (const uint32_t workers : {2, 3, 8}) {
    EXPECT_EQ(InspectTogether(plan, workers, others).ShortDebugString(), alone.ShortDebugString())
        << workers << " workers";
  }
}

// The names of files of 1, 4, 7, 10 and 13 rows, some of them without a row that is valid.
std::string CsvFiles(const std::string& damaged_rows) {
  std::string files;
  for (int file = 0; file < 5; ++file) {
    std::string text = "x,y\n";
    for (int row = 0; row <= 3 * file; ++row) {
      absl::StrAppend(&text, file * 0.1 + row * row / 7.0, ",", row % 3, "\n");
    }
    if (file % 2 == 1) text += damaged_rows;
    absl::StrAppend(&files, file == 0 ? "" : ", ",
                    Quoted(WriteDataFile(absl::StrCat("part", file, ".csv"), text)));
  }
  return files;
}

TEST(JobInspectionTest, WorkersTogetherFindInCsvWhatOneFinds) {
  const std::string csv =
      R"({"train": {"csv": {"files": [)" + CsvFiles("") + R"(], "labels": [{"name": "y"}]})";
  for (const char* const more : {
           R"(, "standardize": true}, "validation_fraction": 0.3, "validation_choice": "random"})",
           R"(, "pipeline": [{"filter": "x > 0.2"}, {"take": 20}, {"normalize": {}}]}})",
           R"(, "pipeline": [{"normalize": {}}]}, "validation_fraction": 0.3})",
           R"(, "pipeline": [{"skip": 3}]}})",
           R"(}})",
       }) {
    ExpectSame(csv + more);
  }
}

// Files of 1, 4, 7, 10 and 13 rows; "k" has other names in each file, "x" misses numbers.
std::string CsvFilesOfNames() {
  std::string files;
  for (int file = 0; file < 5; ++file) {
    std::string text = "x,k,y\n";
    for (int row = 0; row <= 3 * file; ++row) {
      const std::string x = row % 3 == 1 ? "" : absl::StrCat(file * 0.1 + row / 7.0);
      absl::StrAppend(&text, x, ",", file, "-", row % 4, ",", row % 2 == 0 ? "no" : "yes", "\n");
    }
    absl::StrAppend(&files, file == 0 ? "" : ", ",
                    Quoted(WriteDataFile(absl::StrCat("names", file, ".csv"), text)));
  }
  return files;
}

// Workers search their parts for what the job leaves open.
TEST(JobInspectionTest, WorkersTogetherFindNamesAndMeans) {
  for (const char* const features :
       {R"([{"name": "x", "missing": {"name": "mean"}}])",
        R"([{"name": "k", "categorical": true, "missing": {"name": "none"}}])"}) {
    const std::string csv = R"({"train": {"csv": {"files": [)" + CsvFilesOfNames() +
                            R"(], "features": )" + features +
                            R"(, "labels": [{"name": "y", "categorical": true}]})";
    for (const char* const more : {
             R"(}, "validation_fraction": 0.3, "validation_choice": "random"})",
             R"(, "pipeline": [{"filter": "k <> '2-1'"}, {"take": 20}]}})",
             R"(, "pipeline": [{"skip": 3}, {"normalize": {}}]}})",
             R"(, "rows": [5, 22]}, "validation_fraction": 0.3})",
             R"(}})",
         }) {
      ExpectSame(csv + more);
    }
  }
}

TEST(JobInspectionTest, WorkersTogetherRefuseWhatOneRefuses) {
  std::string files;
  for (int file = 0; file < 3; ++file) {
    std::string text = "x,y\n";
    for (int row = 0; row < 30'000; ++row) absl::StrAppend(&text, ",", file, " ", row, "-name\n");
    absl::StrAppend(&files, file == 0 ? "" : ", ",
                    Quoted(WriteDataFile(absl::StrCat("large", file, ".csv"), text)));
  }
  const auto error_of = [&](const std::string& columns, uint32_t workers) {
    return InspectTogether(
               LinePlan(R"({"train": {"csv": {"files": [)" + files + "], " + columns + "}}}"),
               workers)
        .error();
  };
  for (const uint32_t workers : {1, 2, 3}) {
    // No part has too many names.
    EXPECT_THAT(error_of(R"("features": [{"name": "x", "missing": {"value": 0}}],
                            "labels": [{"name": "y", "categorical": true}])",
                         workers),
                HasSubstr("the job's vocabularies are larger than 1024 KiB"))
        << workers;
    EXPECT_THAT(error_of(R"("features": [{"name": "x", "missing": {"name": "mean"}}],
                            "labels": [{"name": "x", "missing": {"value": 0}}])",
                         workers),
                HasSubstr("column \"x\""))
        << workers;
  }
}

std::string TextFiles() {
  std::string files;
  for (int file = 0; file < 5; ++file) {
    std::string text;
    for (int row = 0; row <= 3 * file; ++row) {
      absl::StrAppend(&text, row % 2 == 0 ? "9" : "10", "\tthe cat no ", row % 5, " of ", file,
                      " sat\n");
    }
    absl::StrAppend(&files, file == 0 ? "" : ", ",
                    Quoted(WriteDataFile(absl::StrCat("texts", file, ".txt"), text)));
  }
  return files;
}

TEST(JobInspectionTest, WorkersTogetherFindClassesAndTokens) {
  for (const char* const vectorization :
       {R"({"output_sequence_length": 1})", R"({"output_sequence_length": 1, "max_tokens": 6})"}) {
    const std::string texts = R"({"train": {"text": {"files": [)" + TextFiles() +
                              R"(], "text_vectorization": )" + vectorization + "}";
    for (const char* const more : {R"(}, "validation_fraction": 0.3})", R"(, "skip_damaged": 1}})",
                                   R"(, "pipeline": [{"take": 17}]}})", R"(}})"}) {
      ExpectSame(texts + more);
    }
  }
}

TEST(JobInspectionTest, WorkersTogetherSkipTheSameDamagedRecords) {
  for (const char* const more : {R"(, "standardize": true)", ""}) {
    ExpectSame(R"({"train": {"csv": {"files": [)" + CsvFiles("1,2,3\nabc,1\n") +
               R"(], "labels": [{"name": "y"}]}, "skip_damaged": 4)" + more + "}}");
  }
}

// Validation data take from the training data what these leave open.
TEST(JobInspectionTest, WorkersTogetherInspectValidationData) {
  const std::string names = R"({"csv": {"files": [)" + CsvFilesOfNames() +
                            R"(], "features": [{"name": "x", "missing": {"name": "mean"}}],
                               "labels": [{"name": "y", "categorical": true}]}})";
  ExpectSame(R"({"train": )" + names + R"(, "validation": )" + names + "}");
  const std::string numbers = R"({"csv": {"files": [)" + CsvFiles("1,2,3\n") +
                              R"(], "labels": [{"name": "y"}]}, "skip_damaged": 2})";
  ExpectSame(R"({"train": )" + numbers + R"(, "validation": )" + numbers + "}");
  ExpectSame(R"({"train": )" + NumbersFrom(0, 20) + R"(}, "validation": )" + numbers + "}",
             2 * kOpensOfArray);
}

TEST(JobInspectionTest, WorkersTogetherInspectTheSourcesOfAMixture) {
  const std::string csv = R"({"source": {"csv": {"files": [)" + CsvFiles("1,2,3\n") +
                          R"(], "features": [{"name": "x"}], "labels": [{"name": "y"}]},
                             "skip_damaged": 2}})";
  const std::string mix =
      R"({"mix": [)" + csv + R"(, {"source": )" + NumbersFrom(0, 20) + "}}, " + csv + "]}";
  ExpectSame(R"({"train": )" + mix + "}", 2 * kOpensOfArray);
  ExpectSame(R"({"train": )" + mix + R"(, "validation": )" + mix + "}", 4 * kOpensOfArray);
}

// What the training data leave open says nothing about a mixture, whose sources leave nothing open.
TEST(JobInspectionTest, WorkersTogetherInspectAMixtureBesideOpenTrainingData) {
  const auto csv_of = [](const char* label) {
    return R"({"csv": {"files": [)" + CsvFilesOfNames() +
           R"(], "features": [{"name": "x", "missing": {"value": 1}}], "labels": [{"name": "y", )" +
           label + "}]}}";
  };
  ExpectSame(R"({"train": )" + csv_of(R"("categorical": true)") +
             R"(, "validation": {"mix": [{"source": )" +
             csv_of(R"("categorical": true, "vocabulary": ["no", "yes"])") + "}]}}");
}

// The columns are those of the first file, not of the first one of each part.
TEST(JobInspectionTest, WorkersTogetherTakeTheColumnsOfTheFirstFile) {
  std::string files;
  for (const char* const text : {"x,y\n1,0\n", "x,y,note\n2,0,9\n", "note,y,x\n9,1,3\n"}) {
    files += (files.empty() ? "" : ", ") +
             Quoted(WriteDataFile(absl::StrCat("columns", files.size(), ".csv"), text));
  }
  const auto csv_of = [](const std::string& names) {
    return R"({"csv": {"files": [)" + names + R"(], "labels": [{"name": "y"}]}})";
  };
  const std::string numbers = R"({"train": )" + NumbersFrom(0, 20) + R"(}, "validation": )";
  ExpectSame(numbers + csv_of(files) + "}", 2 * kOpensOfArray);
  const std::string other = Quoted(WriteDataFile("columns_other.csv", "z,y\n1,0\n"));
  const proto::JobPlan wrong = LinePlan(numbers + csv_of(files + ", " + other) + "}");
  for (const uint32_t workers : {1, 2, 3}) {
    EXPECT_THAT(InspectTogether(wrong, workers).error(), HasSubstr("it has no column \"x\""));
  }
}

TEST(JobInspectionTest, WorkersTogetherInspectTheSourcesOfAZip) {
  const std::string labels = Quoted(WriteDataFile(
      "labels35.npy",
      cairn::testing::NpyBytes("<f4", "(35, 1)", cairn::testing::Raw(std::vector<float>(35)))));
  const auto zip_of = [&](const std::string& column) {
    return R"({"zip": [{"source": {"npy": {"labels": [)" + labels + R"(]}}, "outputs": ["out"]},
                       {"source": {"csv": {"files": [)" +
           CsvFilesOfNames() + R"(], "features": [)" + column + R"(]}}, "inputs": ["in"]}]})";
  };
  const std::string given = zip_of(R"({"name": "x", "missing": {"value": 7}})");
  ExpectSame(R"({"train": )" + given + R"(, "validation": )" + given + "}", 2 * kOpensOfArray);
  ExpectSame(R"({"train": )" + given + R"(, "validation_fraction": 0.3})", kOpensOfArray);
  // One worker finds the mean.
  const std::string open = zip_of(R"({"name": "x", "missing": {"name": "mean"}})");
  ExpectSame(R"({"train": )" + open + R"(, "validation": )" + open + "}", 1000);
}

TEST(JobInspectionTest, WorkersTogetherNameTheSourceThatIsWrong) {
  const std::string file = WriteDataFile("wrong_name.csv", "x,y\n1,0\nabc,0\n");
  const std::string csv = R"({"csv": {"files": [)" + Quoted(file) +
                          R"(], "features": [{"name": "x"}], "labels": [{"name": "y"}]}})";
  const std::string open = R"({"csv": {"files": [)" + Quoted(file) +
                           R"(], "features": [{"name": "x"}],
                              "labels": [{"name": "y", "categorical": true}]}})";
  const auto mix_of = [](const std::string& source) {
    return R"({"mix": [{"source": )" + NumbersFrom(0, 4) + R"(}}, {"source": )" + source + "}]}";
  };
  const std::string labels = Quoted(WriteDataFile(
      "labels2.npy",
      cairn::testing::NpyBytes("<f4", "(2, 1)", cairn::testing::Raw(std::vector<float>(2)))));
  const std::string zip = R"({"zip": [{"source": {"npy": {"labels": [)" + labels +
                          R"(]}}, "outputs": ["out"]},
                  {"source": {"csv": {"files": [)" +
                          Quoted(file) + R"(], "features": [{"name": "x"}]}}, "inputs": ["in"]}]})";
  const auto expect = [](const std::string& job, const std::string& error) {
    const proto::JobPlan plan = LinePlan(job);
    for (const uint32_t workers : {1, 2, 3}) {
      EXPECT_THAT(InspectTogether(plan, workers).error(), ::testing::StartsWith(error)) << workers;
    }
  };
  const std::string good = R"({"train": )" + NumbersFrom(0, 4) + "}";
  const std::string where = "data file " + file + ": line 3, column \"x\": ";
  expect(R"({"train": )" + csv + "}", "job field train.csv: " + where);
  expect(good + R"(, "validation": )" + csv + "}", "job field validation.csv: " + where);
  expect(R"({"train": )" + mix_of(csv) + "}", "job field train: mix[1]: " + where);
  expect(R"({"train": )" + mix_of(open) + "}",
         "job field train: mix[1]: list the \"vocabulary\" of \"y\": all sources");
  expect(good + R"(, "validation": )" + mix_of(csv) + "}",
         "job field validation: mix[1]: " + where);
  expect(R"({"train": )" + zip + "}", "job field train: zip[1]: " + where);
}

TEST(JobInspectionTest, WorkersTogetherRefuseTooManyDamagedRecords) {
  const proto::JobPlan plan = LinePlan(R"({"train": {"csv": {"files": [)" + CsvFiles("1,2,3\n") +
                                       R"(], "labels": [{"name": "y"}]}, "skip_damaged": 1}})");
  for (const uint32_t workers : {1, 2, 3}) {
    EXPECT_THAT(InspectTogether(plan, workers).error(),
                ::testing::HasSubstr("2 damaged records, \"skip_damaged\" allows 1"))
        << workers;
  }
}

}  // namespace
}  // namespace cairn::worker
