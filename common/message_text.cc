#include "common/message_text.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "common/printable.h"
#include "common/utf8.h"

namespace cairn {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void EscapeString(const FieldDescriptor* field, Message* message) {
  const Reflection* reflection = message->GetReflection();
  if (!field->is_repeated()) {
    const std::string text = reflection->GetString(*message, field);
    if (!IsUtf8(text)) reflection->SetString(message, field, Printable(text));
    return;
  }
  for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
    const std::string text = reflection->GetRepeatedString(*message, field, i);
    if (!IsUtf8(text)) reflection->SetRepeatedString(message, field, i, Printable(text));
  }
}

void EscapeMessages(const FieldDescriptor* field, Message* message) {
  const Reflection* reflection = message->GetReflection();
  if (!field->is_repeated()) return EscapeForeignText(reflection->MutableMessage(message, field));
  for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
    EscapeForeignText(reflection->MutableRepeatedMessage(message, field, i));
  }
}

}  // namespace

void EscapeForeignText(Message* message) {
  std::vector<const FieldDescriptor*> fields;
  message->GetReflection()->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->type() == FieldDescriptor::TYPE_STRING) {
      EscapeString(field, message);
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      EscapeMessages(field, message);
    }
  }
}

}  // namespace cairn
