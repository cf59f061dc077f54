// A ps's snapshot beside a plain file on the same disk: both write the same blocks of floats and
// end with a sync. The snapshot is the product's own: checksums, a RocksDB table, the read-back and
// the rename are in its time. Rounds are interleaved; prints MiB/s and the median of the rounds'
// ratios, for checkpoints.py.
//
// Usage: snapshot_write DIRECTORY [MIB=512] [ROUNDS=5]

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/check.h"
#include "common/random.h"
#include "storage/checkpoint_store.h"

namespace cairn::storage {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 20;
constexpr int kBlocksInMemory = 64;

using Clock = std::chrono::steady_clock;

// Small random weights: as little to compress as real ones.
std::vector<float> MakeBlocks() {
  std::vector<float> values(kBlocksInMemory * kBlockBytes / sizeof(float));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = 1e-9f * static_cast<float>(static_cast<int32_t>(RandomBits(1, i)));
  }
  return values;
}

std::string_view Block(const std::vector<float>& values, int i) {
  return {reinterpret_cast<const char*>(values.data()) + (i % kBlocksInMemory) * kBlockBytes,
          kBlockBytes};
}

double MiBPerSecond(int blocks, Clock::time_point begin) {
  return blocks / std::chrono::duration<double>(Clock::now() - begin).count();
}

double WriteFile(const std::string& path, const std::vector<float>& values, int blocks) {
  const auto begin = Clock::now();
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
  CAIRN_CHECK(file >= 0);
  for (int i = 0; i < blocks; ++i) {
    const std::string_view block = Block(values, i);
    CAIRN_CHECK(write(file, block.data(), block.size()) == static_cast<ssize_t>(block.size()));
  }
  CAIRN_CHECK(fsync(file) == 0);
  close(file);
  const double rate = MiBPerSecond(blocks, begin);
  std::filesystem::remove(path);
  return rate;
}

double WriteSnapshot(CheckpointStore* store, const std::vector<float>& values, int blocks) {
  const auto begin = Clock::now();
  auto writer = store->BeginSnapshot(1, 1);
  CAIRN_CHECK(writer.ok());
  for (int i = 0; i < blocks; ++i) {
    CAIRN_CHECK((*writer)->Add(i, "a header of about the usual size", {Block(values, i)}).ok());
  }
  CAIRN_CHECK((*writer)->Finish().ok());
  const double rate = MiBPerSecond(blocks, begin);
  CAIRN_CHECK(store->DeleteCheckpoint(1, 1).ok());
  return rate;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "Usage: snapshot_write DIRECTORY [MIB=512] [ROUNDS=5]\n");
    return 2;
  }
  const std::string directory = argv[1];
  const int blocks = argc > 2 ? std::atoi(argv[2]) : 512;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  CAIRN_CHECK(blocks > 0 && rounds > 0);
  auto store = CheckpointStore::Open(directory + "/snapshot_write");
  CAIRN_CHECK(store.ok());
  const std::vector<float> values = MakeBlocks();
  std::vector<double> files, snapshots, ratios;
  for (int round = 0; round < rounds; ++round) {
    files.push_back(WriteFile(directory + "/plain_file", values, blocks));
    snapshots.push_back(WriteSnapshot(store->get(), values, blocks));
    ratios.push_back(snapshots.back() / files.back());
  }
  std::printf("file %.0f snapshot %.0f ratio %.2f\n", Median(files), Median(snapshots),
              Median(ratios));
  store->reset();
  std::filesystem::remove_all(directory + "/snapshot_write");
  return 0;
}

}  // namespace
}  // namespace cairn::storage

int main(int argc, char** argv) { return cairn::storage::Main(argc, argv); }
