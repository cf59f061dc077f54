#include "coordinator/data_inspection.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "job/exact_sum.h"
#include "job/moments.h"

namespace cairn::coordinator {
namespace {

using ::testing::HasSubstr;

proto::Job RecordsJob() {
  proto::Job job;
  job.mutable_train()->mutable_tfrecord()->add_files("*.tfrecord");
  return job;
}

std::vector<TaskId> Workers(uint32_t count) {
  std::vector<TaskId> workers;
  for (uint32_t i = 0; i < count; ++i) workers.push_back(WorkerTask(i));
  return workers;
}

// What a worker finds in a part of `files` files. File i has i examples, and fingerprint 100 + i.
proto::DataSurvey Found(const proto::Inspect& inspect, int64_t files) {
  proto::DataSurvey survey;
  *survey.mutable_place() = inspect.place();
  survey.set_part(inspect.part());
  survey.set_files(files);
  survey.set_names(7);
  const int64_t end = files * (inspect.part() + 1) / inspect.parts();
  for (int64_t i = files * inspect.part() / inspect.parts(); i < end; ++i) {
    survey.add_index()->set_examples(i);
    survey.add_fingerprints(100 + i);
  }
  return survey;
}

class DataInspectionTest : public ::testing::Test {
 protected:
  // The commands that are sent, by worker.
  std::map<uint32_t, proto::Inspect> Advance(uint32_t workers, const proto::Job& job) {
    proto::JobRecord record;
    record.set_job_id(3);
    Outbox outbox;
    inspection_.Advance(record, job, Workers(workers), &outbox);
    std::map<uint32_t, proto::Inspect> sent;
    for (const auto& sending : outbox.commands) {
      EXPECT_EQ(sending.command.inspect().job_id(), 3u);
      EXPECT_TRUE(sent.emplace(sending.task.index, sending.command.inspect()).second);
    }
    return sent;
  }

  absl::Status Surveyed(TaskId worker, const proto::DataSurvey& survey) {
    proto::InspectReply reply;
    *reply.mutable_survey() = survey;
    return inspection_.OnPart(worker, reply);
  }
  absl::Status Measured(TaskId worker, const proto::DataMeasurement& measurement) {
    proto::InspectReply reply;
    *reply.mutable_measurement() = measurement;
    return inspection_.OnPart(worker, reply);
  }

  DataInspection inspection_;
};

TEST_F(DataInspectionTest, OneWorkerReadsFilesThatAreNotDivisible) {
  proto::Job job;
  job.mutable_train()->mutable_npy()->add_features("x.npy");
  auto sent = Advance(3, job);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].parts(), 0u);
  EXPECT_EQ(sent[0].surveys_size(), 0);
  EXPECT_TRUE(inspection_.asked_for_all());
  // Until it is lost.
  EXPECT_TRUE(Advance(3, job).empty());
  inspection_.Release(WorkerTask(0));
  EXPECT_EQ(Advance(3, job).size(), 1u);
}

TEST_F(DataInspectionTest, OneWorkerAloneReadsEverything) {
  auto sent = Advance(1, RecordsJob());
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].parts(), 0u);
}

// Also if one of them is lost, and comes back, in the middle of each of its parts.
TEST_F(DataInspectionTest, AllWorkersReadPartsAndOneThenKnowsAll) {
  constexpr int64_t kFiles = 50;
  std::set<uint32_t> readers;
  std::map<uint32_t, proto::Inspect> sent = Advance(3, RecordsJob());
  EXPECT_EQ(sent.size(), 3u);
  for (int round = 0; !inspection_.asked_for_all(); ++round) {
    ASSERT_LT(round, 100);
    std::map<uint32_t, proto::Inspect> asked = std::move(sent);
    for (const auto& [worker, inspect] : asked) {
      ASSERT_GT(inspect.parts(), 0u);
      if (worker == 2 && round % 2 == 0) {
        inspection_.Release(WorkerTask(worker));
        continue;
      }
      readers.insert(worker);
      ASSERT_TRUE(Surveyed(WorkerTask(worker), Found(inspect, kFiles)).ok());
    }
    sent = Advance(3, RecordsJob());
  }
  EXPECT_EQ(readers.size(), 3u);
  ASSERT_EQ(sent.size(), 1u);
  const proto::Inspect& last = sent.begin()->second;
  EXPECT_EQ(last.parts(), 0u);
  ASSERT_EQ(last.surveys(0).index_size(), kFiles);
  for (int i = 0; i < kFiles; ++i) {
    EXPECT_EQ(last.surveys(0).index(i).examples(), i);
    EXPECT_EQ(last.surveys(0).fingerprints(i), 100u + i);
  }
  EXPECT_EQ(last.surveys(0).files(), kFiles);
  EXPECT_EQ(last.surveys(0).names(), 7u);
}

