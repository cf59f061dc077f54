#ifndef CAIRN_TESTS_PARAMETERS_TEST_DISK_H_
#define CAIRN_TESTS_PARAMETERS_TEST_DISK_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "storage/snapshot_store.h"

namespace cairn::parameters {

// A real snapshot store in a directory that exists during the test.
class TestDisk {
 public:
  TestDisk() {
    std::string pattern = ::testing::TempDir() + "/ps-disk-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    Reopen();
  }
  ~TestDisk() {
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  // Reopens the store, as a restart of the process would.
  void Reopen() {
    store_.reset();
    auto opened = storage::SnapshotStore::Open(directory_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }

  storage::SnapshotStore* store() { return store_.get(); }
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
  std::unique_ptr<storage::SnapshotStore> store_;
};

}  // namespace cairn::parameters

#endif  // CAIRN_TESTS_PARAMETERS_TEST_DISK_H_
