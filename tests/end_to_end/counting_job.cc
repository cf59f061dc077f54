#include "tests/end_to_end/counting_job.h"

#include <filesystem>
#include <set>
#include <sstream>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/end_to_end/arrays.h"
#include "tests/end_to_end/process.h"

namespace cairn::testing {

using nlohmann::json;

namespace {

// A batch's gradient is the mean of its inputs. The multiples of the batch size keep it, and sums
// of it, exact.
float Input(const CountingJob& job, int64_t example, int row) {
  if (!job.distinct) return 1;
  const uint64_t bits = (example * 2654435761u) ^ (row * 40503u);
  return static_cast<float>(job.batch_size * (bits % 3));
}

}  // namespace

CountingJob EndlessCountingJob() {
  CountingJob job;
  job.batches_per_epoch = 2000;
  job.batches = 5000 * job.batches_per_epoch;
  return job;
}

std::string WriteCountingJob(const CountingJob& job, const std::string& folder) {
  std::filesystem::create_directories(folder);
  const int64_t examples = job.batches_per_epoch * job.batch_size;
  std::vector<float> inputs(examples * job.rows);
  for (int64_t example = 0; example < examples; ++example) {
    for (int row = 0; row < job.rows; ++row) {
      inputs[example * job.rows + row] = Input(job, example, row);
    }
  }
  WriteFile(folder + "/x.npy", EncodeNpy({{examples, job.rows}, std::move(inputs)}));
  WriteFile(folder + "/y.npy", EncodeNpy({{examples, 1}, std::vector<float>(examples, -1e30f)}));
  const json model = {
      {"class_name", "Sequential"},
      {"config",
       {{"name", "counter"},
        {"layers",
         {{{"class_name", "Dense"},
           {"config",
            {{"name", "counter"},
             {"units", 1},
             {"use_bias", false},
             {"activation", "linear"},
             {"kernel_initializer", {{"class_name", "Zeros"}, {"config", json::object()}}},
             {"batch_input_shape", {nullptr, job.rows}}}}}}}}},
      {"keras_version", "2.15.0"},
      {"backend", "tensorflow"}};
  WriteFile(folder + "/model.json", model.dump());
  json file = {{"name", job.name},
               {"model", "model.json"},
               {"train", {{"npy", {{"features", "x.npy"}, {"labels", "y.npy"}}}}},
               {"loss", "mean_absolute_error"},
               {"optimizer", {{"name", "sgd"}, {"learning_rate", 1.0}}},
               {"batch_size", job.batch_size},
               {"epochs", job.batches / job.batches_per_epoch},
               {"strategy", json::parse(job.strategy)},
               {"partitioner", {{"min_slice_bytes", 16}}}};
  if (job.checkpoint_every > 0) file["checkpoint"] = {{"every_steps", job.checkpoint_every}};
  file.update(json::parse(job.more));
  WriteFile(folder + "/job.json", file.dump());
  return folder + "/job.json";
}

std::string CountIsNot(double count, const std::string& folder, int rows) {
  std::ostringstream text;
  const auto weights = ReadTfjsWeights(folder);
  if (weights.size() != 1) {
    text << "the export has " << weights.size() << " weights";
    return text.str();
  }
  const Array& counter = weights.begin()->second;
  if (static_cast<int>(counter.values.size()) != rows) {
    text << "the weight has " << counter.values.size() << " elements";
    return text.str();
  }
  const std::set<float> distinct(counter.values.begin(), counter.values.end());
  if (distinct.size() == 1 && *distinct.begin() == -static_cast<float>(count)) return "";
  text << "the weights are";
  for (float value : distinct) text << " " << value;
  text << ", not " << -count;
  return text.str();
}

std::string SumIsNot(const CountingJob& job, const std::string& folder) {
  const auto weights = ReadTfjsWeights(folder);
  if (weights.size() != 1) return "the export does not have one weight";
  const std::vector<float>& values = weights.begin()->second.values;
  if (static_cast<int>(values.size()) != job.rows) return "the weight has other rows";
  const int64_t examples = job.batches_per_epoch * job.batch_size;
  const auto epochs = static_cast<double>(job.batches / job.batches_per_epoch);
  for (int row = 0; row < job.rows; ++row) {
    double sum = 0;
    for (int64_t example = 0; example < examples; ++example) sum += Input(job, example, row);
    const double wanted =
        -epochs * sum / static_cast<double>(job.batch_size * job.batches_per_update);
    if (values[row] == wanted) continue;
    std::ostringstream text;
    text << "row " << row << " is " << values[row] << ", not " << wanted;
    return text.str();
  }
  return "";
}

std::string CountAtCheckpoint(const CommandRunner& cairn, const std::string& folder, int rows,
                              int64_t batches_per_update) {
  // By the time of the export the job may have taken so many others that this one is gone.
  CommandResult exported;
  int64_t applied = -1;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const CommandResult taken = cairn({"checkpoint", "count", "--json"});
    if (taken.exit_code != 0) return "no checkpoint: " + taken.errors;
    const std::string id = taken.lines().back().at("checkpoint").dump();
    for (const json& line : cairn({"checkpoints", "count", "--json"}).lines()) {
      if (line.at("checkpoint").dump() == id) applied = line.at("applied_batches");
    }
    exported = cairn({"export", "count", "--checkpoint", id, "--output", folder});
    if (exported.errors.find("has no checkpoint") == std::string::npos) break;
  }
  if (exported.exit_code != 0) return "no export: " + exported.errors;
  return CountIsNot(static_cast<double>(applied) / batches_per_update, folder, rows);
}

std::string SumAtNextEpoch(const CommandRunner& cairn, const std::string& folder, CountingJob job) {
  const auto status = [&cairn]() -> json {
    const std::vector<json> lines = cairn({"status", "count", "--json"}).lines();
    return lines.empty() ? json::object() : lines.back();
  };
  const int64_t done = status().value("batches_done", int64_t{0});
  const bool exported = WaitUntil(std::chrono::seconds(60), [&] {
    for (const json& line : cairn({"checkpoints", "count", "--json"}).lines()) {
      job.batches = line.at("applied_batches");
      if (job.batches <= done || job.batches % job.batches_per_epoch != 0) continue;
      // Newer ones may have replaced it meanwhile.
      const std::string id = line.at("checkpoint").dump();
      const auto result = cairn({"export", "count", "--checkpoint", id, "--output", folder});
      if (result.exit_code == 0) return true;
    }
    return false;
  });
  return exported ? SumIsNot(job, folder) : "no epoch has ended: " + status().dump();
}

}  // namespace cairn::testing
