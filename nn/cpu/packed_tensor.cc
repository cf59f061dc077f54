#include "nn/cpu/packed_tensor.h"

namespace cairn::nn {

PackedTensor::PackedTensor(const dnnl::memory::desc& wanted, const dnnl::memory::desc& plain,
                           const DnnlContext* context)
    : context_(context),
      packed_(wanted, context->engine, nullptr),
      plain_(plain, context->engine, nullptr) {
  if (wanted == plain) return;
  constexpr int64_t kAlignment = 16;
  const auto floats = static_cast<int64_t>(wanted.get_size() / sizeof(float));
  scratch_ = (floats + kAlignment - 1) / kAlignment * kAlignment;
  // In Keras's kernels the filters, dimension 0, are adjacent. Images are not laid out like that.
  const bool is_keras_kernel = plain.data.format_desc.blocking.strides[0] == 1;
  if (is_keras_kernel) blocked_ = BlockedKernel::Create(wanted);
}

const dnnl::memory& PackedTensor::Load(const float* plain, float* lent) {
  if (scratch_ == 0) {
    packed_.set_data_handle(const_cast<float*>(plain));
    return packed_;
  }
  packed_.set_data_handle(lent);
  if (blocked_.has_value()) {
    blocked_->Pack(plain, lent);
    return packed_;
  }
  plain_.set_data_handle(const_cast<float*>(plain));
  if (!load_.has_value()) load_.emplace(plain_, packed_);
  load_->execute(context_->stream, plain_, packed_);
  return packed_;
}

const dnnl::memory& PackedTensor::Target(float* plain, float* lent) {
  plain_.set_data_handle(plain);
  packed_.set_data_handle(scratch_ == 0 ? plain : lent);
  return packed_;
}

void PackedTensor::Store() {
  if (scratch_ == 0) return;
  if (blocked_.has_value() && blocked_->can_unpack()) {
    blocked_->Unpack(static_cast<const float*>(packed_.get_data_handle()),
                     static_cast<float*>(plain_.get_data_handle()));
    return;
  }
  if (!store_.has_value()) store_.emplace(packed_, plain_);
  store_->execute(context_->stream, packed_, plain_);
}

}  // namespace cairn::nn
