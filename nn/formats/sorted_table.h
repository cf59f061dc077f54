#ifndef CAIRN_NN_FORMATS_SORTED_TABLE_H_
#define CAIRN_NN_FORMATS_SORTED_TABLE_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace cairn::nn {

// LevelDB's table format, as TensorFlow writes it: blocks of keys in order, which share prefixes,
// with an index at the end (leveldb/doc/table_format.md).

// True if the bytes end as a table does.
bool IsSortedTable(std::string_view file);

// Reads all keys and values. InvalidArgument: a checksum is wrong, a block is compressed, keys are
// out of order or longer than 4 KiB, or the file is damaged otherwise.
absl::StatusOr<std::map<std::string, std::string>> ReadSortedTable(std::string_view file);

// Writes an uncompressed table. Keys have 4 KiB at most.
std::string WriteSortedTable(const std::map<std::string, std::string>& entries);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_SORTED_TABLE_H_
