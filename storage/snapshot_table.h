#ifndef CAIRN_STORAGE_SNAPSHOT_TABLE_H_
#define CAIRN_STORAGE_SNAPSHOT_TABLE_H_

namespace rocksdb {
class Env;
struct Options;
}  // namespace rocksdb

namespace cairn::storage {

// RocksDB's options for snapshot files. Writer and reader of a file must use the same options.
// `env` is not owned; nullptr means rocksdb::Env::Default().
rocksdb::Options SnapshotTableOptions(rocksdb::Env* env);

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_SNAPSHOT_TABLE_H_
