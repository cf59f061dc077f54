// Data sets of 200 files, larger than --data_memory. Every example counts once in each epoch, also
// while workers are killed, and a worker opens only the files that its batches touch, each once.
// The examples have different gradients, and a preloaded library records the opened files.

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/common/faulty_files.h"
#include "tests/end_to_end/arrays.h"
#include "tests/end_to_end/counting_job.h"
#include "tests/end_to_end/test_cluster.h"
#include "tests/worker/data/images/image_bytes.h"
#include "tests/worker/data/tfrecord/example_bytes.h"
#include "worker/data/parquet/duckdb.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr int kFiles = 200;
constexpr int kRecordsPerFile = 8;  // A batch.
// How often a worker opens a file of records or lines when it reads it: for its fingerprint, to see
// how it is compressed, and for the records.
constexpr int kOpensOfRecords = 3;
// An image is opened once for its fingerprint and its pixels, but twice for the inspection.
constexpr int kOpensOfImage = 1;
// For its fingerprint, and for its rows. DuckDB opens the descriptor again, which has another path.
constexpr int kOpensOfTable = 2;
constexpr int kSide = 96;  // Of an image, in pixels.

std::string NumberedFile(const std::string& folder, int number, const std::string& extension) {
  return folder + "/" + std::to_string(1000 + number) + extension;
}

// How often each process opened or read each file below a folder.
using Counts = std::map<pid_t, std::map<std::string, int>>;

int64_t Sum(const std::map<std::string, int>& files) {
  int64_t sum = 0;
  for (const auto& [file, count] : files) sum += count;
  return sum;
}

int64_t Sum(const Counts& counts) {
  int64_t sum = 0;
  for (const auto& [pid, files] : counts) sum += Sum(files);
  return sum;
}

class ManyFiles : public ::testing::TestWithParam<int> {
 protected:
  ManyFiles() : cluster_(/*ps_count=*/2, workers()), faults_(cluster_.folder("faults")) {
    setenv("LD_PRELOAD", ProgramPath("tests/common/preloaded_faulty_files.so").c_str(), 1);
    setenv("CAIRN_RECORD_OPENS", cluster_.folder("opened").c_str(), 1);
    setenv("CAIRN_FAULTY_FILES", cluster_.folder("faults").c_str(), 1);
    std::filesystem::create_directories(cluster_.folder("spool"));
    // 1 MiB, which is less than any of the data sets.
    cluster_.AddFlags("worker", {"--data_memory", "1", "--spool", cluster_.folder("spool")});
  }
  ~ManyFiles() override {
    unsetenv("LD_PRELOAD");
    unsetenv("CAIRN_RECORD_OPENS");
    unsetenv("CAIRN_FAULTY_FILES");
  }

  static int workers() { return GetParam(); }
  std::string data() const { return cluster_.folder("job"); }

  static CountingJob Job(int64_t batches_per_epoch, int64_t epochs, int rows) {
    CountingJob job;
    job.batches_per_epoch = batches_per_epoch;
    job.batches = batches_per_epoch * epochs;
    job.rows = rows;
    job.distinct = true;
    return job;
  }

  // Writes the job and its examples, which WriteCountingJob writes to x.npy, as other files.
  static CountingJob RecordsJob(int64_t epochs, const json& order,
                                int batch_size = kRecordsPerFile) {
    CountingJob job = Job(kFiles * kRecordsPerFile / batch_size, epochs, 512);
    job.batch_size = batch_size;
    const json source = {{"files", "*.tfrecord"}, {"features", "x"}, {"labels", "y"}};
    json more = {{"train", {{"tfrecord", source}}}};
    more.update(order);
    job.more = more.dump();
    return job;
  }

  // The labels of the records are in another file.
  static CountingJob ZipJob(int64_t epochs) {
    CountingJob job = RecordsJob(epochs, json::object());
    const json records = {{"tfrecord", {{"files", "*.tfrecord"}, {"features", "x"}}}};
    const json labels = {{"npy", {{"labels", "y.npy"}}}};
    job.more = json{{"train",
                     {{"zip",
                       {{{"source", records}, {"inputs", "counter_input"}},
                        {{"source", labels}, {"outputs", "counter"}}}}}},
                    {"shuffle_block", kRecordsPerFile}}
                   .dump();
    return job;
  }

