#ifndef CAIRN_COMMON_MESSAGE_TEXT_H_
#define CAIRN_COMMON_MESSAGE_TEXT_H_

namespace google::protobuf {
class Message;
}

namespace cairn {

// Makes every `string` of the message, however deep, one that protobuf accepts: what is not UTF-8
// becomes Printable. Errors quote what was found in files, which may be anything, and protobuf
// writes a message with such text without complaint, but whoever gets it cannot read it: the stream
// ends, the task joins and says the same again, for ever. `bytes` stay as they are.
void EscapeForeignText(google::protobuf::Message* message);

}  // namespace cairn

#endif  // CAIRN_COMMON_MESSAGE_TEXT_H_
