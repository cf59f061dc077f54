#include "worker/data/remote/s3_listing.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::worker {
namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

absl::Status Malformed(const char* reason) {
  return absl::DataLossError(absl::StrCat("the server's list of objects is malformed: ", reason));
}

// Takes the text of the first element NAME from the front of `*xml`, with what stands before it.
// Elements of this name have no attributes and no elements in them. nullopt: there is none.
std::optional<std::string_view> TakeElement(std::string_view name, std::string_view* xml) {
  const std::string begin = absl::StrCat("<", std::string(name), ">");
  const std::string end = absl::StrCat("</", std::string(name), ">");
  const size_t first = xml->find(begin);
  if (first == std::string_view::npos) return std::nullopt;
  const size_t last = xml->find(end, first);
  if (last == std::string_view::npos) return std::nullopt;
  const std::string_view text = xml->substr(first + begin.size(), last - first - begin.size());
  xml->remove_prefix(last + end.size());
  return text;
}

// Replaces the five entities of XML.
absl::StatusOr<std::string> WithoutEntities(std::string_view text) {
  static constexpr std::pair<std::string_view, char> kEntities[] = {
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
  std::string plain;
  while (!text.empty()) {
    size_t taken = 1;
    char byte = text[0];
    if (byte == '<') return Malformed("a key has elements");
    if (byte == '&') {
      taken = 0;
      for (const auto& [entity, character] : kEntities) {
        if (text.substr(0, entity.size()) != entity) continue;
        taken = entity.size();
        byte = character;
      }
      if (taken == 0) return Malformed("a text has an unknown entity");
    }
    plain.push_back(byte);
    text.remove_prefix(taken);
  }
  return plain;
}

absl::StatusOr<std::string> PercentDecode(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      // S3 encodes a blank as a plus, and a plus as %2B.
      plain.push_back(text[i] == '+' ? ' ' : text[i]);
      continue;
    }
    const bool has_digits = i + 2 < text.size() && absl::ascii_isxdigit(text[i + 1]) &&
                            absl::ascii_isxdigit(text[i + 2]);
    if (!has_digits) return Malformed("a key has % without two digits");
    plain += absl::HexStringToBytes(text.substr(i + 1, 2));
    i += 2;
  }
  return plain;
}

}  // namespace

std::string PercentEncode(std::string_view text, bool keeps_slashes) {
  std::string encoded;
  for (const char each : text) {
    const bool is_plain = absl::ascii_isalnum(each) || each == '-' || each == '.' || each == '_' ||
                          each == '~' || (each == '/' && keeps_slashes);
    if (is_plain) {
      encoded.push_back(each);
      continue;
    }
    const auto byte = static_cast<unsigned char>(each);
    encoded.push_back('%');
    encoded.push_back(kHexDigits[byte >> 4]);
    encoded.push_back(kHexDigits[byte & 15]);
  }
  return encoded;
}

absl::StatusOr<S3Page> ParseS3Page(std::string_view xml) {
  if (xml.find("<ListBucketResult") == std::string_view::npos) {
    return Malformed("it has no ListBucketResult");
  }
  // What was cut off has no end, so a short list is not taken for a whole one.
  if (xml.find("</ListBucketResult>") == std::string_view::npos) return Malformed("it is cut off");
  S3Page page;
  std::string_view rest = xml;
  const auto truncated = TakeElement("IsTruncated", &rest);
  if (!truncated || (*truncated != "true" && *truncated != "false")) {
    return Malformed("IsTruncated is neither true nor false");
  }
  if (*truncated == "true") {
    rest = xml;
    const auto next = TakeElement("NextContinuationToken", &rest);
    if (!next || next->empty()) return Malformed("it goes on, but has no NextContinuationToken");
    CAIRN_ASSIGN_OR_RETURN(page.next, WithoutEntities(*next));
  }
  rest = xml;
  while (const auto object = TakeElement("Contents", &rest)) {
    std::string_view fields = *object;
    const auto key = TakeElement("Key", &fields);
    if (!key) return Malformed("an object has no key");
    CAIRN_ASSIGN_OR_RETURN(const std::string encoded, WithoutEntities(*key));
    CAIRN_ASSIGN_OR_RETURN(page.keys.emplace_back(), PercentDecode(encoded));
  }
  return page;
}

}  // namespace cairn::worker
