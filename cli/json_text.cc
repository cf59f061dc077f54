#include "cli/json_text.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/json_error_text.h"

namespace cairn::cli {
namespace {

using nlohmann::json;

// Functions that walk through a value recurse; this bounds their stack.
constexpr int kMaxDepth = 100;

// Receives the parser's events and stores the path of the first key that appears twice in one
// object.
class DuplicateFinder {
 public:
  bool OnEvent(json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start) {
      objects_.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      objects_.pop_back();
    } else if (event == json::parse_event_t::key) {
      OnKey(parsed.get<std::string>());
    }
    return true;
  }

  // Empty if there is none.
  const std::string& duplicate() const { return duplicate_; }

 private:
  struct Object {
    std::set<std::string> keys;
    std::string last_key;
  };

  void OnKey(const std::string& key) {
    Object& object = objects_.back();
    object.last_key = key;
    if (object.keys.insert(key).second || !duplicate_.empty()) return;
    duplicate_ = absl::StrJoin(
        objects_, ".", [](std::string* out, const Object& at) { out->append(at.last_key); });
  }

  std::vector<Object> objects_;
  std::string duplicate_;
};

}  // namespace

absl::StatusOr<json> ParseJson(std::string_view text, Comments comments) {
  DuplicateFinder finder;
  bool too_deep = false;
  json result;
  try {
    result = json::parse(
        text,
        [&](int depth, json::parse_event_t event, json& parsed) {
          // The depth of an event is that of the value around it.
          const bool is_level = event == json::parse_event_t::object_start ||
                                event == json::parse_event_t::array_start;
          too_deep = too_deep || (is_level && depth + 1 > kMaxDepth);
          return !too_deep && finder.OnEvent(event, parsed);
        },
        /*allow_exceptions=*/true, /*ignore_comments=*/comments == Comments::kIgnored);
  } catch (const json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("not JSON: ", JsonErrorText(error.what())));
  }
  if (too_deep) {
    return absl::InvalidArgumentError(
        absl::StrCat("its JSON is nested deeper than ", kMaxDepth, " levels"));
  }
  if (!finder.duplicate().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(finder.duplicate(), ": appears twice; keep one of them"));
  }
  return result;
}

std::string ShortJson(const json& value) {
  constexpr size_t kLongest = 60;
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kLongest) text = text.substr(0, kLongest - 3) + "...";
  return text;
}

}  // namespace cairn::cli
