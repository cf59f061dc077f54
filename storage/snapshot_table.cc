#include "storage/snapshot_table.h"

#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

namespace cairn::storage {

rocksdb::Options SnapshotTableOptions(rocksdb::Env* env) {
  rocksdb::Options options;
  if (env != nullptr) options.env = env;
  // Weights do not compress: lz4 and zstd save nothing and cost 1.3 to 3 times.
  options.compression = rocksdb::kNoCompression;
  // Writes trickle out as they come, so that the sync at the end does not stall other users of the
  // disk.
  options.bytes_per_sync = 4 << 20;
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;
  table.block_size = 64 << 10;
  table.checksum = rocksdb::kXXH3;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

}  // namespace cairn::storage
