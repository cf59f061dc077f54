// Reference implementations of recurrent layers and attention.

#include <algorithm>
#include <cmath>

#include "common/random.h"
#include "nn/layers/attention.h"
#include "nn/layers/layer_output.h"
#include "nn/layers/masking.h"
#include "nn/layers/recurrent.h"
#include "nn/layers/score_attention.h"
#include "tests/nn/reference_layers.h"

namespace cairn::nn::testing {
namespace {

double Squash(const Activation& activation, double x) {
  return ReferenceActivation(activation, 1, {x})[0];
}

// One example's pass: the state after each step, in the order of computation.
class Pass {
 public:
  Pass(const RecurrentPass& pass, const ReferenceCall& call, int64_t example)
      : pass_(pass), call_(call), example_(example), n_(pass.units) {}

  // `first_state` counts the initial states of the passes before this one.
  std::vector<Doubles> Run(size_t first_state) {
    Doubles h = InitialState(first_state);
    Doubles c = pass_.kind == RecurrentPass::Kind::kLstm ? InitialState(first_state + 1) : h;
    std::vector<Doubles> states;
    for (int64_t i = 0; i < pass_.steps; ++i) {
      const int64_t step = pass_.goes_backwards ? pass_.steps - 1 - i : i;
      const bool counts = call_.masks.empty() || call_.masks[0] == nullptr ||
                          (*call_.masks[0])[example_ * pass_.steps + pass_.MaskedStep(step)] != 0;
      if (counts) Step(step, &h, &c);
      states.push_back(h);
    }
    last_ = h;
    if (pass_.kind == RecurrentPass::Kind::kLstm) last_.insert(last_.end(), c.begin(), c.end());
    return states;
  }

  // The states after the last step of Run: h, and c of an LSTM.
  const Doubles& last() const { return last_; }

 private:
  Doubles InitialState(size_t state) const {
    if (call_.inputs.size() <= 1 + state) return Doubles(n_, 0);
    const auto begin = call_.inputs[1 + state]->begin() + example_ * n_;
    return Doubles(begin, begin + n_);
  }

  const Doubles& Variable(int i) const { return *call_.variables[pass_.first_variable + i]; }
  double Bias(int64_t row, int64_t column) const {
    if (!pass_.use_bias || (row == 1 && !pass_.resets_after)) return 0;
    return Variable(2)[row * pass_.gates() * n_ + column];
  }

  // The step's input product, for column `column` of all gates.
  double FromInput(int64_t step, int64_t column) const {
    double sum = Bias(0, column);
    for (int64_t i = 0; i < pass_.input_width; ++i) {
      const double factor = call_.batch.training && pass_.dropout > 0
                                ? pass_.InputFactor(call_.key(), example_, i)
                                : 1;
      sum += (*call_.inputs[0])[(example_ * pass_.steps + step) * pass_.input_width + i] * factor *
             Variable(0)[i * pass_.gates() * n_ + column];
    }
    return sum;
  }
  double FromState(const Doubles& h, int64_t column) const {
    double sum = Bias(1, column);
    for (int64_t i = 0; i < n_; ++i) {
      const double factor = call_.batch.training && pass_.recurrent_dropout > 0
                                ? pass_.StateFactor(call_.key(), example_, column / n_, i)
                                : 1;
      sum += h[i] * factor * Variable(1)[i * pass_.gates() * n_ + column];
    }
    return sum;
  }

  void Step(int64_t step, Doubles* h, Doubles* c) const {
    const Doubles before = *h;
    const auto gate = [&](int64_t index, int64_t unit) {
      const int64_t column = index * n_ + unit;
      return Squash(pass_.recurrent_activation,
                    FromInput(step, column) + FromState(before, column));
    };
    for (int64_t u = 0; u < n_; ++u) {
      if (pass_.kind == RecurrentPass::Kind::kSimple) {
        (*h)[u] = Squash(pass_.activation, FromInput(step, u) + FromState(before, u));
      } else if (pass_.kind == RecurrentPass::Kind::kLstm) {
        const double fresh =
            Squash(pass_.activation, FromInput(step, 2 * n_ + u) + FromState(before, 2 * n_ + u));
        (*c)[u] = gate(1, u) * (*c)[u] + gate(0, u) * fresh;
        (*h)[u] = gate(3, u) * Squash(pass_.activation, (*c)[u]);
      } else {
        (*h)[u] = gate(0, u) * before[u] + (1 - gate(0, u)) * Candidate(step, before, u, gate);
      }
    }
  }

  template <typename Gate>
  double Candidate(int64_t step, const Doubles& before, int64_t unit, const Gate& gate) const {
    const int64_t column = 2 * n_ + unit;
    if (pass_.resets_after) {
      return Squash(pass_.activation,
                    FromInput(step, column) + gate(1, unit) * FromState(before, column));
    }
    Doubles reset = before;
    for (int64_t i = 0; i < n_; ++i) reset[i] *= gate(1, i);
    return Squash(pass_.activation, FromInput(step, column) + FromState(reset, column));
  }

