#include "nn/cuda/activation_formulas.h"
#include "nn/cuda/loops.h"
#include "nn/cuda/recurrent_cell.h"

namespace cairn::nn::cuda {
namespace {

// Where one unit of a cell is.
struct Place {
  __device__ Place(const RecurrentCell& cell, int64_t i)
      : example(i / cell.count()), state(i - example * cell.count()) {
    const int64_t of_example = cell.cells == 1 ? 0 : state / cell.units;
    unit = state - of_example * cell.units;
    part = of_example * cell.gates * cell.units + unit;
  }

  int64_t example;
  int64_t state;  // In the example's row of a state.
  int64_t unit;   // In the cell.
  int64_t part;   // In its row of x_part and h_part: the first gate.
};

template <typename Step>
__device__ bool IsMasked(const Step& step, const Place& at) {
  return step.mask != nullptr && step.mask[at.example * step.mask_stride] == 0;
}

template <typename Step>
__device__ float FactorOf(const RecurrentCell& cell, const Step& step, const Place& at,
                          int64_t gate) {
  return step.drops ? step.factors((at.example * cell.gates + gate) * cell.units + at.unit) : 1;
}

// The sum that a gate's activation gets, of the products and the biases.
__device__ float Sum(const RecurrentCell& cell, const CellStep& step, const Place& at,
                     int64_t gate) {
  const int64_t part = at.part + gate * cell.units;
  float sum = step.x_part[at.example][part];
  if (step.bias != nullptr) sum += step.bias[gate * cell.units + at.unit];
  if (step.h_part.data != nullptr) sum += step.h_part[at.example][part];
  if (step.h_bias != nullptr) sum += step.h_bias[gate * cell.units + at.unit];
  return sum;
}

__device__ void WriteState(const RecurrentCell& cell, const CellStep& step, const Place& at,
                           float h) {
  step.h[at.example][at.state] = h;
  for (int64_t gate = 0; gate < step.operand_gates; ++gate) {
    step.operands[at.example][gate * cell.count() + at.state] = h * FactorOf(cell, step, at, gate);
  }
}

struct Start {
  RecurrentCell cell;
  CellStep step;
  const float* h;
  const float* c;

  __device__ void operator()(int64_t i) const {
    const Place at(cell, i);
    WriteState(cell, step, at, h == nullptr ? 0 : h[i]);
    if (step.c.data != nullptr) step.c[at.example][at.state] = c == nullptr ? 0 : c[i];
  }
};

struct SimpleForward {
  RecurrentCell cell;
  CellStep step;

  __device__ void operator()(int64_t i) const {
    const Place at(cell, i);
    const float h = Apply(cell.activation, Sum(cell, step, at, 0));
    step.x_part[at.example][at.part] = h;
    WriteState(cell, step, at, IsMasked(step, at) ? step.h_before[at.example][at.state] : h);
  }
};

struct LstmForward {
  RecurrentCell cell;
  CellStep step;

  __device__ void operator()(int64_t i) const {
    const Place at(cell, i);
    const int64_t n = cell.units;
    float* const gates = step.x_part[at.example] + at.part;
    const float in = Apply(cell.recurrent_activation, Sum(cell, step, at, 0));
    const float forget = Apply(cell.recurrent_activation, Sum(cell, step, at, 1));
    const float fresh = Apply(cell.activation, Sum(cell, step, at, 2));
    const float out = Apply(cell.recurrent_activation, Sum(cell, step, at, 3));
    gates[0] = in;
    gates[n] = forget;
    gates[2 * n] = fresh;
    gates[3 * n] = out;
    const float c_before = step.c_before[at.example][at.state];
    float c = forget * c_before + in * fresh;
    float h = out * Apply(cell.activation, c);
    if (IsMasked(step, at)) {
      c = c_before;
      h = step.h_before[at.example][at.state];
    }
    step.c[at.example][at.state] = c;
    WriteState(cell, step, at, h);
  }
};

struct GruForward {
  RecurrentCell cell;
  CellStep step;

  __device__ void operator()(int64_t i) const {
    const Place at(cell, i);
    const int64_t n = cell.units;
    float* const gates = step.x_part[at.example] + at.part;
    const float mix = Apply(cell.recurrent_activation, Sum(cell, step, at, 0));
    const float reset = Apply(cell.recurrent_activation, Sum(cell, step, at, 1));
    float from_x = gates[2 * n];
    if (step.bias != nullptr) from_x += step.bias[2 * n + at.unit];
    float& from_h = step.h_part[at.example][at.part + 2 * n];
    if (step.h_bias != nullptr) from_h += step.h_bias[2 * n + at.unit];
    const float fresh = Apply(cell.activation, from_x + reset * from_h);
    gates[0] = mix;
    gates[n] = reset;
    gates[2 * n] = fresh;
    const float before = step.h_before[at.example][at.state];
    WriteState(cell, step, at, IsMasked(step, at) ? before : mix * before + (1 - mix) * fresh);
  }
};

// The gates z and r of a GRU with reset_after=False.
struct GruForwardToReset {
  RecurrentCell cell;
  CellStep step;
  Rows reset;

