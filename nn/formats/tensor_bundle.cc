#include "nn/formats/tensor_bundle.h"

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/half.h"
#include "common/status_macros.h"
#include "nn/formats/crc32c.h"
#include "nn/formats/json_node.h"
#include "nn/formats/json_text.h"
#include "nn/formats/keras_config.h"
#include "nn/formats/sorted_table.h"
#include "nn/model.h"
#include "proto/tensorflow.pb.h"

namespace cairn::nn {
namespace {

namespace tf = ::cairn::tensorflow;
using nlohmann::json;

constexpr char kIndexSuffix[] = ".index";
// What the names of variables end with where objects have them.
constexpr char kValueSuffix[] = "/.ATTRIBUTES/VARIABLE_VALUE";
constexpr char kValueAttribute[] = "VARIABLE_VALUE";
constexpr char kObjectsKey[] = "_CHECKPOINTABLE_OBJECT_GRAPH";
// TensorFlow writes one data file per device.
constexpr int kShardsMax = 1024;

absl::Status At(const std::string& key, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("variable ", key, " ", what));
}

std::string DataSuffix(int shard, int shards) {
  return absl::StrFormat(".data-%05d-of-%05d", shard, shards);
}

// Bytes of an element that is read as a float; 0: it is not.
int ElementBytes(tf::DataType type) {
  switch (type) {
    case tf::DT_FLOAT:
      return 4;
    case tf::DT_DOUBLE:
      return 8;
    case tf::DT_BFLOAT16:
    case tf::DT_HALF:
      return 2;
    default:
      return 0;
  }
}

template <typename T>
T Element(std::string_view bytes, size_t index) {
  T element;
  std::memcpy(&element, bytes.data() + index * sizeof(T), sizeof(T));
  return element;
}

float FloatAt(std::string_view bytes, size_t index, tf::DataType type) {
  switch (type) {
    case tf::DT_DOUBLE:
      return static_cast<float>(Element<double>(bytes, index));
    case tf::DT_HALF:
      return FloatFromFloat16(Element<uint16_t>(bytes, index));
    case tf::DT_BFLOAT16:
      return FloatFromBfloat16(Element<uint16_t>(bytes, index));
    default:
      return Element<float>(bytes, index);
  }
}

// Steps, moments and learning rates, which belong to no layer.
bool IsOfOptimizer(const std::string& key) {
  for (const absl::string_view part : absl::StrSplit(key, '/')) {
    if (part == "optimizer" || part == "_optimizer" || part == ".OPTIMIZER_SLOT") return true;
  }
  return false;
}

std::string WithoutSuffix(const std::string& key) {
  return std::string(absl::StripSuffix(key, kValueSuffix));
}

class Reader {
 public:
  static absl::StatusOr<Reader> Open(std::string_view file) {
    Reader reader;
    CAIRN_ASSIGN_OR_RETURN(reader.entries_, ReadSortedTable(file));
    tf::BundleHeaderProto header;
    const auto found = reader.entries_.find("");
    if (found == reader.entries_.end() || !header.ParseFromString(found->second)) {
      return absl::InvalidArgumentError("a table that is not the index of a TensorFlow checkpoint");
    }
    if (header.endianness() != tf::BundleHeaderProto::LITTLE) {
      return absl::InvalidArgumentError("the checkpoint is of a big-endian machine");
    }
    if (header.num_shards() < 1 || header.num_shards() > kShardsMax) {
      return absl::InvalidArgumentError(absl::StrCat("the checkpoint has ", header.num_shards(),
                                                     " data files; 1 to ", kShardsMax,
                                                     " are read"));
    }
    reader.shards_ = header.num_shards();
    reader.entries_.erase(found);
    return reader;
  }

  int shards() const { return shards_; }

  absl::StatusOr<std::vector<NamedTensor>> Read(absl::Span<const std::string> data) {
    if (data.size() != static_cast<size_t>(shards_)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the checkpoint has ", shards_, " data files, not ", data.size()));
    }
    // Variables that share bytes would make a small file large.
    for (const std::string& file : data) bytes_left_ += file.size();
    CAIRN_ASSIGN_OR_RETURN(const auto names, Names(data));
    std::vector<NamedTensor> tensors;
    for (const auto& [key, text] : entries_) {
      if (key == kObjectsKey || IsOfOptimizer(key)) continue;
      tf::BundleEntryProto entry;
      if (!entry.ParseFromString(text)) return At(key, "has a damaged description");
      if (ElementBytes(entry.dtype()) == 0) continue;
      CAIRN_ASSIGN_OR_RETURN(NamedTensor tensor, ReadTensor(key, entry, data));
      const auto name = names.find(key);
      tensor.name = name == names.end() ? WithoutSuffix(key) : name->second;
      keys_.push_back(WithoutSuffix(key));
      tensors.push_back(std::move(tensor));
    }
    MakeUnique(&tensors);
    return tensors;
  }

