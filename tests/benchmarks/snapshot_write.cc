// A ps's snapshot beside a plain file on the same disk: both write the same blocks of floats and
// end with one sync of the file. The snapshot is the product's own: the checksum of every block,
// the RocksDB table, the sync, the whole read-back from the disk, the rename and the directory's
// sync are all in its time. It is compared with the plain file twice: written and synced (the floor
// of any checkpoint), and written, synced and read back from the disk as well (the floor of one
// that is checked). Rounds are interleaved; prints rows for results.py.
//
// Usage: snapshot_write DIRECTORY [MIB=512] [ROUNDS=5]

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/check.h"
#include "common/random.h"
#include "storage/checkpoint_store.h"
#include "tests/benchmarks/result_row.h"

namespace cairn::storage {
namespace {

constexpr size_t kBlockBytes = size_t{1} << 20;
constexpr int kBlocksInMemory = 64;

constexpr double kBar = 0.55;

using Clock = std::chrono::steady_clock;
using benchmarks::Median;
using benchmarks::PrintRow;

// MiB/s of one round.
struct Round {
  double written = 0;
  double read_back = 0;  // Written, and then read.
  double snapshot = 0;
};

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

void ReadFile(const std::string& path, int blocks) {
  const int file = open(path.c_str(), O_RDONLY);
  CAIRN_CHECK(file >= 0);
  std::vector<char> block(kBlockBytes);
  for (int i = 0; i < blocks; ++i) {
    CAIRN_CHECK(read(file, block.data(), block.size()) == static_cast<ssize_t>(block.size()));
  }
  close(file);
}

void WriteFile(const std::string& path, const std::vector<float>& values, int blocks,
               Round* round) {
  const auto begin = Clock::now();
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
  CAIRN_CHECK(file >= 0);
  for (int i = 0; i < blocks; ++i) {
    const std::string_view block = Block(values, i);
    CAIRN_CHECK(write(file, block.data(), block.size()) == static_cast<ssize_t>(block.size()));
  }
  CAIRN_CHECK(fsync(file) == 0);
  round->written = MiBPerSecond(blocks, begin);
  // What is read next comes from the disk, as a snapshot's read-back does.
  CAIRN_CHECK(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0);
  close(file);
  ReadFile(path, blocks);
  round->read_back = MiBPerSecond(blocks, begin);
  std::filesystem::remove(path);
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

void Print(const std::vector<Round>& rounds, const char* peer, double Round::*peer_value,
           std::optional<double> at_least) {
  std::vector<double> snapshots, peers, ratios;
  for (const Round& round : rounds) {
    snapshots.push_back(round.snapshot);
    peers.push_back(round.*peer_value);
    ratios.push_back(snapshots.back() / peers.back());
  }
  PrintRow({.name = std::string("a snapshot, beside a file ") + peer,
            .value = Median(snapshots),
            .unit = "MiB/s",
            .peer = std::string("plain file, ") + peer,
            .peer_value = Median(peers),
            .ratio = Median(ratios),
            .at_least = at_least});
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
  std::vector<Round> all(rounds);
  for (Round& round : all) {
    WriteFile(directory + "/plain_file", values, blocks, &round);
    round.snapshot = WriteSnapshot(store->get(), values, blocks);
  }
  Print(all, "written and synced", &Round::written, kBar);
  Print(all, "written, synced, read back", &Round::read_back, std::nullopt);
  store->reset();
  std::filesystem::remove_all(directory + "/snapshot_write");
  return 0;
}

}  // namespace
}  // namespace cairn::storage

int main(int argc, char** argv) { return cairn::storage::Main(argc, argv); }
