#ifndef CAIRN_TESTS_PARAMETERS_TEST_PEER_H_
#define CAIRN_TESTS_PARAMETERS_TEST_PEER_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cluster/data_server.h"
#include "parameters/parameter_service.h"
#include "parameters/parameter_store.h"
#include "parameters/snapshots/snapshot_catalog.h"
#include "parameters/snapshots/upload_store.h"
#include "storage/snapshot_store.h"
#include "tests/common/free_port.h"

namespace cairn::parameters {

inline constexpr uint64_t kPeerCluster = 55;

// A ps that only serves the snapshots on its disk, `root`/ps-N, and what is in memory(), over gRPC.
class TestPeer {
 public:
  // `sees_others`: its catalog includes the directories beside its own.
  TestPeer(uint32_t ps, const std::string& root, bool sees_others = false)
      : ps_(ps),
        snapshots_(Open(absl::StrCat(root, "/ps-", ps))),
        uploads_(snapshots_.get()),
        catalog_(ps, snapshots_.get(), sees_others ? root : ""),
        store_(ps),
        service_({ps, &store_, &uploads_, &catalog_, &pool_}) {
    service_.set_cluster_id(kPeerCluster);
    Serve(testing::FreePort());
  }
  ~TestPeer() { Stop(); }

  // Stops serving.
  void Stop() { server_.reset(); }
  void Serve(int port) {
    auto server = cluster::DataServer::Start({absl::StrCat("127.0.0.1:", port)}, [this](auto call) {
      service_.Handle(std::move(call));
    });
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    port_ = server_->port();
  }

  uint32_t ps() const { return ps_; }
  int port() const { return port_; }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  storage::SnapshotStore* store() { return snapshots_.get(); }
  const SnapshotCatalog& catalog() const { return catalog_; }
  BufferPool* pool() { return &pool_; }
  ParameterStore* memory() { return &store_; }
  UploadStore* uploads() { return &uploads_; }

 private:
  static std::unique_ptr<storage::SnapshotStore> Open(const std::string& directory) {
    auto store = storage::SnapshotStore::Open(directory);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }

  const uint32_t ps_;
  const std::unique_ptr<storage::SnapshotStore> snapshots_;
  UploadStore uploads_;
  SnapshotCatalog catalog_;
  BufferPool pool_;
  ParameterStore store_;
  ParameterService service_;
  std::unique_ptr<cluster::DataServer> server_;
  int port_ = 0;
};

// Creates an empty directory for this test.
inline std::string FreshRoot() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string root =
      absl::StrCat(::testing::TempDir(), "/", test->test_suite_name(), "_", test->name());
  std::filesystem::remove_all(root);
  return root;
}

// Writes a snapshot of blocks 2, 4, ... 2 * blocks with payloads of `bytes` bytes, derived from
// `seed`.
inline proto::SnapshotPart WriteTestSnapshot(storage::SnapshotStore* store,
                                             const storage::SnapshotName& name, uint32_t ps,
                                             int seed, int blocks = 3, size_t bytes = 100) {
  auto writer = *store->BeginSnapshot(name);
  for (int i = 1; i <= blocks; ++i) {
    const std::string payload(bytes, static_cast<char>('a' + (seed + i) % 26));
    EXPECT_TRUE(writer->Add(2 * i, absl::StrCat("header ", i), {payload}).ok());
  }
  const auto summary = writer->Finish();
  EXPECT_TRUE(summary.ok()) << summary.status();
  proto::SnapshotPart part;
  part.set_ps(ps);
  part.set_blocks(summary->blocks);
  part.set_bytes(summary->bytes);
  part.set_checksum(summary->checksum);
  return part;
}

}  // namespace cairn::parameters

#endif  // CAIRN_TESTS_PARAMETERS_TEST_PEER_H_
