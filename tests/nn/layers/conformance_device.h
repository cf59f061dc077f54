#ifndef CAIRN_TESTS_NN_LAYERS_CONFORMANCE_DEVICE_H_
#define CAIRN_TESTS_NN_LAYERS_CONFORMANCE_DEVICE_H_

#include <memory>

#include "nn/device.h"

namespace cairn::nn::testing {

// The device that the conformance suite and steps_test.cc test. Each test program links one
// definition. Null: this machine does not have it.
std::unique_ptr<Device> CreateConformanceDevice();

}  // namespace cairn::nn::testing

#endif  // CAIRN_TESTS_NN_LAYERS_CONFORMANCE_DEVICE_H_
