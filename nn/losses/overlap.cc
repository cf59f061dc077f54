#include "nn/losses/overlap.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nn/losses/loss_terms.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

// Sums of one group of outputs: those that differ only in the axes that are summed over.
struct Group {
  double labels = 0;
  double outputs = 0;
  double products = 0;
  double weight = 0;
};

// 1 - i / (i + alpha (sum of y - i) + beta (sum of p - i) + e). Dice's loss is this with alpha and
// beta 1/2 and half of its e.
class OverlapLoss final : public Loss {
 public:
  OverlapLoss(std::string name, const proto::Loss& config, double alpha, double beta,
              double epsilon)
      : Loss(std::move(name), proto::FLOAT32),
        alpha_(alpha),
        beta_(beta),
        epsilon_(epsilon),
        axes_(config.axis().begin(), config.axis().end()) {}

  absl::Status ValidateOutput(const Shape& output) const override {
    const auto rank = static_cast<int64_t>(output.size()) + 1;
    for (const int64_t axis : axes_) {
      if (axis >= -rank && axis < rank) continue;
      return absl::InvalidArgumentError(absl::StrCat("loss ", name(), ": 'axis' has ", axis,
                                                     "; a batch of outputs has the axes 0 to ",
                                                     rank - 1));
    }
    return absl::OkStatus();
  }

  absl::Status ValidateShapes(const Shape& output, const Shape& labels) const override {
    if (absl::Status status = ValidateOutput(output); !status.ok()) return status;
    const bool fits = labels == output || WithoutLastOne(labels) == WithoutLastOne(output);
    return fits ? absl::OkStatus() : LabelShapeError(name(), output, labels, output);
  }
  int64_t LabelCount(const Shape& output) const override { return ElementCount(output); }

  absl::StatusOr<double> Compute(const Batch& batch, float* gradient) const override {
    const std::vector<int64_t> group_of = GroupsOf(batch);
    std::vector<Group> groups(1 + *std::max_element(group_of.begin(), group_of.end()));
    const int64_t elements = ElementCount(*batch.shape);
    const float* labels = static_cast<const float*>(batch.labels);
    const auto count = static_cast<int64_t>(group_of.size());
    for (int64_t i = 0; i < count; ++i) {
      Group& group = groups[group_of[i]];
      group.labels += labels[i];
      group.outputs += batch.output[i];
      group.products += static_cast<double>(labels[i]) * batch.output[i];
      // A group of several examples has the mean of their weights, as in Keras.
      group.weight += batch.weight(i / elements);
    }
    const double per_group = static_cast<double>(count) / static_cast<double>(groups.size());
    const double share = static_cast<double>(batch.examples) / static_cast<double>(groups.size());
    double sum = 0;
    for (Group& group : groups) {
      group.weight *= share / per_group;
      sum += group.weight * (1 - group.products / Denominator(group));
    }
    if (gradient == nullptr) return sum;
    const double factor = GradientFactor(batch, 1);
    for (int64_t i = 0; i < count; ++i) {
      const Group& group = groups[group_of[i]];
      const double denominator = Denominator(group);
      const double slope = labels[i] * (1 - alpha_ - beta_) + beta_;
      gradient[i] = static_cast<float>(-factor * group.weight *
                                       (labels[i] * denominator - group.products * slope) /
                                       (denominator * denominator));
    }
    return sum;
  }

 private:
  double Denominator(const Group& group) const {
    return group.products + alpha_ * (group.labels - group.products) +
           beta_ * (group.outputs - group.products) + epsilon_;
  }

  // The group of each output of the batch.
  std::vector<int64_t> GroupsOf(const Batch& batch) const {
    Shape shape = *batch.shape;
    shape.insert(shape.begin(), batch.examples);
    const auto rank = static_cast<int64_t>(shape.size());
    std::vector<bool> summed(rank, axes_.empty());
    for (const int64_t axis : axes_) summed[axis < 0 ? axis + rank : axis] = true;
    std::vector<int64_t> group_of = {0};
    for (int64_t axis = 0; axis < rank; ++axis) {
      std::vector<int64_t> deeper;
      deeper.reserve(group_of.size() * shape[axis]);
      for (const int64_t group : group_of) {
        for (int64_t i = 0; i < shape[axis]; ++i) {
          deeper.push_back(summed[axis] ? group : group * shape[axis] + i);
        }
      }
      group_of = std::move(deeper);
    }
    return group_of;
  }

  const double alpha_;
  const double beta_;
  const double epsilon_;
  const std::vector<int64_t> axes_;
};

}  // namespace

std::unique_ptr<Loss> CreateDice(const proto::Loss& config) {
  return std::make_unique<OverlapLoss>("dice", config, 0.5, 0.5, 0.5e-7);
}

std::unique_ptr<Loss> CreateTversky(const proto::Loss& config) {
  return std::make_unique<OverlapLoss>("tversky", config, config.has_alpha() ? config.alpha() : 0.5,
                                       config.has_beta() ? config.beta() : 0.5, 1e-7);
}

}  // namespace cairn::nn
