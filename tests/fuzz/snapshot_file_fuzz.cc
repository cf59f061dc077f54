// A snapshot file (a RocksDB table), as a ps reads it from its disk.

#include <rocksdb/env.h>

#include <string>

#include "common/check.h"
#include "storage/snapshot_reader.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"

namespace cairn::fuzz {

bool RunInput(std::string_view input) {
  const MemoryFile file(input);
  const auto reader = storage::SnapshotReader::Open(rocksdb::Env::Default(), file.path(), {1, 2});
  if (!reader.ok()) return false;
  const bool verified = (*reader)->Verify().ok();
  for (const uint32_t block : (*reader)->ListBlocks()) {
    const auto record = (*reader)->ReadBlock(block);
    CAIRN_CHECK(record.ok() || !verified);
  }
  return verified;
}

}  // namespace cairn::fuzz
