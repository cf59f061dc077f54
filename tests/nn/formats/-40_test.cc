#include "nn/formats/-40.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/nn/formats/onnx_text.h"

namespace cairn::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;


}  // namespace
}  // namespace cairn::nn