  // Of the variables that Read returned, in order.
  const std::vector<std::string>& keys() const { return keys_; }

 private:
  absl::StatusOr<std::string_view> Bytes(const std::string& key, const tf::BundleEntryProto& entry,
                                         absl::Span<const std::string> data) {
    if (entry.slices_size() > 0) {
      return At(key, "is stored in slices (a partitioned variable), which are not read");
    }
    if (entry.shard_id() < 0 || entry.shard_id() >= shards_) {
      return At(key, "is in a data file that there is not");
    }
    const std::string_view file = data[entry.shard_id()];
    const int64_t size = file.size();
    if (entry.offset() < 0 || entry.size() < 0 || entry.offset() > size ||
        entry.size() > size - entry.offset()) {
      return At(key, "is beyond the end of its data file");
    }
    bytes_left_ -= entry.size();
    if (bytes_left_ < 0) return At(key, "overlaps another one");
    return file.substr(entry.offset(), entry.size());
  }

  absl::StatusOr<NamedTensor> ReadTensor(const std::string& key, const tf::BundleEntryProto& entry,
                                         absl::Span<const std::string> data) {
    CAIRN_ASSIGN_OR_RETURN(const std::string_view bytes, Bytes(key, entry, data));
    NamedTensor tensor;
    int64_t count = 1;
    for (const auto& dim : entry.shape().dim()) {
      if (dim.size() <= 0 || __builtin_mul_overflow(count, dim.size(), &count)) {
        return At(key, "has an empty or too large shape");
      }
      tensor.shape.push_back(dim.size());
    }
    const int64_t width = ElementBytes(entry.dtype());
    if (static_cast<int64_t>(bytes.size()) % width != 0 ||
        count != static_cast<int64_t>(bytes.size()) / width) {
      return At(key, "has values that do not fill its shape");
    }
    if (MaskedCrc(Crc32c(bytes)) != entry.crc32c()) return At(key, "has a wrong checksum");
    tensor.values.reserve(count);
    for (int64_t i = 0; i < count; ++i) tensor.values.push_back(FloatAt(bytes, i, entry.dtype()));
    return tensor;
  }

  // Variables with the same name take their keys, but for copies: Keras's model.export() stores all
  // variables twice.
  void MakeUnique(std::vector<NamedTensor>* tensors) {
    std::map<std::string, std::vector<size_t>> places;
    for (size_t i = 0; i < tensors->size(); ++i) places[(*tensors)[i].name].push_back(i);
    std::set<size_t> copies;
    for (const auto& [name, same] : places) {
      const NamedTensor& first = (*tensors)[same[0]];
      bool differ = false;
      for (const size_t i : same) {
        const NamedTensor& other = (*tensors)[i];
        differ = differ || other.shape != first.shape || other.values != first.values;
      }
      if (!differ) copies.insert(same.begin() + 1, same.end());
      for (const size_t i : same) {
        if (differ) (*tensors)[i].name = keys_[i];
      }
    }
    size_t kept = 0;
    for (size_t i = 0; i < tensors->size(); ++i) {
      if (copies.contains(i)) continue;
      if (kept != i) {
        (*tensors)[kept] = std::move((*tensors)[i]);
        keys_[kept] = std::move(keys_[i]);
      }
      ++kept;
    }
    tensors->resize(kept);
    keys_.resize(kept);
  }

