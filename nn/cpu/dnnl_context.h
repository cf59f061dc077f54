#ifndef CAIRN_NN_CPU_DNNL_CONTEXT_H_
#define CAIRN_NN_CPU_DNNL_CONTEXT_H_

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>

#include "nn/cpu/shared_scratch.h"

namespace cairn::nn {

// The oneDNN engine, stream and scratch memory shared by all kernels of a device. Used by one
// thread at a time.
struct DnnlContext {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::unique_ptr<SharedScratch> scratch = std::make_unique<SharedScratch>();

  // Wraps an array as a oneDNN memory object. The const_cast is safe for inputs: oneDNN does not
  // write to them.
  dnnl::memory Wrap(const dnnl::memory::desc& description, const float* data) const {
    return dnnl::memory(description, engine, const_cast<float*>(data));
  }
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_DNNL_CONTEXT_H_
