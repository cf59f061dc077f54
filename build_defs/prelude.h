// What most sources include of other projects. It is compiled once, since reading these headers
// takes most of the time in which a source is compiled. Sources include what they use all the same;
// --define=prelude=off compiles them without this file.

#ifndef CAIRN_BUILD_DEFS_PRELUDE_H_
#define CAIRN_BUILD_DEFS_PRELUDE_H_

#include <google/protobuf/map.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#endif  // CAIRN_BUILD_DEFS_PRELUDE_H_