  // By key, from the graph of objects: "dense/kernel". A checkpoint of TensorFlow 1 has no objects;
  // its keys are the names.
  absl::StatusOr<std::map<std::string, std::string>> Names(absl::Span<const std::string> data) {
    std::map<std::string, std::string> names;
    const auto found = entries_.find(kObjectsKey);
    if (found == entries_.end()) return names;
    tf::BundleEntryProto entry;
    if (!entry.ParseFromString(found->second)) return At(kObjectsKey, "has a damaged description");
    CAIRN_ASSIGN_OR_RETURN(std::string_view bytes, Bytes(kObjectsKey, entry, data));
    // One string: its length, a checksum of the length, the string.
    size_t length_bytes = 0;
    while (length_bytes < bytes.size() && (bytes[length_bytes] & 0x80) != 0) ++length_bytes;
    constexpr size_t kChecksumBytes = 4;
    tf::TrackableObjectGraph graph;
    if (bytes.size() < length_bytes + 1 + kChecksumBytes) {
      return At(kObjectsKey, "is damaged");
    }
    bytes.remove_prefix(length_bytes + 1 + kChecksumBytes);
    if (!graph.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return At(kObjectsKey, "is damaged");
    }
    for (const auto& node : graph.nodes()) {
      for (const auto& attribute : node.attributes()) {
        if (attribute.name() != kValueAttribute || attribute.full_name().empty()) continue;
        names.emplace(attribute.checkpoint_key(), attribute.full_name());
      }
    }
    return names;
  }

  std::map<std::string, std::string> entries_;
  int shards_ = 0;
  int64_t bytes_left_ = 0;
  std::vector<std::string> keys_;
};

struct Mapping {
  std::string checkpoint;
  std::map<std::string, std::string> variables;  // By the name in the model: that in the file.
};

absl::StatusOr<Mapping> ParseMapping(std::string_view text) {
  CAIRN_ASSIGN_OR_RETURN(const json document, ParseJson(text));
  const auto checkpoint = document.find("checkpoint");
  const auto variables = document.find("variables");
  if (checkpoint == document.end() || !checkpoint->is_string() || variables == document.end() ||
      !variables->is_object() || document.size() != 2) {
    return absl::InvalidArgumentError(
        R"(a mapping has two members: {"checkpoint": "run/ckpt-7", "variables": {"dense/kernel": "its name there"}})");
  }
  Mapping mapping{checkpoint->get<std::string>(), {}};
  for (const auto& [name, theirs] : variables->items()) {
    if (!theirs.is_string()) {
      return absl::InvalidArgumentError(absl::StrCat("variables.", name, ": must be a string"));
    }
    mapping.variables[name] = theirs.get<std::string>();
  }
  return mapping;
}

// Where tf.keras has a variable below its layer: "kernel", "cell/bias".
std::string ObjectPath(const Layer& layer, size_t variable) {
  const std::vector<std::string> parts = absl::StrSplit(layer.variables()[variable].spec.name, '/');
  const std::string& class_name = layer.class_name();
  if (class_name == "LSTM" || class_name == "GRU" || class_name == "SimpleRNN" ||
      class_name == "RNN" || class_name == "ConvLSTM1D" || class_name == "ConvLSTM2D") {
    return absl::StrCat("cell/", parts.back());
  }
  if (class_name == "Bidirectional") {
    const bool is_forward = variable < layer.variables().size() / 2;
    return absl::StrCat(is_forward ? "forward_layer" : "backward_layer", "/cell/", parts.back());
  }
  if (class_name == "MultiHeadAttention") {
    const char* const parts_of_attention[] = {"query", "key", "value", "output"};
    const size_t each = layer.variables().size() / 4;
    return absl::StrCat("_", parts_of_attention[variable / each], "_dense/", parts.back());
  }
  return parts.back();
}

// The objects of a model, of which each has a name in the one above it.
class Objects {
 public:
  Objects() { graph_.add_nodes(); }

  // Gives the object `child` a name in `node`.
  void Name(int node, const std::string& name, int child) {
    if (!children_.emplace(std::pair(node, name), child).second) return;
    auto* const reference = graph_.mutable_nodes(node)->add_children();
    reference->set_node_id(child);
    reference->set_local_name(name);
  }

  // Makes the objects of a path below `node`, and returns the last one.
  int Make(int node, const std::string& path) {
    for (const std::string& name : std::vector<std::string>(absl::StrSplit(path, '/'))) {
      const auto found = children_.find({node, name});
      const int child = found == children_.end() ? graph_.nodes_size() : found->second;
      if (found == children_.end()) graph_.add_nodes();
      Name(node, name, child);
      node = child;
    }
    return node;
  }