  // Files of lines, with a column for each element of x.
  static CountingJob LinesJob(int64_t epochs, const json& order) {
    CountingJob job = RecordsJob(epochs, order);
    json features;
    for (int row = 0; row < job.rows; ++row) features.push_back("x" + std::to_string(row));
    json more = {
        {"train", {{"csv", {{"files", "*.csv"}, {"features", features}, {"labels", "y"}}}}}};
    more.update(order);
    job.more = more.dump();
    return job;
  }

  void WriteLines(const CountingJob& job) {
    job_file_ = WriteCountingJob(job, data());
    const std::vector<float> inputs = DecodeNpy(ReadFile(data() + "/x.npy")).values;
    std::string head = "y";
    for (int row = 0; row < job.rows; ++row) head += ",x" + std::to_string(row);
    auto value = inputs.begin();
    for (int file = 0; file < kFiles; ++file) {
      std::string text = head + "\n";
      for (int i = 0; i < kRecordsPerFile; ++i) {
        text += "-1e30";
        for (int row = 0; row < job.rows; ++row) {
          text += "," + std::to_string(static_cast<int>(*value++));
        }
        text += "\n";
      }
      WriteFile(NumberedFile(data(), file, ".csv"), text);
    }
  }

  static CountingJob TablesJob(int64_t epochs, const json& order) {
    CountingJob job = RecordsJob(epochs, order);
    const json source = {{"files", "*.parquet"}, {"features", "x"}, {"labels", "y"}};
    json more = {{"train", {{"parquet", source}}}};
    more.update(order);
    job.more = more.dump();
    return job;
  }

  // Returns false if DuckDB, which writes them, is not installed.
  bool WriteTables(const CountingJob& job) {
    job_file_ = WriteCountingJob(job, data());
    const std::vector<float> inputs = DecodeNpy(ReadFile(data() + "/x.npy")).values;
    for (int file = 0; file < kFiles; ++file) {
      const std::string path = NumberedFile(data(), file, ".parquet");
      worker::DuckdbPool pool({path});
      const auto duckdb = pool.Open(open(path.c_str(), O_CREAT | O_RDWR, 0600));
      if (!duckdb.ok()) return false;
      std::string rows;
      for (int i = 0; i < kRecordsPerFile; ++i) {
        rows += rows.empty() ? "(" : ", (";
        for (int row = 0; row < job.rows; ++row) {
          const float value = inputs[(file * kRecordsPerFile + i) * job.rows + row];
          rows += (row == 0 ? "[" : ", ") + std::to_string(static_cast<int>(value));
        }
        rows += "]::FLOAT[])";
      }
      const absl::Status status = (*duckdb)->Query(
          "COPY (SELECT x, -1e30::FLOAT AS y FROM (VALUES " + rows + ") AS t(x)) TO " +
              worker::SqlText((*duckdb)->file()) + " (FORMAT parquet, USE_TMP_FILE false)",
          nullptr, nullptr);
      EXPECT_TRUE(status.ok()) << status;
    }
    return true;
  }

  void WriteRecords(const CountingJob& job) {
    job_file_ = WriteCountingJob(job, data());
    const std::vector<float> inputs = DecodeNpy(ReadFile(data() + "/x.npy")).values;
    for (int file = 0; file < kFiles; ++file) {
      std::string bytes;
      for (int i = 0; i < kRecordsPerFile; ++i) {
        const auto begin = inputs.begin() + (file * kRecordsPerFile + i) * job.rows;
        bytes += RecordBytes(ExampleBytes(
            {{"x", FloatsFeature({begin, begin + job.rows})}, {"y", FloatsFeature({-1e30f})}}));
      }
      WriteFile(NumberedFile(data(), file, ".tfrecord"), bytes);
    }
  }

  // An image is an example.
  static CountingJob ImagesJob(int64_t epochs) {
    CountingJob job = Job(kFiles / CountingJob().batch_size, epochs, kSide * kSide);
    job.more = json{{"model", "image_model.json"},
                    {"train", {{"images", {{"table", "images.csv"}, {"label_column", "y"}}}}}}
                   .dump();
    return job;
  }

  void WriteImages(const CountingJob& job) {
    job_file_ = WriteCountingJob(job, data());
    const std::vector<float> inputs = DecodeNpy(ReadFile(data() + "/x.npy")).values;
    std::string table = "filename,y\n";
    for (int file = 0; file < kFiles; ++file) {
      const auto begin = inputs.begin() + file * job.rows;
      const std::string path = NumberedFile(data(), file, ".png");
      WriteFile(path, PngBytes(kSide, kSide, 1, std::string(begin, begin + job.rows)));
      table += path + ",-1e30\n";
    }
    WriteFile(data() + "/images.csv", table);
    json model = json::parse(ReadFile(data() + "/model.json"));
    json& layers = model["config"]["layers"];
    layers[0]["config"].erase("batch_input_shape");
    const json input = {{"name", "in"}, {"batch_input_shape", {nullptr, kSide, kSide, 1}}};
    const json flat = {{"class_name", "Flatten"}, {"config", {{"name", "flat"}}}};
    layers = {json{{"class_name", "InputLayer"}, {"config", input}}, flat, layers[0]};
    WriteFile(data() + "/image_model.json", model.dump());
  }