// The sums of a part of the examples, of which number i has the value i.
proto::DataMeasurement MeasuredPart(const proto::Inspect& inspect, int64_t examples) {
  job::Moments moments(1);
  const int64_t end = examples * (inspect.part() + 1) / inspect.parts();
  for (int64_t i = examples * inspect.part() / inspect.parts(); i < end; ++i) {
    moments.Add({static_cast<float>(i)});
  }
  proto::DataMeasurement measurement;
  measurement.set_part(inspect.part());
  *measurement.add_inputs() = moments.ToProto();
  return measurement;
}

// Also if one of them is lost in the middle of each second of its parts.
TEST_F(DataInspectionTest, TheExamplesAreMeasuredInPartsWhenTheirNumberIsKnown) {
  constexpr int64_t kFiles = 30;
  constexpr int64_t kExamples = 435;  // 0 + 1 + ... + 29
  proto::Job job = RecordsJob();
  job.mutable_train()->set_standardize(true);
  std::set<uint32_t> readers;
  int measured = 0;
  std::map<uint32_t, proto::Inspect> sent = Advance(3, job);
  for (int round = 0; !inspection_.asked_for_all(); ++round) {
    ASSERT_LT(round, 100);
    std::map<uint32_t, proto::Inspect> asked = std::move(sent);
    for (const auto& [worker, inspect] : asked) {
      ASSERT_GT(inspect.parts(), 0u);
      const TaskId task = WorkerTask(worker);
      if (inspect.surveys_size() == 0) {
        EXPECT_THAT(inspection_.WorkOf(task), HasSubstr("of the training data to inspect"));
        ASSERT_TRUE(Surveyed(task, Found(inspect, kFiles)).ok());
        continue;
      }
      EXPECT_EQ(inspect.surveys(0).index_size(), kFiles);
      EXPECT_THAT(inspection_.WorkOf(task), HasSubstr("of the training data to measure"));
      if (worker == 2 && round % 2 == 0) {
        inspection_.Release(task);
        continue;
      }
      readers.insert(worker);
      ++measured;
      ASSERT_TRUE(Measured(task, MeasuredPart(inspect, kExamples)).ok());
      // The second one does not count.
      ASSERT_TRUE(Measured(task, MeasuredPart(inspect, kExamples)).ok());
    }
    sent = Advance(3, job);
  }
  EXPECT_EQ(readers.size(), 3u);
  EXPECT_EQ(measured, 3 * 4);
  ASSERT_EQ(sent.size(), 1u);
  const proto::Inspect& last = sent.begin()->second;
  EXPECT_EQ(last.parts(), 0u);
  EXPECT_EQ(last.surveys(0).index_size(), kFiles);
  job::Moments moments(1);
  ASSERT_EQ(last.measurement().inputs_size(), 1);
  ASSERT_TRUE(moments.Add(last.measurement().inputs(0)).ok());
  EXPECT_EQ(moments.Result().mean(0), (kExamples - 1) / 2.0);
}

