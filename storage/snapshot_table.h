#ifndef CAIRN_STORAGE_SNAPSHOT_TABLE_H_
#define CAIRN_STORAGE_SNAPSHOT_TABLE_H_

namespace rocksdb {
class Env;
struct Options;
}  // namespace rocksdb

namespace cairn::storage {

// How a snapshot's table file is laid out. Writer and reader of a file need the same. `env` is not
// owned; nullptr is the machine's own.
rocksdb::Options SnapshotTableOptions(rocksdb::Env* env);

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_SNAPSHOT_TABLE_H_