  // Makes a variable below a layer. Keras 2 and 3 name some of them otherwise.
  void MakeVariable(int layer, const std::string& path, const std::string& name) {
    static const auto* const others =
        new std::map<std::string, std::string>{{"kernel", "_kernel"},
                                               {"depthwise_kernel", "kernel"},
                                               {"embeddings", "_embeddings"},
                                               {"mean", "adapt_mean"},
                                               {"variance", "adapt_variance"}};
    const size_t slash = path.rfind('/');
    const int owner = slash == std::string::npos ? layer : Make(layer, path.substr(0, slash));
    const std::string last = path.substr(slash + 1);
    const int variable = Make(owner, last);
    if (const auto other = others->find(last); other != others->end()) {
      Name(owner, other->second, variable);
    }
    auto* const attribute = graph_.mutable_nodes(variable)->add_attributes();
    attribute->set_name(kValueAttribute);
    attribute->set_full_name(name);
    attribute->set_checkpoint_key(name + kValueSuffix);
  }

  // The root is the model itself, for model.load_weights(), and has it as "model", for
  // tf.train.Checkpoint(model=model).
  std::string Finish() {
    const int model = graph_.nodes_size();
    *graph_.add_nodes() = tf::TrackableObjectGraph::TrackableObject(graph_.nodes(0));
    Name(0, "model", model);
    return graph_.SerializeAsString();
  }