TEST_F(DataInspectionTest, ForgedMeasurementsAreRefused) {
  proto::Job job = RecordsJob();
  EXPECT_FALSE(Measured(WorkerTask(0), proto::DataMeasurement()).ok()) << "nobody was asked";
  job.mutable_train()->set_standardize(true);
  std::map<uint32_t, proto::Inspect> sent = Advance(2, job);
  while (sent.at(0).surveys_size() == 0) {
    for (const auto& [worker, inspect] : sent) {
      ASSERT_TRUE(Surveyed(WorkerTask(worker), Found(inspect, 16)).ok());
    }
    sent = Advance(2, job);
  }
  const proto::DataMeasurement good = MeasuredPart(sent.at(0), 100);
  proto::DataMeasurement forged = good;
  forged.set_part(8);
  EXPECT_THAT(Measured(WorkerTask(0), forged).message(), HasSubstr("part 8 of 8"));
  forged = good;
  for (int i = 0; i < 65536; ++i) forged.mutable_inputs(0)->add_places();
  EXPECT_THAT(Measured(WorkerTask(0), forged).message(), HasSubstr("65537 places, at most 65536"));
  forged = good;
  forged.mutable_inputs(0)->mutable_places(0)->set_count(-1);
  EXPECT_FALSE(Measured(WorkerTask(0), forged).ok());
  forged = good;
  forged.mutable_inputs(0)->mutable_places(0)->mutable_sum()->set_first(1000000);
  EXPECT_FALSE(Measured(WorkerTask(0), forged).ok());
  ASSERT_TRUE(Measured(WorkerTask(0), good).ok());
  forged = MeasuredPart(sent.at(1), 100);
  forged.mutable_inputs(0)->add_places();
  EXPECT_THAT(Measured(WorkerTask(1), forged).message(), HasSubstr("2 places, not 1"));
  forged = MeasuredPart(sent.at(1), 100);
  forged.add_inputs();
  EXPECT_THAT(Measured(WorkerTask(1), forged).message(), HasSubstr("2 inputs, not 1"));
  EXPECT_EQ(Advance(2, job).size(), 1u) << "worker 1 has not measured its part";
}

TEST_F(DataInspectionTest, DamagedRecordsAreAddedUpAndTheFirstIsQuoted) {
  auto sent = Advance(2, RecordsJob());
  while (!inspection_.asked_for_all()) {
    // The later parts come first.
    for (auto each = sent.rbegin(); each != sent.rend(); ++each) {
      proto::DataSurvey survey = Found(each->second, 16);
      if (each->second.part() >= 2) {
        survey.mutable_damaged()->set_count(2);
        survey.mutable_damaged()->set_first_error("part " + std::to_string(each->second.part()));
      }
      ASSERT_TRUE(Surveyed(WorkerTask(each->first), survey).ok());
    }
    sent = Advance(2, RecordsJob());
  }
  const proto::DataSurvey& all = sent.begin()->second.surveys(0);
  EXPECT_EQ(all.damaged().first_error(), "part 2");
  EXPECT_EQ(all.damaged().count(), 2 * 6);
}

TEST_F(DataInspectionTest, ALateReplyOfALostWorkerCountsOnce) {
  const auto sent = Advance(2, RecordsJob());
  inspection_.Release(WorkerTask(0));
  const auto again = Advance(2, RecordsJob());
  ASSERT_EQ(again.at(0).part(), sent.at(0).part());
  ASSERT_TRUE(Surveyed(WorkerTask(0), Found(sent.at(0), 16)).ok());
  ASSERT_TRUE(Surveyed(WorkerTask(0), Found(sent.at(0), 16)).ok());
  EXPECT_NE(Advance(2, RecordsJob()).at(0).part(), sent.at(0).part());
}

// A worker that was stuck replies after all. The one that reads its part meanwhile is still busy.
TEST_F(DataInspectionTest, ALateReplyLeavesTheOtherReaderOfThePartBusy) {
  const auto sent = Advance(2, RecordsJob());
  inspection_.Release(WorkerTask(0));
  ASSERT_TRUE(Surveyed(WorkerTask(1), Found(sent.at(1), 16)).ok());
  Outbox outbox;
  inspection_.Advance(proto::JobRecord(), RecordsJob(), {WorkerTask(1)}, &outbox);
  ASSERT_EQ(outbox.commands.size(), 1u);
  ASSERT_EQ(outbox.commands[0].command.inspect().part(), sent.at(0).part());
  ASSERT_TRUE(Surveyed(WorkerTask(0), Found(sent.at(0), 16)).ok());
  const auto next = Advance(2, RecordsJob());
  EXPECT_EQ(next.size(), 1u);
  EXPECT_TRUE(next.contains(0));
  ASSERT_TRUE(Surveyed(WorkerTask(1), Found(sent.at(0), 16)).ok());
  EXPECT_TRUE(Advance(2, RecordsJob()).contains(1));
}

