#include "cli/json_to_message.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/json_text.h"
#include "cli/unknown_field.h"
#include "common/status_macros.h"
#include "google/protobuf/message.h"

namespace cairn::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using nlohmann::json;

absl::Status Bad(const std::string& path, std::string_view problem) {
  return absl::InvalidArgumentError(
      absl::StrCat(path.empty() ? "the file" : path, ": ", std::string(problem)));
}

absl::Status Expected(const std::string& path, const json& value, std::string_view expected) {
  return Bad(path, absl::StrCat(ShortJson(value), " is not ", std::string(expected)));
}

// The field that receives the value of `key`; nullptr if there is none.
const FieldDescriptor* FieldFor(const Descriptor& type, const std::string& key, const json& value) {
  if (value.is_object()) {
    if (const auto* schedule = type.FindFieldByName(key + "_schedule")) return schedule;
  }
  // "target" is a number or names an array; "save_freq" is a number or a word.
  if (value.is_string()) {
    for (const char* suffix : {"_array", "_word"}) {
      const auto* field = type.FindFieldByName(key + suffix);
      if (field != nullptr && !field->is_repeated()) return field;
    }
  }
  // "validation_freq" is a number or a list of epochs, "schedule" a schedule or a list by epoch, in
  // which a number stands for a list.
  if (value.is_array() || value.is_number()) {
    const auto* plain = type.FindFieldByName(key);
    const auto* epochs = type.FindFieldByName(key + "_epochs");
    const bool is_list = value.is_array() || (plain != nullptr && plain->message_type() != nullptr);
    if (epochs != nullptr && epochs->is_repeated() && is_list) return epochs;
  }
  const FieldDescriptor* const field = type.FindFieldByName(key);
  return field != nullptr && IsJobFileField(*field) ? field : nullptr;
}

const FieldDescriptor* NameField(const Descriptor& type) {
  const FieldDescriptor* field = type.FindFieldByName("name");
  return field != nullptr && field->type() == FieldDescriptor::TYPE_STRING ? field : nullptr;
}

// Writes values to one field of one message: appends to a repeated field, sets any other.
class FieldWriter {
 public:
  FieldWriter(Message* message, const FieldDescriptor* field)
      : message_(message), field_(field), reflection_(message->GetReflection()) {}

  absl::Status Write(const std::string& path, const json& value) {
    switch (field_->cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING:
        return WriteString(path, value);
      case FieldDescriptor::CPPTYPE_BOOL:
        if (!value.is_boolean()) return Expected(path, value, "true or false");
        Put(&google::protobuf::Reflection::SetBool, &google::protobuf::Reflection::AddBool,
            value.get<bool>());
        return absl::OkStatus();
      case FieldDescriptor::CPPTYPE_DOUBLE:
        if (!value.is_number()) return Expected(path, value, "a number");
        Put(&google::protobuf::Reflection::SetDouble, &google::protobuf::Reflection::AddDouble,
            value.get<double>());
        return absl::OkStatus();
      case FieldDescriptor::CPPTYPE_INT64:
        return WriteInt64(path, value);
      case FieldDescriptor::CPPTYPE_UINT64:
        return WriteUint64(path, value);
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return WriteMessage(path, value);
      default:
        return absl::InternalError(absl::StrCat(path, ": no JSON form for this type of field"));
    }
  }

 private:
  template <typename Set, typename Add, typename Value>
  void Put(Set set, Add add, Value value) {
    if (field_->is_repeated()) {
      (reflection_->*add)(message_, field_, std::move(value));
    } else {
      (reflection_->*set)(message_, field_, std::move(value));
    }
  }

  absl::Status WriteString(const std::string& path, const json& value) {
    if (!value.is_string()) return Expected(path, value, "a string");
    auto text = value.get<std::string>();
    // The operating system would cut a path at a zero character.
    if (text.find('\0') != std::string::npos) {
      return Bad(path, absl::StrCat(ShortJson(value), " contains a zero character"));
    }
    Put(&google::protobuf::Reflection::SetString, &google::protobuf::Reflection::AddString,
        std::move(text));
    return absl::OkStatus();
  }

  absl::Status WriteInt64(const std::string& path, const json& value) {
    if (!value.is_number_integer()) return Expected(path, value, "a whole number");
    const bool too_large =
        value.is_number_unsigned() && value.get<uint64_t>() > std::numeric_limits<int64_t>::max();
    if (too_large) return Expected(path, value, "a whole number below 2^63");
    Put(&google::protobuf::Reflection::SetInt64, &google::protobuf::Reflection::AddInt64,
        value.get<int64_t>());
    return absl::OkStatus();
  }

  absl::Status WriteUint64(const std::string& path, const json& value) {
    if (!value.is_number_unsigned()) {
      return Expected(path, value, "a whole number from 0 to 18446744073709551615");
    }
    Put(&google::protobuf::Reflection::SetUInt64, &google::protobuf::Reflection::AddUInt64,
        value.get<uint64_t>());
    return absl::OkStatus();
  }

  absl::Status WriteMessage(const std::string& path, const json& value);

  Message* const message_;
  const FieldDescriptor* const field_;
  const google::protobuf::Reflection* const reflection_;
};

absl::Status ReadObject(const std::string& path, const json& object, Message* message);