  const RecurrentPass& pass_;
  const ReferenceCall& call_;
  const int64_t example_;
  const int64_t n_;
  Doubles last_;
};

double MergeOne(RecurrentLayer::Merge merge, double a, double b) {
  if (merge == RecurrentLayer::Merge::kMultiply) return a * b;
  return merge == RecurrentLayer::Merge::kAverage ? (a + b) / 2 : a + b;
}

// input (rows of `width`) x kernel (width, columns) + bias, if there is one.
Doubles Project(const ReferenceCall& call, const AttentionLayer& layer, AttentionLayer::Part part,
                const Doubles& input, int64_t width) {
  const Doubles& kernel = *call.variables[layer.kernel(part)];
  const int64_t columns = static_cast<int64_t>(kernel.size()) / width;
  Doubles output;
  for (int64_t row = 0; row < static_cast<int64_t>(input.size()) / width; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      double sum = layer.use_bias() ? (*call.variables[layer.kernel(part) + 1])[column] : 0;
      for (int64_t i = 0; i < width; ++i) {
        sum += input[row * width + i] * kernel[i * columns + column];
      }
      output.push_back(sum);
    }
  }
  return output;
}

}  // namespace

Doubles ReferenceMask(const ReferenceCall& call) {
  const auto& layer = static_cast<const MaskingLayer&>(call.layer);
  Doubles mask(call.batch.size * layer.steps(), 0);
  for (size_t i = 0; i < call.inputs[0]->size(); ++i) {
    if ((*call.inputs[0])[i] != layer.mask_value()) mask[i / layer.width()] = 1;
  }
  return mask;
}

Doubles ReferenceMasking(const ReferenceCall& call) {
  const int64_t width = call.layer.output().shape[1];
  const Doubles mask = ReferenceMask(call);
  Doubles output = *call.inputs[0];
  for (size_t i = 0; i < output.size(); ++i) output[i] *= mask[i / width];
  return output;
}

Doubles ReferenceRecurrent(const ReferenceCall& call) {
  const auto& layer = static_cast<const RecurrentLayer&>(call.layer);
  const int64_t steps = layer.passes()[0].steps;
  Doubles output;
  for (int64_t example = 0; example < call.batch.size; ++example) {
    std::vector<std::vector<Doubles>> states;
    Doubles last;
    for (const RecurrentPass& pass : layer.passes()) {
      Pass run(pass, call, example);
      states.push_back(run.Run(last.size() / pass.units));
      last.insert(last.end(), run.last().begin(), run.last().end());
    }
    // Aligns the steps of both directions.
    if (states.size() == 2 && layer.returns_sequences()) {
      std::reverse(states[1].begin(), states[1].end());
    }
    for (int64_t i = layer.returns_sequences() ? 0 : steps - 1; i < steps; ++i) {
      const bool is_zero = layer.zeroes_masked_steps() && layer.returns_sequences() &&
                           !call.masks.empty() && call.masks[0] != nullptr &&
                           (*call.masks[0])[example * steps + layer.passes()[0].MaskedStep(i)] == 0;
      Doubles row = states[0][i];
      if (states.size() == 2 && layer.merge() == RecurrentLayer::Merge::kConcatenate) {
        row.insert(row.end(), states[1][i].begin(), states[1][i].end());
      } else if (states.size() == 2) {
        for (size_t u = 0; u < row.size(); ++u) {
          row[u] = MergeOne(layer.merge(), row[u], states[1][i][u]);
        }
      }
      for (double value : row) output.push_back(is_zero ? 0 : value);
    }
    if (layer.returns_states()) output.insert(output.end(), last.begin(), last.end());
  }
  return output;
}

Doubles ReferenceLayerOutput(const ReferenceCall& call) {
  const auto& layer = static_cast<const LayerOutputLayer&>(call.layer);
  const int64_t width = ElementCount(layer.inputs()[0].shape);
  Doubles output;
  for (int64_t example = 0; example < call.batch.size; ++example) {
    const auto begin = call.inputs[0]->begin() + example * width + layer.offset();
    output.insert(output.end(), begin, begin + ElementCount(layer.output().shape));
  }
  return output;
}

