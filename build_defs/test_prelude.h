// The same for tests.

#ifndef CAIRN_BUILD_DEFS_TEST_PRELUDE_H_
#define CAIRN_BUILD_DEFS_TEST_PRELUDE_H_

#include <gtest/gtest.h>

#include <filesystem>

#include "build_defs/prelude.h"

#endif  // CAIRN_BUILD_DEFS_TEST_PRELUDE_H_