// The mean of "x" is that of the training rows, "y" has names.
proto::Job OpenJob() {
  proto::Job job;
  proto::CsvSource& csv = *job.mutable_train()->mutable_csv();
  csv.add_files("*.csv");
  csv.add_features()->set_name("x");
  csv.mutable_features(0)->mutable_missing()->set_name("mean");
  csv.add_labels()->set_name("y");
  csv.mutable_labels(0)->set_categorical(true);
  job.set_validation_fraction(0.5);
  return job;
}

// What a worker finds in a part of `files` files. File i has i rows, the number i and the name i.
proto::InspectReply SearchReply(const proto::Inspect& inspect, int64_t files) {
  proto::InspectReply reply;
  proto::DataSearch& search = *reply.mutable_search();
  search.set_part(inspect.part());
  search.set_files(files);
  search.set_names(7);
  search.set_is_count(inspect.stage() == proto::Inspect::COUNT);
  proto::DataFindings::Column& x = *search.mutable_found()->add_columns();
  proto::DataFindings::Column& y = *search.mutable_found()->add_columns();
  job::ExactSum sum;
  const int64_t end = files * (inspect.part() + 1) / inspect.parts();
  for (int64_t i = files * inspect.part() / inspect.parts(); i < end; ++i) {
    if (search.is_count()) search.set_rows(search.rows() + i);
    x.set_count(x.count() + 1);
    sum.Add(static_cast<double>(i));
    y.add_names(absl::StrCat(100 + i));
  }
  *x.mutable_sum() = sum.ToProto();
  if (search.is_count()) search.clear_found();
  return reply;
}

// Also if one of them is lost in the middle of each third of its parts.
TEST_F(DataInspectionTest, OpenColumnsAreSearchedInPartsWhenTheRowsAreCounted) {
  constexpr int64_t kFiles = 20;
  constexpr int64_t kRows = 190;  // 0 + 1 + ... + 19
  std::map<proto::Inspect::Stage, int> replies;
  std::map<uint32_t, proto::Inspect> sent = Advance(3, OpenJob());
  int64_t rows_before = 0;
  for (int round = 0; !inspection_.asked_for_all(); ++round) {
    ASSERT_LT(round, 100);
    for (const auto& [worker, inspect] : std::exchange(sent, {})) {
      if (worker == 1 && round % 3 == 0) {
        inspection_.Release(WorkerTask(worker));
        continue;
      }
      ++replies[inspect.stage()];
      const bool is_survey = inspect.stage() == proto::Inspect::SURVEY;
      EXPECT_EQ(inspect.has_found(), is_survey);
      EXPECT_EQ(inspect.has_rows(), inspect.stage() == proto::Inspect::SEARCH);
      if (inspect.has_rows()) {
        EXPECT_EQ(inspect.rows(), kRows);
        const int64_t first = kFiles * inspect.part() / inspect.parts();
        EXPECT_EQ(inspect.rows_before(), first * (first - 1) / 2);
        rows_before = std::max(rows_before, inspect.rows_before());
      }
      const absl::Status status =
          is_survey ? Surveyed(WorkerTask(worker), Found(inspect, kFiles))
                    : inspection_.OnPart(WorkerTask(worker), SearchReply(inspect, kFiles));
      ASSERT_TRUE(status.ok()) << status;
    }
    sent = Advance(3, OpenJob());
  }
  EXPECT_GT(rows_before, kRows / 2);
  EXPECT_EQ(replies[proto::Inspect::COUNT], 12);
  EXPECT_EQ(replies[proto::Inspect::SEARCH], 12);
  EXPECT_EQ(replies[proto::Inspect::SURVEY], 12);
  const proto::Inspect& rest = sent.begin()->second;
  EXPECT_EQ(rest.stage(), proto::Inspect::REST);
  EXPECT_EQ(rest.surveys(0).index_size(), kFiles);
  ASSERT_EQ(rest.found().fills_size(), 1);
  EXPECT_EQ(rest.found().fills(0).value(), 9.5);
  ASSERT_EQ(rest.found().vocabularies_size(), 1);
  EXPECT_EQ(rest.found().vocabularies(0).names_size(), kFiles);
}