// The fields of a message that is one of several others, each with defaults for all fields; empty
// for other messages. Its name stands for such a one: "strategy": "mirrored".
std::vector<const FieldDescriptor*> KindsOf(const google::protobuf::Descriptor& type) {
  std::vector<const FieldDescriptor*> kinds;
  if (type.oneof_decl_count() != 1 || type.oneof_decl(0)->field_count() != type.field_count()) {
    return kinds;
  }
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return {};
    kinds.push_back(type.field(i));
  }
  return kinds;
}

absl::Status FieldWriter::WriteMessage(const std::string& path, const json& value) {
  const FieldDescriptor* name = NameField(*field_->message_type());
  const std::vector<const FieldDescriptor*> kinds = KindsOf(*field_->message_type());
  if (value.is_string() && !kinds.empty() && !field_->is_repeated()) {
    std::vector<std::string> names;
    for (const FieldDescriptor* kind : kinds) {
      names.push_back(kind->name());
      if (kind->name() != value.get<std::string>()) continue;
      Message* const child = reflection_->MutableMessage(message_, field_);
      child->GetReflection()->MutableMessage(child, kind);
      return absl::OkStatus();
    }
    return Expected(path, value, absl::StrCat("one of ", absl::StrJoin(names, ", ")));
  }
  if (!value.is_object() && !(name != nullptr && value.is_string())) {
    return Expected(path, value, name == nullptr ? "an object" : "a name or an object");
  }
  Message* child = field_->is_repeated() ? reflection_->AddMessage(message_, field_)
                                         : reflection_->MutableMessage(message_, field_);
  if (value.is_object()) return ReadObject(path, value, child);
  return FieldWriter(child, name).Write(path, value);
}

// An object whose keys are names: {"generator": "g.json"}.
absl::Status ReadNamedMap(const std::string& path, const json& value, const FieldDescriptor* field,
                          Message* message) {
  if (!value.is_object()) return Expected(path, value, R"(an object like {"NAME": "FILE"})");
  const Descriptor& entry_type = *field->message_type();
  for (const auto& [key, each] : value.items()) {
    Message* entry = message->GetReflection()->AddMessage(message, field);
    entry->GetReflection()->SetString(entry, entry_type.map_key(), key);
    CAIRN_RETURN_IF_ERROR(
        FieldWriter(entry, entry_type.map_value()).Write(absl::StrCat(path, ".", key), each));
  }
  return absl::OkStatus();
}

// An object whose keys are whole numbers: {"0": 1.5, "1": 0.5}.
absl::Status ReadMap(const std::string& path, const json& value, const FieldDescriptor* field,
                     Message* message) {
  if (!value.is_object()) return Expected(path, value, R"(an object like {"0": 1.5, "1": 0.5})");
  const Descriptor& entry_type = *field->message_type();
  for (const auto& [key, each] : value.items()) {
    const std::string entry_path = absl::StrCat(path, ".", key);
    int64_t number = 0;
    if (!absl::SimpleAtoi(key, &number)) {
      return Bad(entry_path, absl::StrCat("\"", key, "\" is not a whole number"));
    }
    Message* entry = message->GetReflection()->AddMessage(message, field);
    entry->GetReflection()->SetInt64(entry, entry_type.map_key(), number);
    CAIRN_RETURN_IF_ERROR(FieldWriter(entry, entry_type.map_value()).Write(entry_path, each));
  }
  return absl::OkStatus();
}

absl::Status ReadField(const std::string& path, const json& value, const FieldDescriptor* field,
                       Message* message) {
  if (field->is_map()) {
    const bool is_named =
        field->message_type()->map_key()->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    return is_named ? ReadNamedMap(path, value, field, message)
                    : ReadMap(path, value, field, message);
  }
  FieldWriter writer(message, field);
  if (!field->is_repeated() || !value.is_array()) return writer.Write(path, value);
  for (size_t i = 0; i < value.size(); ++i) {
    CAIRN_RETURN_IF_ERROR(writer.Write(absl::StrCat(path, "[", i, "]"), value[i]));
  }
  return absl::OkStatus();
}

absl::Status ReadObject(const std::string& path, const json& object, Message* message) {
  const Descriptor& type = *message->GetDescriptor();
  for (const auto& [key, value] : object.items()) {
    const std::string field_path = path.empty() ? key : absl::StrCat(path, ".", key);
    const FieldDescriptor* field = FieldFor(type, key, value);
    if (field == nullptr) return UnknownField(path, key, object, type);
    // It would be the same as no field.
    if (field->name() != key && value.is_array() && value.empty()) {
      return Bad(field_path, "the list is empty");
    }
    if (const auto* oneof = field->real_containing_oneof()) {
      const auto* other = message->GetReflection()->GetOneofFieldDescriptor(*message, oneof);
      if (other != nullptr && other != field) {
        return Bad(path, absl::StrCat("has both \"", other->name(), "\" and \"", key,
                                      "\"; keep one of them"));
      }
    }
    CAIRN_RETURN_IF_ERROR(ReadField(field_path, value, field, message));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status JsonToMessage(const json& json, Message* message) {
  if (!json.is_object()) return Expected("", json, "an object, {...}");
  return ReadObject("", json, message);
}

}  // namespace cairn::cli
