#include "nn/cpu/dense_product.h"

#include <algorithm>
#include <unordered_map>

namespace cairn::nn {
namespace {

using dnnl::memory;

// Up to this many multiplications, plain loops cost less than a call of oneDNN.
constexpr int64_t kPlainMultiplicationsMax = 4096;

memory::desc Matrix(int64_t rows, int64_t columns, bool transposed) {
  const memory::dims strides = transposed ? memory::dims{1, rows} : memory::dims{columns, 1};
  return memory::desc({rows, columns}, memory::data_type::f32, strides);
}

}  // namespace

struct DenseProduct::Primitive {
  dnnl::matmul matmul;
  memory a;
  memory b;
  memory bias;
  memory c;
  std::unordered_map<int, memory> arguments;
};

DenseProduct::DenseProduct(const Options& options, const DnnlContext* context)
    : options_(options), context_(context) {
  const Options& o = options_;
  if (o.rows * o.columns <= kPlainMultiplicationsMax / std::max<int64_t>(o.inner, 1)) return;
  const memory::desc a = Matrix(o.rows, o.inner, o.a_transposed);
  const memory::desc b = Matrix(o.inner, o.columns, o.b_transposed);
  const memory::desc c = Matrix(o.rows, o.columns, false);
  const memory::desc bias = Matrix(1, o.columns, false);
  dnnl::primitive_attr attributes;
  if (o.applies_relu) {
    dnnl::post_ops relu;
    relu.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
    attributes.set_post_ops(relu);
  }
  const dnnl::matmul::desc description =
      o.adds_bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
  primitive_ = std::make_unique<Primitive>();
  Primitive& p = *primitive_;
  p.matmul = dnnl::matmul(dnnl::matmul::primitive_desc(description, attributes, context_->engine));
  p.a = context_->Wrap(a, nullptr);
  p.b = context_->Wrap(b, nullptr);
  p.c = context_->Wrap(c, nullptr);
  p.arguments = {{DNNL_ARG_SRC, p.a}, {DNNL_ARG_WEIGHTS, p.b}, {DNNL_ARG_DST, p.c}};
  if (o.adds_bias) {
    p.bias = context_->Wrap(bias, nullptr);
    p.arguments.emplace(DNNL_ARG_BIAS, p.bias);
  }
}

DenseProduct::~DenseProduct() = default;

void DenseProduct::Run(const float* a, const float* b, const float* bias, float* c) {
  if (primitive_ == nullptr) return RunPlain(a, b, bias, c);
  Primitive& p = *primitive_;
  p.a.set_data_handle(const_cast<float*>(a));
  p.b.set_data_handle(const_cast<float*>(b));
  p.c.set_data_handle(c);
  if (options_.adds_bias) p.bias.set_data_handle(const_cast<float*>(bias));
  p.matmul.execute(context_->stream, p.arguments);
}

// Sums in double, so small models are as exact as float allows.
void DenseProduct::RunPlain(const float* a, const float* b, const float* bias, float* c) const {
  const Options& o = options_;
  const int64_t a_row = o.a_transposed ? 1 : o.inner;
  const int64_t a_inner = o.a_transposed ? o.rows : 1;
  const int64_t b_inner = o.b_transposed ? 1 : o.columns;
  const int64_t b_column = o.b_transposed ? o.inner : 1;
  for (int64_t row = 0; row < o.rows; ++row) {
    for (int64_t column = 0; column < o.columns; ++column) {
      double sum = o.adds_bias ? bias[column] : 0;
      for (int64_t i = 0; i < o.inner; ++i) {
        sum +=
            static_cast<double>(a[row * a_row + i * a_inner]) * b[i * b_inner + column * b_column];
      }
      if (o.applies_relu) sum = std::max(sum, 0.0);
      c[row * o.columns + column] = static_cast<float>(sum);
    }
  }
}

}  // namespace cairn::nn