  __device__ void operator()(int64_t i) const {
    const Place at(cell, i);
    const int64_t n = cell.units;
    float* const gates = step.x_part[at.example] + at.part;
    gates[0] = Apply(cell.recurrent_activation, Sum(cell, step, at, 0));
    gates[n] = Apply(cell.recurrent_activation, Sum(cell, step, at, 1));
    reset[at.example][at.state] =
        gates[n] * step.h_before[at.example][at.state] * FactorOf(cell, step, at, 2);
  }
};

struct GruForwardFromReset {
  RecurrentCell cell;
  CellStep step;

  __device__ void operator()(int64_t i) const {
    const Place at(cell, i);
    float* const gates = step.x_part[at.example] + at.part;
    const float fresh = Apply(cell.activation, Sum(cell, step, at, 2));
    gates[2 * cell.units] = fresh;
    const float mix = gates[0];
    const float before = step.h_before[at.example][at.state];
    WriteState(cell, step, at, IsMasked(step, at) ? before : mix * before + (1 - mix) * fresh);
  }
};

// The gradient that reaches a state from the step after it.
__device__ float FromNextStep(const RecurrentCell& cell, const CellStepBack& step, const Place& at,
                              int64_t i) {
  float sum = step.carried[i];
  for (int64_t gate = 0; gate < step.products; ++gate) {
    sum +=
        step.product[at.example][gate * cell.count() + at.state] * FactorOf(cell, step, at, gate);
  }
  return sum;
}

__device__ bool IsLast(const CellStepBack& step) { return step.step == step.output.steps - 1; }

__device__ float GradientOfH(const RecurrentCell& cell, const CellStepBack& step, const Place& at,
                             int64_t i) {
  const float sum =
      step.output.GradientAfter(step.output_gradient, step.pass, at.example, step.step, at.state);
  return IsLast(step) ? sum : sum + FromNextStep(cell, step, at, i);
}

// The state of a masked example is copied past the step, and so is its gradient.
__device__ void Bypass(const RecurrentCell& cell, const CellStepBack& step, const Place& at,
                       int64_t i, float h_gradient) {
  for (int64_t gate = 0; gate < cell.gates; ++gate) {
    const int64_t part = at.part + gate * cell.units;
    step.x_part[at.example][part] = 0;
    if (step.h_part.data != nullptr) step.h_part[at.example][part] = 0;
  }
  step.carried[i] = h_gradient;
}

struct SimpleBack {
  RecurrentCell cell;
  CellStepBack step;

  __device__ void operator()(int64_t i) const {
    const Place at(cell, i);
    const float h_gradient = GradientOfH(cell, step, at, i);
    if (IsMasked(step, at)) return Bypass(cell, step, at, i, h_gradient);
    float& gate = step.x_part[at.example][at.part];
    gate = h_gradient * Derivative(cell.activation, gate);
    step.carried[i] = 0;
  }
};

struct LstmBack {
  RecurrentCell cell;
  CellStepBack step;

  __device__ void operator()(int64_t i) const {
    const Place at(cell, i);
    const int64_t n = cell.units;
    const float h_gradient = GradientOfH(cell, step, at, i);
    const float c_gradient_after =
        IsLast(step)
            ? step.output.LastGradient(step.output_gradient, step.pass, 1, at.example, at.state)
            : step.c_gradient[i];
    if (IsMasked(step, at)) {
      step.c_gradient[i] = c_gradient_after;
      return Bypass(cell, step, at, i, h_gradient);
    }
    float* const gates = step.x_part[at.example] + at.part;
    const float in = gates[0];
    const float forget = gates[n];
    const float fresh = gates[2 * n];
    const float out = gates[3 * n];
    // From h = o a(c) and c = f c_before + i a(g).
    const float squashed = Apply(cell.activation, step.c[at.example][at.state]);
    const float c_gradient =
        c_gradient_after + h_gradient * out * Derivative(cell.activation, squashed);
    const float gradients[4] = {c_gradient * fresh * Derivative(cell.recurrent_activation, in),
                                c_gradient * step.c_before[at.example][at.state] *
                                    Derivative(cell.recurrent_activation, forget),
                                c_gradient * in * Derivative(cell.activation, fresh),
                                h_gradient * squashed * Derivative(cell.recurrent_activation, out)};
    for (int gate = 0; gate < 4; ++gate) {
      gates[gate * n] = gradients[gate];
      if (step.h_part.data != nullptr) {
        step.h_part[at.example][at.part + gate * n] = gradients[gate];
      }
    }
    step.c_gradient[i] = c_gradient * forget;
    step.carried[i] = 0;
  }
};

struct GruBack {
  RecurrentCell cell;
  CellStepBack step;