  void Submit() {
    cluster_.StartAll();
    ASSERT_TRUE(WaitUntil(seconds(60), [&] {
      int live = 0;
      for (const json& member : cluster_.Cairn({"cluster", "--json"}).lines()) {
        live += member.value("role", "") == "worker" && member.value("live", false) ? 1 : 0;
      }
      return live == workers();
    })) << cluster_.Logs();
    const CommandResult result = cluster_.Cairn({"submit", job_file_});
    ASSERT_EQ(result.exit_code, 0) << result.output << result.errors;
  }

  // No numbered file can be read until two workers have begun to inspect: otherwise one that is
  // slow to begin may find nothing left.
  void SubmitForTwoInspectors() {
    faults_.Set({{"read", data() + "/1", 0}});
    std::thread release([this] {
      EXPECT_TRUE(WaitUntil(seconds(120), [this] { return Opened("").size() >= 2; }))
          << "one worker inspects all files";
      faults_.Clear();
    });
    Submit();
    release.join();
  }

  // Kills a worker with SIGKILL after each sixth of the job, and starts it again.
  void KillWorkersWhileItRuns(const CountingJob& job) {
    std::mt19937 random(1);
    for (int sixth = 1; sixth < 6; ++sixth) {
      ASSERT_TRUE(WaitUntil(seconds(120),
                            [&] {
                              return cluster_.Status(job.name).value("batches_done", int64_t{0}) >=
                                     job.batches * sixth / 6;
                            }))
          << cluster_.Status(job.name) << cluster_.Logs();
      const int worker = static_cast<int>(random() % workers());
      cluster_.task("worker", worker).Kill();
      cluster_.Start("worker", worker);
    }
  }

  void ExpectExactSum(const CountingJob& job) {
    status_ = cluster_.WaitForEnd(job.name, seconds(240));
    ASSERT_EQ(status_.value("state", ""), "finished") << status_ << cluster_.Logs();
    const std::string folder = cluster_.folder("export");
    const CommandResult result = cluster_.Cairn({"export", job.name, "--output", folder});
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    EXPECT_EQ(SumIsNot(job, folder), "");
  }

  // How often each process has opened each numbered file with this extension.
  Counts Opened(const std::string& extension) const {
    Counts counts;
    ReadOpened(extension, [&](pid_t pid, const std::string& path) { ++counts[pid][path]; });
    return counts;
  }

  // The files that each process has opened first, one each: a file is inspected before it is read.
  Counts Inspected(const std::string& extension) const {
    std::map<std::string, pid_t> first;
    ReadOpened(extension, [&](pid_t pid, const std::string& path) { first.emplace(path, pid); });
    EXPECT_EQ(first.size(), size_t{kFiles});
    Counts inspected;
    for (const auto& [file, pid] : first) inspected[pid][file] = 1;
    return inspected;
  }

  // How often each process has read each data file for training, if a reading opens it `opens`
  // times. One process has also inspected it, for which it opened it `inspection` times.
  Counts Readings(const std::string& extension, int opens, int inspection) const {
    Counts counts = Opened(extension);
    const Counts inspected = Inspected(extension);
    for (const auto& [pid, files] : inspected) {
      for (const auto& [file, one] : files) counts[pid][file] -= inspection;
    }
    EXPECT_GE(inspected.size(), 2u) << "one worker has inspected all files";
    // Rounded up: a process that is killed has begun to read.
    for (auto& [pid, files] : counts) {
      for (auto& [file, count] : files) count = (count + opens - 1) / opens;
    }
    return counts;
  }

  // Exactly one for each file, unless a worker or ps was too slow to keep its lease.
  void ExpectOneReading(const Counts& readings) const {
    const int64_t repeated = status_.value("workers_lost", 0) + status_.value("rollbacks", 0);
    EXPECT_GE(Sum(readings), kFiles);
    EXPECT_LE(Sum(readings), kFiles * (1 + repeated));
  }