 private:
  tf::TrackableObjectGraph graph_;
  std::map<std::pair<int, std::string>, int> children_;
};

// Empty: the model's objects are not known.
std::string ObjectsOf(const proto::ModelSpec& spec, absl::Span<const NamedTensor> weights) {
  const auto model = Model::CreateForExport(spec);
  if (!model.ok() || !CheckWeights((*model)->variables(), weights).ok()) return "";
  for (const Model::Node& node : (*model)->nodes()) {
    if (absl::StrContains(node.layer->name(), '/')) return "";
  }
  const auto config = WriteKerasConfig(spec, **model);
  if (!config.ok()) return "";
  Objects objects;
  // Keras 3 has all layers in a list, and in a Sequential below another model. With masks it has
  // operations between them that compute masks, so places in the list are not known. tf.keras
  // numbers the layers that have variables.
  bool has_masks = false;
  for (const Model::Node& node : (*model)->nodes()) {
    for (const int mask : node.masks) has_masks = has_masks || mask >= 0;
  }
  const int operations = objects.Make(0, has_masks ? "layers" : "_operations");
  if (!has_masks) objects.Name(objects.Make(0, "_functional"), "_operations", operations);
  int with_weights = 0;
  for (size_t place = 0; place < config->layers.size(); ++place) {
    const Model::Node& node = (*model)->nodes()[config->layers[place]];
    if (node.layer->variables().empty()) continue;
    const int layer = objects.Make(operations, absl::StrCat(place));
    objects.Name(0, absl::StrCat("layer_with_weights-", with_weights++), layer);
    for (size_t i = 0; i < node.layer->variables().size(); ++i) {
      objects.MakeVariable(layer, ObjectPath(*node.layer, i),
                           weights[node.first_variable + i].name);
    }
  }
  return objects.Finish();
}

template <typename T>
std::string_view BytesOf(const T& number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

class Writer {
 public:
  void Add(const std::string& key, tf::DataType type, const std::vector<int64_t>& shape,
           std::string_view bytes, uint32_t crc) {
    tf::BundleEntryProto entry;
    entry.set_dtype(type);
    entry.mutable_shape();
    for (const int64_t size : shape) entry.mutable_shape()->add_dim()->set_size(size);
    entry.set_offset(data_.size());
    entry.set_size(bytes.size());
    entry.set_crc32c(MaskedCrc(crc));
    entries_[key] = entry.SerializeAsString();
    data_.append(bytes);
  }

  void AddString(const std::string& key, const std::string& text) {
    std::string bytes;
    size_t length = text.size();
    for (; length >= 128; length >>= 7) bytes.push_back(static_cast<char>(length | 128));
    bytes.push_back(static_cast<char>(length));
    // The checksum covers the length as a number of 4 bytes.
    const uint32_t length_crc = Crc32c(BytesOf(static_cast<uint32_t>(text.size())));
    const uint32_t checksum = MaskedCrc(length_crc);
    bytes.append(BytesOf(checksum));
    bytes.append(text);
    Add(key, tf::DT_STRING, {}, bytes, Crc32c(text, Crc32c(BytesOf(checksum), length_crc)));
  }

  bool Has(const std::string& key) const { return entries_.find(key) != entries_.end(); }

  std::vector<std::string> Finish() {
    tf::BundleHeaderProto header;
    header.set_num_shards(1);
    header.mutable_version()->set_producer(1);
    entries_[""] = header.SerializeAsString();
    return {std::move(data_), WriteSortedTable(entries_)};
  }

 private:
  std::map<std::string, std::string> entries_;
  std::string data_;
};

}  // namespace

bool IsTensorBundle(std::string_view file) { return IsSortedTable(file); }

absl::StatusOr<std::vector<std::string>> TensorBundleFiles(std::string_view file,
                                                           std::string_view file_name) {
  CAIRN_ASSIGN_OR_RETURN(const Reader reader, Reader::Open(file));
  const absl::string_view name(file_name.data(), file_name.size());
  if (!absl::EndsWith(name, kIndexSuffix)) {
    return absl::InvalidArgumentError(
        "the index of a TensorFlow checkpoint must be named PREFIX.index, beside its "
        "PREFIX.data-00000-of-00001");
  }
  std::vector<std::string> files;
  for (int shard = 0; shard < reader.shards(); ++shard) {
    files.push_back(
        absl::StrCat(absl::StripSuffix(name, kIndexSuffix), DataSuffix(shard, reader.shards())));
  }
  return files;
}

absl::StatusOr<ImportedModel> ReadTensorBundle(std::string_view file,
                                               absl::Span<const std::string> data) {
  CAIRN_ASSIGN_OR_RETURN(Reader reader, Reader::Open(file));
  ImportedModel model;
  CAIRN_ASSIGN_OR_RETURN(model.weights, reader.Read(data));
  return model;
}

absl::StatusOr<std::vector<std::string>> MappedBundleFiles(std::string_view mapping,
                                                           std::string_view) {
  CAIRN_ASSIGN_OR_RETURN(const Mapping parsed, ParseMapping(mapping));
  return std::vector<std::string>{parsed.checkpoint + kIndexSuffix,
                                  parsed.checkpoint + DataSuffix(0, 1)};
}

absl::StatusOr<ImportedModel> ReadMappedBundle(std::string_view mapping,
                                               absl::Span<const std::string> files) {
  CAIRN_ASSIGN_OR_RETURN(const Mapping parsed, ParseMapping(mapping));
  if (files.empty()) return absl::InvalidArgumentError("the mapping's checkpoint is missing");
  CAIRN_ASSIGN_OR_RETURN(Reader reader, Reader::Open(files[0]));
  ImportedModel model;
  CAIRN_ASSIGN_OR_RETURN(model.weights, reader.Read(files.subspan(1)));
  std::set<size_t> renamed;
  for (const auto& [name, theirs] : parsed.variables) {
    size_t i = 0;
    while (i < model.weights.size() && reader.keys()[i] != WithoutSuffix(theirs) &&
           (renamed.contains(i) || model.weights[i].name != theirs)) {
      ++i;
    }
    if (i == model.weights.size() || !renamed.insert(i).second) {
      return absl::InvalidArgumentError(absl::StrCat("variables.", name, ": the checkpoint ",
                                                     i == model.weights.size()
                                                         ? "has no floating-point variable "
                                                         : "has for two variables only one ",
                                                     theirs));
    }
    model.weights[i].name = name;
  }
  return model;
}

absl::StatusOr<std::vector<std::string>> WriteTensorBundle(const proto::ModelSpec& spec,
                                                           absl::Span<const NamedTensor> weights) {
  const std::string objects = ObjectsOf(spec, weights);
  Writer writer;
  for (const NamedTensor& tensor : weights) {
    CAIRN_RETURN_IF_ERROR(CheckFilled(tensor));
    const std::string key = objects.empty() ? tensor.name : tensor.name + kValueSuffix;
    if (tensor.name.empty() || writer.Has(key)) {
      return absl::InvalidArgumentError(absl::StrCat("two weights are named ", tensor.name));
    }
    const std::string_view bytes(reinterpret_cast<const char*>(tensor.values.data()),
                                 tensor.values.size() * sizeof(float));
    writer.Add(key, tf::DT_FLOAT, tensor.shape, bytes, Crc32c(bytes));
  }
  if (!objects.empty()) writer.AddString(kObjectsKey, objects);
  return writer.Finish();
}

}  // namespace cairn::nn