  __device__ void operator()(int64_t i) const {
    const Place at(cell, i);
    const int64_t n = cell.units;
    const float h_gradient = GradientOfH(cell, step, at, i);
    if (IsMasked(step, at)) return Bypass(cell, step, at, i, h_gradient);
    float* const gates = step.x_part[at.example] + at.part;
    float* const h_part = step.h_part[at.example] + at.part;
    const float mix = gates[0];
    const float reset = gates[n];
    const float fresh = gates[2 * n];
    // From h' = z h + (1 - z) a(x part + r * h part).
    const float fresh_gradient = h_gradient * (1 - mix) * Derivative(cell.activation, fresh);
    gates[0] = h_part[0] = h_gradient * (step.h_before[at.example][at.state] - fresh) *
                           Derivative(cell.recurrent_activation, mix);
    gates[n] = h_part[n] =
        fresh_gradient * h_part[2 * n] * Derivative(cell.recurrent_activation, reset);
    gates[2 * n] = fresh_gradient;
    h_part[2 * n] = fresh_gradient * reset;
    step.carried[i] = h_gradient * mix;
  }
};

// Writes the gradients of the gates z and n; that of r needs the product with n's.
struct GruBackToReset {
  RecurrentCell cell;
  CellStepBack step;

  __device__ void operator()(int64_t i) const {
    const Place at(cell, i);
    const int64_t n = cell.units;
    const float h_gradient = GradientOfH(cell, step, at, i);
    float* const gates = step.x_part[at.example] + at.part;
    const float mix = gates[0];
    const float fresh = gates[2 * n];
    if (IsMasked(step, at)) {
      // StepBackFromReset turns the gate's value into a zero gradient.
      gates[0] = 0;
      gates[2 * n] = 0;
      step.carried[i] = h_gradient;
      return;
    }
    gates[0] = h_gradient * (step.h_before[at.example][at.state] - fresh) *
               Derivative(cell.recurrent_activation, mix);
    gates[2 * n] = h_gradient * (1 - mix) * Derivative(cell.activation, fresh);
    step.carried[i] = h_gradient * mix;
  }
};

struct GruBackFromReset {
  RecurrentCell cell;
  CellStepBack step;

  __device__ void operator()(int64_t i) const {
    const Place at(cell, i);
    float& gate = step.x_part[at.example][at.part + cell.units];
    if (IsMasked(step, at)) {
      gate = 0;
      return;
    }
    const float reset = gate;
    const float by_reset =
        step.product[at.example][2 * cell.count() + at.state] * FactorOf(cell, step, at, 2);
    gate = by_reset * step.h_before[at.example][at.state] *
           Derivative(cell.recurrent_activation, reset);
    step.carried[i] += by_reset * reset;
  }
};

struct Finish {
  RecurrentCell cell;
  CellStepBack step;
  float* h_gradient;

  __device__ void operator()(int64_t i) const {
    h_gradient[i] = FromNextStep(cell, step, Place(cell, i), i);
  }
};

struct Output {
  RecurrentOutput output;
  int64_t count;
  float* to;

  __device__ void operator()(int64_t i) const { to[i] = output.Element(i / count, i % count); }
};

template <typename Body>
void ForEachUnit(Context* context, const Body& body) {
  ForEach(context, body.cell.examples * body.cell.count(), body);
}

}  // namespace

void StartSteps(Context* context, const RecurrentCell& cell, const float* h, const float* c,
                const CellStep& step) {
  ForEachUnit(context, Start{cell, step, h, c});
}

void StepForward(Context* context, const RecurrentCell& cell, const CellStep& step) {
  switch (cell.kind) {
    case RecurrentPass::Kind::kSimple:
      return ForEachUnit(context, SimpleForward{cell, step});
    case RecurrentPass::Kind::kLstm:
      return ForEachUnit(context, LstmForward{cell, step});
    case RecurrentPass::Kind::kGru:
      if (cell.resets_after) return ForEachUnit(context, GruForward{cell, step});
      return ForEachUnit(context, GruForwardFromReset{cell, step});
  }
}

void StepForwardToReset(Context* context, const RecurrentCell& cell, const CellStep& step,
                        const Rows& reset) {
  ForEachUnit(context, GruForwardToReset{cell, step, reset});
}

void StepBack(Context* context, const RecurrentCell& cell, const CellStepBack& step) {
  switch (cell.kind) {
    case RecurrentPass::Kind::kSimple:
      return ForEachUnit(context, SimpleBack{cell, step});
    case RecurrentPass::Kind::kLstm:
      return ForEachUnit(context, LstmBack{cell, step});
    case RecurrentPass::Kind::kGru:
      if (cell.resets_after) return ForEachUnit(context, GruBack{cell, step});
      return ForEachUnit(context, GruBackToReset{cell, step});
  }
}

void StepBackFromReset(Context* context, const RecurrentCell& cell, const CellStepBack& step) {
  ForEachUnit(context, GruBackFromReset{cell, step});
}

void FinishSteps(Context* context, const RecurrentCell& cell, const CellStepBack& step,
                 float* h_gradient) {
  ForEachUnit(context, Finish{cell, step, h_gradient});
}

void WriteOutput(Context* context, const RecurrentOutput& output, float* to) {
  const int64_t count = output.count();
  ForEach(context, output.examples * count, Output{output, count, to});
}

}  // namespace cairn::nn::cuda
