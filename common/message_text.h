#ifndef CAIRN_COMMON_MESSAGE_TEXT_H_
#define CAIRN_COMMON_MESSAGE_TEXT_H_

namespace google::protobuf {
class Message;
}

namespace cairn {

// Replaces every `string` field of the message, nested ones included, that is not valid UTF-8 by
// its Printable form. `bytes` fields are unchanged.
//
// Error messages quote file contents, which may be any bytes. Protobuf serializes such a string
// without an error, but the receiver fails to parse the message and breaks the stream; the sender
// would then reconnect and send the same text again, forever.
void EscapeForeignText(google::protobuf::Message* message);

}  // namespace cairn

#endif  // CAIRN_COMMON_MESSAGE_TEXT_H_
