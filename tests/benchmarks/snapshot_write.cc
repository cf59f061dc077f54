// Compares a snapshot of a ps with a plain file on the same disk. Both write the same blocks of
// floats and end with one sync. There are three rows: writing the snapshot (checksums of all
// blocks, the RocksDB table, the sync) against writing and syncing the file; the whole snapshot
// (also the read-back from disk, the rename and the sync of the directory) against a file that is
// read back too; and the whole snapshot against a file that is only written, which shows the cost
// of the check. Rounds are interleaved. Prints rows for results.py.
//
// Usage: snapshot_write DIRECTORY [MIB=512] [ROUNDS=5]

#include <fcntl.h>
#include <rocksdb/env.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/random.h"
#include "storage/snapshot_store.h"
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
  double read_back = 0;  // Written and then read.
  double snapshot_written = 0;
  double snapshot = 0;
};

// Records the time at which a written and synced snapshot is opened for its read-back.
class WatchedEnv : public rocksdb::EnvWrapper {
 public:
  WatchedEnv() : rocksdb::EnvWrapper(rocksdb::Env::Default()) {}

  rocksdb::Status NewRandomAccessFile(const std::string& path,
                                      std::unique_ptr<rocksdb::RandomAccessFile>* file,
                                      const rocksdb::EnvOptions& options) override {
    if (!opened_.has_value()) opened_ = Clock::now();
    return target()->NewRandomAccessFile(path, file, options);
  }

  // The time of the first open since the previous call.
  Clock::time_point TakeOpened() {
    CAIRN_CHECK(opened_.has_value());
    return *std::exchange(opened_, std::nullopt);
  }

 private:
  std::optional<Clock::time_point> opened_;
};

// Small random weights, which compress as little as real ones.
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

double MiBPerSecond(int blocks, Clock::time_point begin, Clock::time_point end = Clock::now()) {
  return blocks / std::chrono::duration<double>(end - begin).count();
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
  // Drops the page cache, so that the next read comes from the disk, as in a snapshot's read-back.
  CAIRN_CHECK(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0);
  close(file);
  ReadFile(path, blocks);
  round->read_back = MiBPerSecond(blocks, begin);
  std::filesystem::remove(path);
}

void WriteSnapshot(SnapshotStore* store, WatchedEnv* env, const std::vector<float>& values,
                   int blocks, Round* round) {
  const auto begin = Clock::now();
  auto writer = store->BeginSnapshot(1, 1);
  CAIRN_CHECK(writer.ok());
  for (int i = 0; i < blocks; ++i) {
    CAIRN_CHECK((*writer)->Add(i, "a header of about the usual size", {Block(values, i)}).ok());
  }
  CAIRN_CHECK((*writer)->Finish().ok());
  round->snapshot = MiBPerSecond(blocks, begin);
  round->snapshot_written = MiBPerSecond(blocks, begin, env->TakeOpened());
  CAIRN_CHECK(store->DeleteCheckpoint(1, 1).ok());
}

using Rate = double Round::*;

void Print(const std::vector<Round>& rounds, const std::string& name, Rate snapshot,
           const std::string& peer_name, Rate peer, std::optional<double> at_least) {
  std::vector<double> snapshots, peers, ratios;
  for (const Round& round : rounds) {
    snapshots.push_back(round.*snapshot);
    peers.push_back(round.*peer);
    ratios.push_back(snapshots.back() / peers.back());
  }
  PrintRow({.name = "a snapshot " + name,
            .value = Median(snapshots),
            .unit = "MiB/s",
            .peer = "plain file " + peer_name,
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
  WatchedEnv env;
  auto store = SnapshotStore::Open(directory + "/snapshot_write", &env);
  CAIRN_CHECK(store.ok());
  const std::vector<float> values = MakeBlocks();
  std::vector<Round> all(rounds);
  for (Round& round : all) {
    WriteFile(directory + "/plain_file", values, blocks, &round);
    WriteSnapshot(store->get(), &env, values, blocks, &round);
  }
  const std::string written = "written and synced", checked = "written, synced, read back";
  Print(all, written, &Round::snapshot_written, written, &Round::written, kBar);
  Print(all, checked, &Round::snapshot, checked, &Round::read_back, kBar);
  Print(all, "read back, the file not", &Round::snapshot, written, &Round::written, std::nullopt);
  store->reset();
  std::filesystem::remove_all(directory + "/snapshot_write");
  return 0;
}

}  // namespace
}  // namespace cairn::storage

int main(int argc, char** argv) { return cairn::storage::Main(argc, argv); }