// A worker that was stuck replies about a stage that is over.
TEST_F(DataInspectionTest, ALateCountIsNoSearch) {
  auto sent = Advance(2, OpenJob());
  const proto::Inspect late = sent.at(1);
  inspection_.Release(WorkerTask(1));
  while (sent.begin()->second.stage() == proto::Inspect::COUNT) {
    const proto::Inspect inspect = sent.begin()->second;
    ASSERT_TRUE(inspection_.OnPart(WorkerTask(0), SearchReply(inspect, 20)).ok());
    sent = Advance(1, OpenJob());
  }
  ASSERT_EQ(sent.at(0).stage(), proto::Inspect::SEARCH);
  ASSERT_TRUE(inspection_.OnPart(WorkerTask(1), SearchReply(late, 20)).ok());
  sent = Advance(2, OpenJob());
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent.at(1).stage(), proto::Inspect::SEARCH);
}

TEST_F(DataInspectionTest, OneWorkerReadsAllIfTheNamesAreTooMany) {
  proto::Job job = OpenJob();
  job.clear_validation_fraction();
  for (const bool in_message : {true, false}) {
    inspection_ = DataInspection(5);
    auto sent = Advance(2, job);
    ASSERT_EQ(sent.at(0).stage(), proto::Inspect::SEARCH) << "no number of a row decides";
    for (int part = 0; !inspection_.asked_for_all(); ++part) {
      ASSERT_LT(part, 20);
      proto::InspectReply reply = SearchReply(sent.at(0), 20);
      if (in_message) {
        reply.mutable_search()->clear_found();
        reply.mutable_search()->set_is_too_large(true);
      } else {
        for (int i = 0; i < 10; ++i) {
          const std::string name(size_t{1} << 20, static_cast<char>('a' + i));
          reply.mutable_search()->mutable_found()->mutable_columns(1)->add_names(
              absl::StrCat(part, name));
        }
      }
      ASSERT_TRUE(inspection_.OnPart(WorkerTask(0), reply).ok());
      sent = Advance(1, job);
    }
    EXPECT_FALSE(sent.at(0).has_found());
    EXPECT_EQ(sent.at(0).surveys_size(), 0);
    EXPECT_EQ(sent.at(0).stage(), proto::Inspect::REST);
    // What it was reading before is no reply to that.
    proto::Inspect before;
    before.set_stage(proto::Inspect::SEARCH);
    before.set_parts(8);
    ASSERT_TRUE(inspection_.OnPart(WorkerTask(0), SearchReply(before, 20)).ok());
    EXPECT_TRUE(Advance(2, job).empty());
  }
}

TEST_F(DataInspectionTest, ForgedSearchesAreRefused) {
  const auto sent = Advance(2, OpenJob());
  const auto error_of = [&](const std::function<void(proto::DataSearch*)>& forge) {
    proto::InspectReply reply = SearchReply(sent.at(0), 20);
    forge(reply.mutable_search());
    return std::string(inspection_.OnPart(WorkerTask(0), reply).message());
  };
  EXPECT_THAT(error_of([](proto::DataSearch* search) { search->set_part(8); }),
              HasSubstr("part 8 of 8"));
  EXPECT_THAT(error_of([](proto::DataSearch* search) { search->set_files(-1); }),
              HasSubstr("-1 data files"));
  EXPECT_THAT(error_of([](proto::DataSearch* search) { search->set_rows(-1); }),
              HasSubstr("counted -1 rows"));
  EXPECT_THAT(error_of([](proto::DataSearch* search) { search->set_rows(INT64_MAX); }),
              HasSubstr("rows"));
  EXPECT_THAT(error_of([](proto::DataSearch* search) { search->set_names(8); }),
              HasSubstr("different names"));
  // Nothing has changed: the part is still to be read by worker 0.
  EXPECT_TRUE(Advance(2, OpenJob()).empty());

  proto::Job job = OpenJob();
  job.clear_validation_fraction();
  inspection_ = DataInspection(5);
  proto::InspectReply reply = SearchReply(Advance(2, job).at(0), 20);
  reply.mutable_search()->mutable_found()->add_columns();
  EXPECT_THAT(inspection_.OnPart(WorkerTask(0), reply).message(),
              HasSubstr("worker 0 replied with findings about 3 columns, not 2"));
  EXPECT_TRUE(Advance(2, job).empty());
}

