#include "storage/snapshot_table.h"

#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

namespace cairn::storage {

rocksdb::Options SnapshotTableOptions(rocksdb::Env* env) {
  rocksdb::Options options;
  if (env != nullptr) options.env = env;
  // Weights do not compress: LZ4 and Zstandard save nothing and multiply the time by 1.3 to 3.
  options.compression = rocksdb::kNoCompression;
  // Write back continuously, so that the sync at the end is short and does not stall other users of
  // the disk.
  options.bytes_per_sync = 4 << 20;
  rocksdb::BlockBasedTableOptions table;
  table.no_block_cache = true;
  table.block_size = 64 << 10;
  table.checksum = rocksdb::kXXH3;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

}  // namespace cairn::storage
