#ifndef CAIRN_NN_CPU_DNNL_CONTEXT_H_
#define CAIRN_NN_CPU_DNNL_CONTEXT_H_

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>

#include "nn/cpu/shared_scratch.h"

namespace cairn::nn {

// What every oneDNN primitive needs. One thread at a time; shared by the kernels of a device.
struct DnnlContext {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::unique_ptr<SharedScratch> scratch = std::make_unique<SharedScratch>();

  // oneDNN does not write to inputs, but its memory wants a pointer that could.
  dnnl::memory Wrap(const dnnl::memory::desc& description, const float* data) const {
    return dnnl::memory(description, engine, const_cast<float*>(data));
  }
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_DNNL_CONTEXT_H_