  // Calls `use` for each opening of a numbered file with this extension by another process.
  void ReadOpened(const std::string& extension,
                  const std::function<void(pid_t pid, const std::string& path)>& use) const {
    std::ifstream record(cluster_.folder("opened"));
    std::string operation, path, other;
    for (pid_t pid = 0; record >> operation >> pid >> path >> other;) {
      const bool is_reader = pid != getpid();  // This process has written the files.
      if (is_reader && path.starts_with(data() + "/1") && path.ends_with(extension)) use(pid, path);
    }
  }

  TestCluster cluster_;
  const FaultyFiles faults_;
  std::string job_file_;
  json status_;
};

TEST_P(ManyFiles, AFileWithTheRecordsOfABatchIsReadByOneWorker) {
  const CountingJob job = RecordsJob(/*epochs=*/1, {{"shuffle", false}});
  WriteRecords(job);
  ASSERT_NO_FATAL_FAILURE(SubmitForTwoInspectors());
  ASSERT_NO_FATAL_FAILURE(ExpectExactSum(job));
  ExpectOneReading(Readings(".tfrecord", kOpensOfRecords, kOpensOfRecords));
}

TEST_P(ManyFiles, AFileWithTheRecordsOfSeveralBatchesIsReadByFewWorkers) {
  const CountingJob job = RecordsJob(/*epochs=*/1, {{"shuffle", false}}, /*batch_size=*/2);
  WriteRecords(job);
  ASSERT_NO_FATAL_FAILURE(SubmitForTwoInspectors());
  ASSERT_NO_FATAL_FAILURE(ExpectExactSum(job));
  const int64_t readings = Sum(Readings(".tfrecord", kOpensOfRecords, kOpensOfRecords));
  RecordProperty("readings", static_cast<int>(readings));
  const int64_t repeated = status_.value("workers_lost", 0) + status_.value("rollbacks", 0);
  // Near the end, workers without a file of their own help the others.
  EXPECT_LE(readings, kFiles * (1 + repeated) + 10 * workers());
}

TEST_P(ManyFiles, RecordsCountOnceInEachEpochWhileWorkersAreKilled) {
  const CountingJob job = RecordsJob(/*epochs=*/20, {{"shuffle_block", kRecordsPerFile}});
  WriteRecords(job);
  ASSERT_NO_FATAL_FAILURE(SubmitForTwoInspectors());
  ASSERT_NO_FATAL_FAILURE(KillWorkersWhileItRuns(job));
  ASSERT_NO_FATAL_FAILURE(ExpectExactSum(job));
  EXPECT_GE(status_.value("workers_lost", 0), 3) << status_;
  // The parsed records stay in memory or in the spool folder.
  const Counts readings = Readings(".tfrecord", kOpensOfRecords, kOpensOfRecords);
  EXPECT_GT(readings.size(), static_cast<size_t>(workers()));
  for (const auto& [pid, files] : readings) {
    for (const auto& [file, count] : files) EXPECT_LE(count, 1) << file;
  }
}

TEST_P(ManyFiles, ZippedExamplesCountOnceInEachEpochWhileWorkersAreKilled) {
  const CountingJob job = ZipJob(/*epochs=*/20);
  WriteRecords(job);
  ASSERT_NO_FATAL_FAILURE(SubmitForTwoInspectors());
  ASSERT_NO_FATAL_FAILURE(KillWorkersWhileItRuns(job));
  ASSERT_NO_FATAL_FAILURE(ExpectExactSum(job));
  EXPECT_GE(status_.value("workers_lost", 0), 3) << status_;
  for (const auto& [pid, files] : Readings(".tfrecord", kOpensOfRecords, kOpensOfRecords)) {
    for (const auto& [file, count] : files) EXPECT_LE(count, 1) << file;
  }
}

TEST_P(ManyFiles, AFileWithTheLinesOfABatchIsReadByOneWorker) {
  const CountingJob job = LinesJob(/*epochs=*/1, {{"shuffle", false}});
  WriteLines(job);
  ASSERT_NO_FATAL_FAILURE(SubmitForTwoInspectors());
  ASSERT_NO_FATAL_FAILURE(ExpectExactSum(job));
  ExpectOneReading(Readings(".csv", kOpensOfRecords, kOpensOfRecords));
}

// The mean of a column is that of all files, and a worker reads some of them for it.
TEST_P(ManyFiles, WhatTheJobLeavesOpenIsFoundByAllWorkers) {
  CountingJob job = LinesJob(/*epochs=*/1, {{"shuffle", false}});
  json more = json::parse(job.more);
  more["train"]["csv"]["features"][0] = {{"name", "x0"}, {"missing", "mean"}};
  job.more = more.dump();
  WriteLines(job);
  ASSERT_NO_FATAL_FAILURE(SubmitForTwoInspectors());
  ASSERT_NO_FATAL_FAILURE(ExpectExactSum(job));
  EXPECT_GE(Inspected(".csv").size(), 2u) << "one worker has searched all files";
}