// A file is parsed by one worker.
TEST_F(DataInspectionTest, NoMorePartsAreMeasuredThanThereAreFiles) {
  proto::Job job = RecordsJob();
  job.mutable_train()->set_standardize(true);
  for (const int parts_of_file : {1, 3}) {
    inspection_ = DataInspection(5);
    auto sent = Advance(2, job);
    while (sent.begin()->second.surveys_size() == 0) {
      for (const auto& [worker, inspect] : sent) {
        EXPECT_EQ(inspect.inspection(), 5u);
        proto::DataSurvey survey = Found(inspect, 2);
        for (proto::IndexedFile& file : *survey.mutable_index()) {
          file.set_examples(6);
          for (int i = 0; i < parts_of_file; ++i) {
            file.add_part_examples(6 / parts_of_file);
            file.add_part_rows(6);
          }
        }
        ASSERT_TRUE(Surveyed(WorkerTask(worker), survey).ok());
      }
      sent = Advance(2, job);
    }
    EXPECT_EQ(sent.begin()->second.parts(), 2u * parts_of_file);
  }
}

TEST_F(DataInspectionTest, WorkersThatSeeOtherFilesAreNamed) {
  const auto sent = Advance(2, RecordsJob());
  ASSERT_TRUE(Surveyed(WorkerTask(0), Found(sent.at(0), 16)).ok());
  EXPECT_EQ(Surveyed(WorkerTask(1), Found(sent.at(1), 24)).message(),
            "all workers need the same data files: worker 1 has 24 of the training data, worker 0 "
            "has 16");
  proto::DataSurvey renamed = Found(sent.at(1), 16);
  renamed.set_names(8);
  EXPECT_EQ(
      Surveyed(WorkerTask(1), renamed).message(),
      "all workers need the same data files: of those of the training data, worker 1 and worker 0 "
      "have 16 files with different names");
}

// Training data of three sources, of which one is not divisible, and validation data.
proto::Job MixedJob() {
  proto::Job job;
  for (int i = 0; i < 2; ++i) {
    *job.mutable_train()->add_mix()->mutable_source() = RecordsJob().train();
  }
  job.mutable_train()->add_mix()->mutable_source()->mutable_npy()->add_features("x.npy");
  job.mutable_train()->mutable_mix()->SwapElements(1, 2);
  *job.mutable_validation() = RecordsJob().train();
  return job;
}

TEST_F(DataInspectionTest, EachSourceIsSurveyedInParts) {
  const proto::Job job = MixedJob();
  std::map<std::string, std::set<uint32_t>> readers;
  std::map<uint32_t, proto::Inspect> sent = Advance(3, job);
  while (!inspection_.asked_for_all()) {
    ASSERT_FALSE(sent.empty());
    for (const auto& [worker, inspect] : sent) {
      const std::string work = inspection_.WorkOf(WorkerTask(worker));
      EXPECT_THAT(work, HasSubstr(" of 4 of "));
      readers[work.substr(work.find(" of 4"))].insert(worker);
      // Each source has as many files as its place says.
      const int64_t files = inspect.place().is_validation() ? 40 : 20 + inspect.place().number();
      ASSERT_TRUE(Surveyed(WorkerTask(worker), Found(inspect, files)).ok());
    }
    sent = Advance(3, job);
  }
  ASSERT_EQ(readers.size(), 3u);
  for (const char* const work : {" of 4 of mix[0] of the training data to inspect",
                                 " of 4 of mix[2] of the training data to inspect",
                                 " of 4 of the validation data to inspect"}) {
    EXPECT_EQ(readers[work].size(), 3u) << work;
  }
  const proto::Inspect& last = sent.begin()->second;
  ASSERT_EQ(last.surveys_size(), 3);
  for (const auto& [number, files] : {std::pair{0, 20}, std::pair{1, 22}, std::pair{2, 40}}) {
    ASSERT_EQ(last.surveys(number).index_size(), files);
    EXPECT_EQ(last.surveys(number).files(), files);
    EXPECT_EQ(last.surveys(number).fingerprints(files - 1), 100u + files - 1);
  }
  EXPECT_EQ(last.surveys(1).place().number(), 2u);
  EXPECT_TRUE(last.surveys(2).place().is_validation());
}

