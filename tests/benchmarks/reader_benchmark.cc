// Examples per second of each reader: 784 numbers and a label (CIFAR: 3072), shuffled, in batches
// of 128. For comparison: one thread of a worker trains the MLP at about 40,000 per second, and the
// reader has a thread of its own.

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "nn/objective.h"
#include "tests/nn/test_model.h"
#include "worker/data/batch_loader.h"
#include "worker/data/dataset.h"
#include "worker/data/label_spec.h"
#include "worker/data/source_arrays.h"

namespace cairn::worker {
namespace {

constexpr int64_t kRows = 4096;
constexpr int64_t kBatchSize = 128;

std::string Folder() {
  static const std::string folder = absl::StrCat("/tmp/cairn-reader-benchmark-", getpid());
  std::filesystem::create_directories(folder);
  return folder;
}

std::string Write(const std::string& name, const std::string& bytes) {
  const std::string path = Folder() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string Noise(int64_t bytes) {
  std::string noise;
  uint64_t state = 1;
  for (int64_t i = 0; i < bytes; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    noise.push_back(static_cast<char>(state >> 56));
  }
  return noise;
}

std::string IdxHeader(char type, std::initializer_list<uint32_t> axes) {
  std::string bytes = {0, 0, type, static_cast<char>(axes.size())};
  for (const uint32_t size : axes) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(size >> shift));
  }
  return bytes;
}

std::string Labels() { return Write("y.idx", IdxHeader(8, {kRows}) + std::string(kRows, '\3')); }

proto::DataSource Idx() {
  proto::DataSource source;
  source.mutable_idx()->add_features(
      Write("x.idx", IdxHeader(8, {kRows, 784}) + Noise(kRows * 784)));
  source.mutable_idx()->add_labels(Labels());
  return source;
}

// Big-endian floats, whose bytes must be swapped.
proto::DataSource Floats() {
  proto::DataSource source;
  source.mutable_idx()->add_features(
      Write("f.idx", IdxHeader(13, {kRows, 784}) + std::string(kRows * 784 * 4, '\x3f')));
  source.mutable_idx()->add_labels(Labels());
  return source;
}

proto::DataSource Cifar() {
  proto::DataSource source;
  std::string bytes;
  const std::string image = Noise(3072);
  for (int64_t i = 0; i < kRows; ++i) bytes += "\1" + image;
  source.mutable_cifar10()->add_files(Write("c.bin", bytes));
  return source;
}

proto::DataSource Csv() {
  proto::DataSource source;
  std::string row;
  std::string header;
  for (int i = 0; i < 784; ++i) {
    absl::StrAppend(&row, 0.001 * i, ",");
    absl::StrAppend(&header, "x", i, ",");
  }
  std::string text = header + "y\n";
  for (int64_t i = 0; i < kRows; ++i) text += row + "1\n";
  source.mutable_csv()->add_files(Write("x.csv", text));
  source.mutable_csv()->add_labels()->set_name("y");
  return source;
}

struct Reader {
  std::unique_ptr<nn::Model> model;
  nn::Objective objective;
  proto::DataSource source;

  Reader(proto::DataSource data, bool image) : source(std::move(data)) {
    model = nn::testing::ModelOf(
        {{"in", "InputLayer",
          image ? R"({"batch_shape": [null, 32, 32, 3]})" : R"({"batch_shape": [null, 784]})"},
         {"flat", "Flatten"},
         {"out", "Dense", R"({"units": 10, "activation": "softmax"})"}});
    proto::Loss config;
    config.set_name("sparse_categorical_crossentropy");
    objective = nn::Objective(*nn::CreateLoss(config));
    source.set_scale(1.0 / 255);
  }

  Dataset Open(const DataStorage::Options& options, const proto::DataPlan& plan) const {
    DataStorage storage(options);
    const SourceFiles files = *ListFiles(source, *model);
    const std::vector<LabelSpec> label_specs = LabelSpecs(source, *model, objective);
    auto arrays = ReadSource({source, files, plan, *model, label_specs, &storage});
    CAIRN_CHECK(arrays.ok());
    auto data = Dataset::Create(*std::move(arrays), source, plan, *model, objective);
    CAIRN_CHECK(data.ok());
    return *std::move(data);
  }
};

void ReadBatches(benchmark::State& state, const Reader& reader, uint64_t memory,
                 bool standardize = false, int64_t shuffle_block = 0) {
  proto::DataPlan plan;
  if (standardize) {
    auto& input = *plan.add_inputs();
    for (int i = 0; i < 784; ++i) {
      input.add_mean(0.5);
      input.add_deviation(2);
    }
  }
  const DataStorage::Options options{.memory_bytes = memory, .spool_folder = Folder()};
  BatchLoader loader(std::make_shared<const Dataset>(reader.Open(options, plan)),
                     BatchSampler(kRows, kBatchSize, true, 1, shuffle_block));
  int64_t batch = 0;
  for (auto _ : state) {
    CAIRN_CHECK(loader.Get(batch, {batch + 1}).ok());
    ++batch;
  }
  state.SetItemsProcessed(batch * kBatchSize);
}

constexpr uint64_t kAll = uint64_t{1} << 30;

void BM_IdxBytes(benchmark::State& state) { ReadBatches(state, Reader(Idx(), false), kAll); }
void BM_IdxBytesOnDisk(benchmark::State& state) { ReadBatches(state, Reader(Idx(), false), 0); }
void BM_IdxBytesOnDiskInBlocks(benchmark::State& state) {
  ReadBatches(state, Reader(Idx(), false), 0, false, 64);
}
void BM_IdxFloats(benchmark::State& state) { ReadBatches(state, Reader(Floats(), false), kAll); }
void BM_IdxBytesStandardized(benchmark::State& state) {
  ReadBatches(state, Reader(Idx(), false), kAll, true);
}
void BM_Cifar(benchmark::State& state) { ReadBatches(state, Reader(Cifar(), true), kAll); }
void BM_CifarOnDisk(benchmark::State& state) { ReadBatches(state, Reader(Cifar(), true), 0); }
void BM_Csv(benchmark::State& state) { ReadBatches(state, Reader(Csv(), false), kAll); }

// The time before the first batch, which is spent once.
void BM_CsvParse(benchmark::State& state) {
  const Reader reader(Csv(), false);
  for (auto _ : state) reader.Open({.memory_bytes = kAll}, {});
  state.SetItemsProcessed(state.iterations() * kRows);
  const auto bytes = std::filesystem::file_size(reader.source.csv().files(0));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}

BENCHMARK(BM_IdxBytes)->UseRealTime();
BENCHMARK(BM_IdxBytesOnDisk)->UseRealTime();
BENCHMARK(BM_IdxBytesOnDiskInBlocks)->UseRealTime();
BENCHMARK(BM_IdxFloats)->UseRealTime();
BENCHMARK(BM_IdxBytesStandardized)->UseRealTime();
BENCHMARK(BM_Cifar)->UseRealTime();
BENCHMARK(BM_CifarOnDisk)->UseRealTime();
BENCHMARK(BM_Csv)->UseRealTime();
BENCHMARK(BM_CsvParse)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cairn::worker

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  std::filesystem::remove_all(cairn::worker::Folder());
}
