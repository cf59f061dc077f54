#include "worker/data/tfrecord/example_parser.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/functional/function_ref.h"

namespace cairn::worker {
namespace {

// Protobuf's wire types. Groups (3 and 4) do not occur in an Example.
constexpr uint32_t kVarint = 0;
constexpr uint32_t kFixed64 = 1;
constexpr uint32_t kBytes = 2;
constexpr uint32_t kFixed32 = 5;

// https://protobuf.dev/programming-guides/encoding. All functions return false at malformed bytes.
class Wire {
 public:
  explicit Wire(std::string_view bytes) : next_(bytes.data()), end_(next_ + bytes.size()) {}

  bool empty() const { return next_ == end_; }

  bool Varint(uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (empty()) return false;
      const auto byte = static_cast<unsigned char>(*next_++);
      *value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return true;
    }
    return false;
  }

  bool Tag(uint32_t* field, uint32_t* type) {
    uint64_t tag;
    if (!Varint(&tag) || tag > UINT32_MAX) return false;
    *field = static_cast<uint32_t>(tag) >> 3;
    *type = tag & 7;
    return *field > 0;
  }

  bool Bytes(std::string_view* bytes) {
    uint64_t size;
    if (!Varint(&size) || size > static_cast<uint64_t>(end_ - next_)) return false;
    *bytes = std::string_view(next_, size);
    next_ += size;
    return true;
  }

  bool Float(float* value) {
    if (end_ - next_ < 4) return false;
    std::memcpy(value, next_, 4);
    next_ += 4;
    return true;
  }

  bool Skip(uint32_t type) {
    uint64_t value;
    std::string_view bytes;
    float number;
    switch (type) {
      case kVarint:
        return Varint(&value);
      case kFixed64:
        return Float(&number) && Float(&number);
      case kBytes:
        return Bytes(&bytes);
      case kFixed32:
        return Float(&number);
      default:
        return false;
    }
  }

 private:
  const char* next_;
  const char* const end_;
};

// Calls visit(field, bytes) for each field that is bytes, and skips others.
bool ForEachBytes(std::string_view message,
                  absl::FunctionRef<bool(uint32_t field, std::string_view bytes)> visit) {
  Wire wire(message);
  while (!wire.empty()) {
    uint32_t field;
    uint32_t type;
    if (!wire.Tag(&field, &type)) return false;
    if (type != kBytes) {
      if (!wire.Skip(type)) return false;
      continue;
    }
    std::string_view bytes;
    if (!wire.Bytes(&bytes) || !visit(field, bytes)) return false;
  }
  return true;
}

// Adds the values of a list to those that it has.
class ListParser {
 public:
  ListParser(int64_t most, FeatureValues* values) : most_(most), values_(*values) {}

  bool Bytes(std::string_view list) {
    return ForEachBytes(list, [this](uint32_t field, std::string_view bytes) {
      if (field == 1) Add(bytes, &values_.bytes);
      return true;
    });
  }

  bool Floats(std::string_view list) {
    return Numbers(list, kFixed32, [this](Wire* wire) {
      float value;
      if (!wire->Float(&value)) return false;
      Add(value, &values_.floats);
      return true;
    });
  }

  bool Ints(std::string_view list) {
    return Numbers(list, kVarint, [this](Wire* wire) {
      uint64_t value;
      if (!wire->Varint(&value)) return false;
      Add(static_cast<int64_t>(value), &values_.ints);
      return true;
    });
  }

 private:
  template <typename T>
  void Add(T value, std::vector<T>* values) {
    if (values_.count++ < most_) values->push_back(value);
  }

  // Numbers of wire type `single`, or packed ones.
  bool Numbers(std::string_view list, uint32_t single, absl::FunctionRef<bool(Wire*)> read) {
    Wire wire(list);
    while (!wire.empty()) {
      uint32_t field;
      uint32_t type;
      if (!wire.Tag(&field, &type)) return false;
      if (field == 1 && type == single) {
        if (!read(&wire)) return false;
      } else if (field == 1 && type == kBytes) {
        std::string_view bytes;
        if (!wire.Bytes(&bytes)) return false;
        Wire packed(bytes);
        while (!packed.empty()) {
          if (!read(&packed)) return false;
        }
      } else if (!wire.Skip(type)) {
        return false;
      }
    }
    return true;
  }

  const int64_t most_;
  FeatureValues& values_;
};

void Reset(FeatureValues::Kind kind, FeatureValues* values) {
  values->kind = kind;
  values->count = 0;
  values->bytes.clear();
  values->floats.clear();
  values->ints.clear();
}

bool ParseFeature(std::string_view feature, int64_t most, FeatureValues* values) {
  Reset(FeatureValues::Kind::kMissing, values);
  return ForEachBytes(feature, [&](uint32_t field, std::string_view list) {
    if (field < 1 || field > 3) return true;
    const auto kind = static_cast<FeatureValues::Kind>(field);
    // The kinds are a oneof: the last one counts.
    if (kind != values->kind) Reset(kind, values);
    ListParser parser(most, values);
    if (kind == FeatureValues::Kind::kBytes) return parser.Bytes(list);
    return kind == FeatureValues::Kind::kFloats ? parser.Floats(list) : parser.Ints(list);
  });
}

// Calls visit(name, feature) for each entry of the map of features.
bool ForEachFeature(
    std::string_view record,
    absl::FunctionRef<bool(std::string_view name, std::string_view feature)> visit) {
  return ForEachBytes(record, [&](uint32_t field, std::string_view features) {
    if (field != 1) return true;
    return ForEachBytes(features, [&](uint32_t number, std::string_view entry) {
      if (number != 1) return true;
      std::string_view name;
      std::string_view feature;
      const bool is_sound = ForEachBytes(entry, [&](uint32_t part, std::string_view bytes) {
        if (part == 1) name = bytes;
        if (part == 2) feature = bytes;
        return true;
      });
      return is_sound && visit(name, feature);
    });
  });
}

}  // namespace

ExampleParser::ExampleParser(std::vector<Wanted> features) : features_(std::move(features)) {
  for (size_t i = 0; i < features_.size(); ++i) indices_[features_[i].name].push_back(i);
}

absl::Status ExampleParser::Parse(std::string_view record,
                                  std::vector<FeatureValues>* values) const {
  values->resize(features_.size());
  for (FeatureValues& each : *values) Reset(FeatureValues::Kind::kMissing, &each);
  const bool is_sound =
      ForEachFeature(record, [&](std::string_view name, std::string_view feature) {
        const auto found = indices_.find(name);
        if (found == indices_.end()) return true;
        return std::all_of(found->second.begin(), found->second.end(), [&](size_t index) {
          return ParseFeature(feature, features_[index].most, &(*values)[index]);
        });
      });
  if (is_sound) return absl::OkStatus();
  return absl::InvalidArgumentError("it is not a tf.train.Example");
}

std::vector<std::string> ExampleParser::NamesIn(std::string_view record) {
  std::vector<std::string> names;
  ForEachFeature(record, [&](std::string_view name, std::string_view feature) {
    names.emplace_back(name);
    return true;
  });
  return names;
}

}  // namespace cairn::worker