TEST_F(DataInspectionTest, RepliesAboutOtherSourcesAreRefused) {
  const auto sent = Advance(2, MixedJob());
  proto::DataSurvey survey = Found(sent.at(0), 16);
  survey.mutable_place()->set_number(1);
  EXPECT_THAT(Surveyed(WorkerTask(0), survey).message(), HasSubstr("part 0 of 0"));
  survey.mutable_place()->set_number(UINT32_MAX);
  EXPECT_FALSE(Surveyed(WorkerTask(0), survey).ok());
  survey.mutable_place()->set_is_validation(true);
  EXPECT_FALSE(Surveyed(WorkerTask(0), survey).ok());
  EXPECT_TRUE(Advance(2, MixedJob()).empty()) << "the part is still to be read by worker 0";
}

TEST_F(DataInspectionTest, ForgedRepliesAreRefused) {
  const auto sent = Advance(2, RecordsJob());
  proto::DataSurvey survey = Found(sent.at(0), 16);
  survey.set_part(8);
  EXPECT_THAT(Surveyed(WorkerTask(0), survey).message(), HasSubstr("part 8 of 8"));
  survey = Found(sent.at(0), 16);
  survey.set_files(-1);
  EXPECT_THAT(Surveyed(WorkerTask(0), survey).message(), HasSubstr("-1 data files"));
  survey = Found(sent.at(0), 16);
  survey.set_files(INT64_MAX);
  EXPECT_FALSE(Surveyed(WorkerTask(0), survey).ok());
  survey = Found(sent.at(0), 16);
  survey.add_index();
  EXPECT_THAT(Surveyed(WorkerTask(0), survey).message(), HasSubstr("not 2 of part"));
  survey = Found(sent.at(0), 16);
  survey.clear_fingerprints();
  EXPECT_FALSE(Surveyed(WorkerTask(0), survey).ok());
  survey = Found(sent.at(0), 16);
  survey.mutable_index(0)->set_examples(-5);
  EXPECT_THAT(Surveyed(WorkerTask(0), survey).message(), HasSubstr("impossible"));
  survey.mutable_index(0)->set_examples(INT64_MAX);
  EXPECT_FALSE(Surveyed(WorkerTask(0), survey).ok());
  survey.mutable_index(0)->set_examples(3);
  survey.mutable_index(0)->add_part_examples(2);
  EXPECT_THAT(Surveyed(WorkerTask(0), survey).message(), HasSubstr("3 in a file with 1 parts"));
  survey.mutable_index(0)->set_part_examples(0, 3);
  EXPECT_FALSE(Surveyed(WorkerTask(0), survey).ok()) << "a part without its rows";
  survey = Found(sent.at(0), 16);
  survey.mutable_damaged()->set_count(-1);
  EXPECT_THAT(Surveyed(WorkerTask(0), survey).message(), HasSubstr("-1 damaged records"));
  // Nothing has changed: the part is still to be read by worker 0.
  EXPECT_TRUE(Advance(2, RecordsJob()).empty());
}

TEST_F(DataInspectionTest, AReplyToNothingIsRefused) {
  proto::Job job;
  job.mutable_train()->mutable_npy()->add_features("x.npy");
  Advance(2, job);
  EXPECT_FALSE(Surveyed(WorkerTask(0), proto::DataSurvey()).ok());
}

}  // namespace
}  // namespace cairn::coordinator
