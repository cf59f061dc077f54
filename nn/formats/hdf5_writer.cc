#include "nn/formats/hdf5_writer.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>

#include "absl/strings/str_split.h"

namespace cairn::nn {
namespace {

// The default sizes of nodes, of which the superblock has the halves.
constexpr size_t kEntriesPerLeaf = 8;
constexpr size_t kChildrenPerNode = 32;
constexpr size_t kEntryBytes = 40;
constexpr uint64_t kUndefined = ~uint64_t{0};

enum MessageType : uint16_t { kDataspace = 1, kDatatype = 3, kFill = 5, kLayout = 8, kTable = 17 };

template <typename T>
void Append(std::string* bytes, T number) {
  bytes->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void Align(std::string* bytes) { bytes->resize((bytes->size() + 7) / 8 * 8); }

// A group, or a data set.
struct Member {
  std::map<std::string, Member> members;
  const NamedTensor* tensor = nullptr;
};

// Members in a node: the node's address, and the name of its last member as a place in the heap.
struct Child {
  uint64_t address = 0;
  uint64_t last_name = 0;
};

class Writer {
 public:
  std::string Write(const Member& root) {
    constexpr size_t kSuperblockBytes = 96;
    bytes_.resize(kSuperblockBytes);
    const uint64_t header = WriteMember(root);
    std::string superblock("\x89HDF\r\n\x1a\n\0\0\0\0\0\x08\x08\0", 16);
    Append<uint16_t>(&superblock, kEntriesPerLeaf / 2);
    Append<uint16_t>(&superblock, kChildrenPerNode / 2);
    Append<uint32_t>(&superblock, 0);
    for (const uint64_t address : {uint64_t{0}, kUndefined, uint64_t{bytes_.size()}, kUndefined}) {
      Append(&superblock, address);
    }
    AppendEntry(&superblock, 0, header);
    bytes_.replace(0, superblock.size(), superblock);
    return std::move(bytes_);
  }

 private:
  // All of these return the address of what they wrote.

  uint64_t WriteMember(const Member& member) {
    return member.tensor != nullptr ? WriteDataSet(*member.tensor) : WriteGroup(member.members);
  }

  uint64_t WriteDataSet(const NamedTensor& tensor) {
    const uint64_t size = tensor.values.size() * sizeof(float);
    const uint64_t data = Place(std::string_view(
        reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size() * sizeof(float)));
    std::string shape = {1, static_cast<char>(tensor.shape.size()), 0, 0, 0, 0, 0, 0};
    for (const int64_t dimension : tensor.shape) Append(&shape, dimension);
    // An IEEE 754 float: sign, exponent and fraction from bits 31, 23 and 0.
    const std::string type("\x11\x20\x1f\0\x04\0\0\0\0\0\x20\0\x17\x08\0\x17\x7f\0\0\0", 20);
    const std::string fill("\x02\x02\x02\0", 4);
    std::string layout = {3, 1};
    Append(&layout, data);
    Append(&layout, size);
    return WriteObject({{kDataspace, shape}, {kDatatype, type}, {kFill, fill}, {kLayout, layout}});
  }

  uint64_t WriteGroup(const std::map<std::string, Member>& members) {
    // The heap begins with the empty name, which is before all others.
    std::string names(8, '\0');
    std::vector<Child> children;
    size_t in_leaf = 0;
    std::string entries;
    for (const auto& [name, member] : members) {
      const uint64_t place = names.size();
      names += name;
      names += '\0';
      Align(&names);
      AppendEntry(&entries, place, WriteMember(member));
      if (++in_leaf == kEntriesPerLeaf) {
        children.push_back({WriteLeaf(entries), place});
        entries.clear();
        in_leaf = 0;
      } else if (children.size() * kEntriesPerLeaf + in_leaf == members.size()) {
        children.push_back({WriteLeaf(entries), place});
      }
    }
    uint8_t level = 0;
    do {
      std::vector<Child> nodes;
      for (size_t i = 0; i < std::max<size_t>(1, children.size()); i += kChildrenPerNode) {
        nodes.push_back(WriteNode(level, children, i));
      }
      children = std::move(nodes);
      ++level;
    } while (children.size() > 1);
    std::string heap("HEAP\0\0\0\0", 8);
    constexpr uint64_t kNoFreeSpace = 1;
    for (const uint64_t number : {uint64_t{names.size()}, kNoFreeSpace, Place(names)}) {
      Append(&heap, number);
    }
    std::string table;
    Append(&table, children[0].address);
    Append(&table, Place(heap));
    return WriteObject({{kTable, table}});
  }

  uint64_t WriteLeaf(const std::string& entries) {
    std::string leaf("SNOD\x01\0", 6);
    Append<uint16_t>(&leaf, entries.size() / kEntryBytes);
    leaf += entries;
    leaf.resize(8 + kEntriesPerLeaf * kEntryBytes);
    return Place(leaf);
  }

  // A node with the children from `first` on. The keys around a child are the last name before it
  // and its last name.
  Child WriteNode(uint8_t level, const std::vector<Child>& children, size_t first) {
    const size_t end = std::min(children.size(), first + kChildrenPerNode);
    std::string node = {'T', 'R', 'E', 'E', 0, static_cast<char>(level)};
    Append<uint16_t>(&node, end - first);
    const uint64_t place = NextPlace();
    constexpr size_t kNodeBytes = 24 + 8 * (2 * kChildrenPerNode + 1);
    // Neighbours are written one after the other.
    Append<uint64_t>(&node, first == 0 ? kUndefined : place - kNodeBytes);
    Append<uint64_t>(&node, end == children.size() ? kUndefined : place + kNodeBytes);
    Append<uint64_t>(&node, first == 0 ? 0 : children[first - 1].last_name);
    for (size_t i = first; i < end; ++i) {
      Append(&node, children[i].address);
      Append(&node, children[i].last_name);
    }
    node.resize(kNodeBytes);
    return {Place(node), end == 0 ? 0 : children[end - 1].last_name};
  }

  struct Message {
    uint16_t type;
    std::string body;
  };

  uint64_t WriteObject(std::vector<Message> messages) {
    std::string body;
    for (Message& message : messages) {
      Align(&message.body);
      Append(&body, message.type);
      Append<uint16_t>(&body, message.body.size());
      Append<uint32_t>(&body, 0);
      body += message.body;
    }
    std::string header = {1, 0};
    Append<uint16_t>(&header, messages.size());
    Append<uint32_t>(&header, 1);  // The number of links to the object.
    Append<uint32_t>(&header, body.size());
    Append<uint32_t>(&header, 0);
    return Place(header + body);
  }

  static void AppendEntry(std::string* bytes, uint64_t name, uint64_t header) {
    Append(bytes, name);
    Append(bytes, header);
    bytes->append(24, '\0');
  }

  uint64_t NextPlace() {
    Align(&bytes_);
    return bytes_.size();
  }

  uint64_t Place(std::string_view bytes) {
    const uint64_t place = NextPlace();
    bytes_ += bytes;
    return place;
  }

  std::string bytes_;
};

}  // namespace

std::string WriteHdf5(const std::vector<Hdf5DataSet>& data_sets) {
  Member root;
  for (const Hdf5DataSet& data_set : data_sets) {
    Member* member = &root;
    for (const absl::string_view name : absl::StrSplit(data_set.path, '/')) {
      member = &member->members[std::string(name)];
    }
    member->tensor = data_set.tensor;
  }
  return Writer().Write(root);
}

}  // namespace cairn::nn
