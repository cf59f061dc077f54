#ifndef CAIRN_NN_FORMATS_HDF5_FILE_H_
#define CAIRN_NN_FORMATS_HDF5_FILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/formats/imported_model.h"

namespace cairn::nn {

// An HDF5 file in memory, in the oldest version of the format, which h5py and so all versions of
// Keras write: groups with symbol tables, contiguous data sets of numbers, attributes that are
// strings.
//
//   CAIRN_ASSIGN_OR_RETURN(const Hdf5File file, Hdf5File::Open(bytes));
//   CAIRN_ASSIGN_OR_RETURN(NamedTensor kernel, file.Read("layers/dense/vars/0"));
//
// This is own code because the input is foreign: the HDF5 library resolves links to other files,
// decompresses, and has known overflows in its parser. Nothing here follows an address before it
// is checked, no object is read twice, and no memory is allocated for sizes that the file does not
// contain. Links, external storage, compression and newer versions of the format are rejected by
// name.
//
// All errors are InvalidArgument. Immutable and thread-safe. A view: `bytes` must outlive it.
class Hdf5File {
 public:
  // Reads the tree of groups.
  static absl::StatusOr<Hdf5File> Open(std::string_view bytes);

  // The paths of all data sets, in order; without a leading slash.
  std::vector<std::string> DataSets() const;
  bool HasDataSet(const std::string& path) const;

  // A data set of float16, float32 or float64 numbers. Its name is the path.
  absl::StatusOr<NamedTensor> Read(const std::string& path) const;

  // The strings of an attribute of the group at `path` ("" is the root); empty if there is no such
  // attribute. A string that is no list counts as a list of one.
  absl::StatusOr<std::vector<std::string>> Strings(const std::string& path,
                                                   const std::string& attribute) const;

 private:
  struct Message {
    uint16_t type = 0;
    std::string_view body;
  };
  struct Object {
    std::vector<Message> messages;
    bool is_group = false;
  };
  // The type of elements.
  struct Type {
    enum class Kind { kFloat, kString, kVariableString } kind = Kind::kFloat;
    uint32_t bytes = 0;
  };

  explicit Hdf5File(std::string_view bytes) : bytes_(bytes) {}

  absl::Status ReadGroup(const std::string& path, uint64_t header, int depth);
  absl::Status ReadEntries(const std::string& path, uint64_t node, std::string_view names,
                           int depth, int level);
  absl::Status ReadEntry(const std::string& path, std::string_view entry, std::string_view names,
                         int depth);
  absl::StatusOr<Object> ReadObject(const std::string& path, uint64_t header);
  absl::StatusOr<std::string_view> Contents(const std::string& path, const Object& object,
                                            uint64_t size) const;
  absl::StatusOr<std::string> HeapString(std::string_view reference) const;
  static absl::StatusOr<Type> ReadType(const std::string& what, std::string_view message);

  // `count` bytes at an address of the file; InvalidArgument if it has fewer.
  absl::StatusOr<std::string_view> At(uint64_t address, uint64_t count) const;

  std::string_view bytes_;
  std::map<std::string, Object> objects_;  // By path.
  std::map<uint64_t, std::string> seen_;   // By address: the object or the node's group.
  size_t messages_ = 0;                    // Of all objects.
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_HDF5_FILE_H_
