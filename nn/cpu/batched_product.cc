#include "nn/cpu/batched_product.h"

#include <unordered_map>

namespace cairn::nn {
namespace {

using dnnl::memory;

memory::desc Matrices(const BatchedProduct::Options& o, int64_t rows, int64_t columns,
                      const BatchedProduct::Strides& strides) {
  return memory::desc({o.examples, o.heads, rows, columns}, memory::data_type::f32,
                      memory::dims{strides.example, strides.head, strides.row, strides.column});
}

}  // namespace

struct BatchedProduct::Primitive {
  dnnl::matmul matmul;
  memory a;
  memory b;
  memory c;
  std::unordered_map<int, memory> arguments;
};

BatchedProduct::BatchedProduct(const Options& o, const DnnlContext* context)
    : context_(context), primitive_(std::make_unique<Primitive>()) {
  const memory::desc a = Matrices(o, o.rows, o.inner, o.a);
  const memory::desc b = Matrices(o, o.inner, o.columns, o.b);
  const memory::desc c = Matrices(o, o.rows, o.columns, o.c);
  Primitive& p = *primitive_;
  p.matmul =
      dnnl::matmul(dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), context_->engine));
  p.a = context_->Wrap(a, nullptr);
  p.b = context_->Wrap(b, nullptr);
  p.c = context_->Wrap(c, nullptr);
  p.arguments = {{DNNL_ARG_SRC, p.a}, {DNNL_ARG_WEIGHTS, p.b}, {DNNL_ARG_DST, p.c}};
}

BatchedProduct::~BatchedProduct() = default;

void BatchedProduct::Run(const float* a, const float* b, float* c) {
  Primitive& p = *primitive_;
  p.a.set_data_handle(const_cast<float*>(a));
  p.b.set_data_handle(const_cast<float*>(b));
  p.c.set_data_handle(c);
  p.matmul.execute(context_->stream, p.arguments);
}

}  // namespace cairn::nn