TEST_P(ManyFiles, ValidationFilesAreInspectedByAllWorkers) {
  CountingJob job = LinesJob(/*epochs=*/1, {{"shuffle", false}});
  json more = json::parse(job.more);
  more["validation"] = more["train"];
  more.erase("train");
  job.more = more.dump();
  WriteLines(job);
  ASSERT_NO_FATAL_FAILURE(SubmitForTwoInspectors());
  ASSERT_NO_FATAL_FAILURE(ExpectExactSum(job));
  EXPECT_GE(Inspected(".csv").size(), 2u) << "one worker has inspected all files";
}

TEST_P(ManyFiles, LinesCountOnceInEachEpochWhileWorkersAreKilled) {
  const CountingJob job = LinesJob(/*epochs=*/20, {{"shuffle_block", kRecordsPerFile}});
  WriteLines(job);
  ASSERT_NO_FATAL_FAILURE(SubmitForTwoInspectors());
  ASSERT_NO_FATAL_FAILURE(KillWorkersWhileItRuns(job));
  ASSERT_NO_FATAL_FAILURE(ExpectExactSum(job));
  EXPECT_GE(status_.value("workers_lost", 0), 3) << status_;
  const Counts readings = Readings(".csv", kOpensOfRecords, kOpensOfRecords);
  EXPECT_GT(readings.size(), static_cast<size_t>(workers()));
  for (const auto& [pid, files] : readings) {
    for (const auto& [file, count] : files) EXPECT_LE(count, 1) << file;
  }
}

TEST_P(ManyFiles, ATableWithTheRowsOfABatchIsReadByOneWorker) {
  const CountingJob job = TablesJob(/*epochs=*/1, {{"shuffle", false}});
  if (!WriteTables(job)) GTEST_SKIP() << "without DuckDB";
  ASSERT_NO_FATAL_FAILURE(SubmitForTwoInspectors());
  ASSERT_NO_FATAL_FAILURE(ExpectExactSum(job));
  ExpectOneReading(Readings(".parquet", kOpensOfTable, kOpensOfTable));
}

TEST_P(ManyFiles, RowsOfTablesCountOnceInEachEpochWhileWorkersAreKilled) {
  const CountingJob job = TablesJob(/*epochs=*/20, {{"shuffle_block", kRecordsPerFile}});
  if (!WriteTables(job)) GTEST_SKIP() << "without DuckDB";
  ASSERT_NO_FATAL_FAILURE(SubmitForTwoInspectors());
  ASSERT_NO_FATAL_FAILURE(KillWorkersWhileItRuns(job));
  ASSERT_NO_FATAL_FAILURE(ExpectExactSum(job));
  EXPECT_GE(status_.value("workers_lost", 0), 3) << status_;
  const Counts readings = Readings(".parquet", kOpensOfTable, kOpensOfTable);
  EXPECT_GT(readings.size(), static_cast<size_t>(workers()));
  for (const auto& [pid, files] : readings) {
    for (const auto& [file, count] : files) EXPECT_LE(count, 1) << file;
  }
}

TEST_P(ManyFiles, AnImageIsReadByOneWorkerInAnEpoch) {
  const CountingJob job = ImagesJob(/*epochs=*/1);
  WriteImages(job);
  ASSERT_NO_FATAL_FAILURE(SubmitForTwoInspectors());
  ASSERT_NO_FATAL_FAILURE(ExpectExactSum(job));
  ExpectOneReading(Readings(".png", kOpensOfImage, 2 * kOpensOfImage));
}

TEST_P(ManyFiles, ImagesCountOnceInEachEpochWhileWorkersAreKilled) {
  const CountingJob job = ImagesJob(/*epochs=*/40);
  WriteImages(job);
  ASSERT_NO_FATAL_FAILURE(Submit());
  ASSERT_NO_FATAL_FAILURE(KillWorkersWhileItRuns(job));
  ASSERT_NO_FATAL_FAILURE(ExpectExactSum(job));
  EXPECT_GE(status_.value("workers_lost", 0), 3) << status_;
}

INSTANTIATE_TEST_SUITE_P(Workers, ManyFiles, ::testing::Values(2, 4));

}  // namespace
}  // namespace cairn::testing