Doubles ReferenceAttention(const ReferenceCall& call) {
  using Part = AttentionLayer::Part;
  const auto& layer = static_cast<const AttentionLayer&>(call.layer);
  const auto project = [&](Part part) {
    const int input = layer.input(part);
    return Project(call, layer, part, *call.inputs[input], layer.inputs()[input].shape[1]);
  };
  const Doubles query = project(Part::kQuery);
  const Doubles key = project(Part::kKey);
  const Doubles value = project(Part::kValue);
  const auto counts = [&](size_t input, int64_t at) {
    return call.masks.size() <= input || call.masks[input] == nullptr ||
           (*call.masks[input])[at] != 0;
  };
  // The score of (example, head, step, position) in the attention mask.
  const auto is_left_in = [&](std::vector<int64_t> at) {
    if (layer.mask_input() < 0) return true;
    const Shape shape = layer.mask_shape();
    int64_t index = at[0];
    for (int axis = 0; axis < 3; ++axis) {
      index = index * shape[axis] + (shape[axis] == 1 ? 0 : at[axis + 1]);
    }
    return (*call.inputs[layer.mask_input()])[index] != 0;
  };
  Doubles heads(call.batch.size * layer.steps() * layer.heads() * layer.value_width(), 0);
  for (int64_t example = 0; example < call.batch.size; ++example) {
    for (int64_t head = 0; head < layer.heads(); ++head) {
      for (int64_t step = 0; step < layer.steps(); ++step) {
        const int64_t row = (example * layer.steps() + step) * layer.heads() + head;
        Doubles scores;
        std::vector<bool> open;
        for (int64_t position = 0; position < layer.positions(); ++position) {
          const int64_t at = example * layer.positions() + position;
          double sum = 0;
          for (int64_t i = 0; i < layer.key_width(); ++i) {
            sum += query[row * layer.key_width() + i] *
                   key[(at * layer.heads() + head) * layer.key_width() + i];
          }
          open.push_back(counts(0, example * layer.steps() + step) && counts(1, at) &&
                         counts(2, at) && !(layer.is_causal() && position > step) &&
                         is_left_in({example, head, step, position}));
          scores.push_back(open.back() ? sum / std::sqrt(layer.key_width()) : -1e9);
        }
        const double largest = *std::max_element(scores.begin(), scores.end());
        for (double& score : scores) score -= largest;
        scores = ReferenceActivation({.kind = Activation::Kind::kSoftmax}, layer.positions(),
                                     std::move(scores));
        for (int64_t position = 0; position < layer.positions(); ++position) {
          const int64_t draw =
              ((example * layer.heads() + head) * layer.steps() + step) * layer.positions() +
              position;
          double weight = layer.zeroes_masked_weights() && !open[position] ? 0 : scores[position];
          if (call.batch.training && layer.dropout() > 0) {
            const bool drops = RandomUniform(call.key(), draw) < layer.dropout();
            weight = drops ? 0 : weight / (1 - layer.dropout());
          }
          const int64_t at = (example * layer.positions() + position) * layer.heads() + head;
          for (int64_t i = 0; i < layer.value_width(); ++i) {
            heads[row * layer.value_width() + i] += weight * value[at * layer.value_width() + i];
          }
        }
      }
    }
  }
  return Project(call, layer, Part::kOutput, heads, layer.heads() * layer.value_width());
}

Doubles ReferenceScoreAttention(const ReferenceCall& call) {
  using Score = ScoreAttentionLayer::Score;
  const auto& layer = static_cast<const ScoreAttentionLayer&>(call.layer);
  const Doubles& value = *call.inputs[1];
  const Doubles& key = *call.inputs[layer.key_input()];
  const auto is_open = [&](size_t input, int64_t at) {
    return call.masks.size() <= input || call.masks[input] == nullptr ||
           (*call.masks[input])[at] != 0;
  };
  const auto score_of = [&](const double* q, const double* k) {
    double score = 0;
    for (int64_t i = 0; i < layer.width(); ++i) {
      const double scale =
          !layer.use_scale() ? 1 : (*call.variables[0])[layer.score() == Score::kAdditive ? i : 0];
      score += layer.score() == Score::kDot      ? scale * q[i] * k[i]
               : layer.score() == Score::kConcat ? std::tanh(scale * (q[i] + k[i]))
                                                 : scale * std::tanh(q[i] + k[i]);
    }
    return layer.score() == Score::kConcat ? (*call.variables[layer.weight_variable()])[0] * score
                                           : score;
  };
  Doubles output;
  for (int64_t row = 0; row < call.batch.size * layer.steps(); ++row) {
    const int64_t example = row / layer.steps();
    Doubles scores;
    for (int64_t position = 0; position < layer.positions(); ++position) {
      const int64_t at = example * layer.positions() + position;
      const bool counts = is_open(1, at) && !(layer.is_causal() && position > row % layer.steps());
      scores.push_back(
          score_of(call.inputs[0]->data() + row * layer.width(), key.data() + at * layer.width()) -
          (counts ? 0 : 1e9));
    }
    // If everything is masked, all scores are equal: next to -1e9 a float loses the score.
    const double largest = *std::max_element(scores.begin(), scores.end());
    for (double& score : scores) score = largest < -1e8 ? 0 : score - largest;
    scores = ReferenceActivation({.kind = Activation::Kind::kSoftmax}, layer.positions(),
                                 std::move(scores));
    Doubles sum(layer.value_width(), 0);
    for (int64_t position = 0; position < layer.positions(); ++position) {
      double weight = scores[position];
      if (call.batch.training && layer.dropout() > 0) {
        const bool drops =
            RandomUniform(call.key(), row * layer.positions() + position) < layer.dropout();
        weight = drops ? 0 : weight / (1 - layer.dropout());
      }
      const int64_t at = (example * layer.positions() + position) * layer.value_width();
      for (int64_t i = 0; i < layer.value_width(); ++i) sum[i] += weight * value[at + i];
    }
    for (const double element : sum) output.push_back(is_open(0, row) ? element : 0);
  }
  return output;
}

}  // namespace cairn::nn::testing
