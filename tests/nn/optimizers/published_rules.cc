#include "tests/nn/optimizers/published_rules.h"

#include <algorithm>
#include <cmath>

#include "tests/nn/optimizers/optimizer_harness.h"

namespace cairn::nn {
namespace {

using Slots = std::vector<double>;

double Sign(double x) { return (x > 0) - (x < 0); }

PublishedRule Sgd(double rate, double momentum, bool nesterov) {
  PublishedRule rule{.name = "sgd", .config = OptimizerNamed("sgd")};
  if (rate != 0.01) rule.config.set_learning_rate(rate);
  if (momentum > 0) rule.config.set_momentum(momentum);
  if (nesterov) rule.config.set_nesterov(true);
  if (momentum > 0) rule.slots = {0};
  rule.update = [=](int64_t, double g, double* value, Slots* s) {
    if (momentum == 0) {
      *value -= rate * g;
      return;
    }
    double& v = (*s)[0];
    v = momentum * v - rate * g;
    *value += nesterov ? momentum * v - rate * g : v;
  };
  return rule;
}

// The moments that Adam and its variants share.
void MoveMoments(double b1, double b2, double g, Slots* s) {
  (*s)[0] = b1 * (*s)[0] + (1 - b1) * g;
  (*s)[1] = b2 * (*s)[1] + (1 - b2) * g * g;
}

void SetMoments(double rate, double b1, double b2, double epsilon, proto::Optimizer* config) {
  config->set_learning_rate(rate);
  config->set_beta_1(b1);
  config->set_beta_2(b2);
  config->set_epsilon(epsilon);
}

PublishedRule Adam(bool defaults, bool amsgrad, double weight_decay) {
  const double rate = defaults ? 0.001 : 0.02, b1 = defaults ? 0.9 : 0.5,
               b2 = defaults ? 0.999 : 0.9, epsilon = defaults ? 1e-7 : 0.1;
  PublishedRule rule{.name = amsgrad ? "amsgrad" : "adam", .config = OptimizerNamed("adam")};
  if (weight_decay > 0) rule.config.set_name("adamw");
  if (!defaults) SetMoments(rate, b1, b2, epsilon, &rule.config);
  if (!defaults && weight_decay > 0) rule.config.set_weight_decay(weight_decay);
  if (amsgrad) rule.config.set_amsgrad(true);
  rule.slots = amsgrad ? Slots{0, 0, 0} : Slots{0, 0};
  rule.update = [=](int64_t t, double g, double* value, Slots* s) {
    *value -= rate * weight_decay * *value;
    MoveMoments(b1, b2, g, s);
    double v = (*s)[1];
    if (amsgrad) v = (*s)[2] = std::max((*s)[2], v);
    const double alpha = rate * std::sqrt(1 - std::pow(b2, t)) / (1 - std::pow(b1, t));
    *value -= alpha * (*s)[0] / (std::sqrt(v) + epsilon);
  };
  return rule;
}

PublishedRule Nadam(bool defaults) {
  const double rate = defaults ? 0.001 : 0.02, b1 = defaults ? 0.9 : 0.6,
               b2 = defaults ? 0.999 : 0.95, epsilon = defaults ? 1e-7 : 0.01;
  PublishedRule rule{.name = "nadam", .config = OptimizerNamed("Nadam"), .slots = {0, 0}};
  if (!defaults) SetMoments(rate, b1, b2, epsilon, &rule.config);
  rule.update = [=](int64_t t, double g, double* value, Slots* s) {
    MoveMoments(b1, b2, g, s);
    const auto u = [b1](int64_t i) { return b1 * (1 - 0.5 * std::pow(0.96, i)); };
    double product = 1;
    for (int64_t i = 1; i <= t; ++i) product *= u(i);
    const double m_hat =
        u(t + 1) * (*s)[0] / (1 - product * u(t + 1)) + (1 - u(t)) * g / (1 - product);
    const double v_hat = (*s)[1] / (1 - std::pow(b2, t));
    *value -= rate * m_hat / (std::sqrt(v_hat) + epsilon);
  };
  return rule;
}

PublishedRule Adamax(bool defaults) {
  const double rate = defaults ? 0.001 : 0.02, b1 = defaults ? 0.9 : 0.6,
               b2 = defaults ? 0.999 : 0.95, epsilon = defaults ? 1e-7 : 0.01;
  PublishedRule rule{.name = "adamax", .config = OptimizerNamed("adamax"), .slots = {0, 0}};
  if (!defaults) SetMoments(rate, b1, b2, epsilon, &rule.config);
  rule.update = [=](int64_t t, double g, double* value, Slots* s) {
    (*s)[0] = b1 * (*s)[0] + (1 - b1) * g;
    (*s)[1] = std::max(b2 * (*s)[1], std::fabs(g));
    *value -= rate / (1 - std::pow(b1, t)) * (*s)[0] / ((*s)[1] + epsilon);
  };
  return rule;
}

PublishedRule Adagrad(bool defaults) {
  const double rate = defaults ? 0.001 : 0.5, start = defaults ? 0.1 : 0,
               epsilon = defaults ? 1e-7 : 0.01;
  PublishedRule rule{.name = "adagrad", .config = OptimizerNamed("adagrad"), .slots = {start}};
  if (!defaults) {
    rule.config.set_learning_rate(rate);
    rule.config.set_initial_accumulator_value(start);
    rule.config.set_epsilon(epsilon);
  }
  rule.update = [=](int64_t, double g, double* value, Slots* s) {
    (*s)[0] += g * g;
    *value -= rate * g / std::sqrt((*s)[0] + epsilon);
  };
  return rule;
}

PublishedRule Adadelta(bool defaults) {
  const double rate = defaults ? 0.001 : 1, rho = defaults ? 0.95 : 0.8,
               epsilon = defaults ? 1e-7 : 1e-3;
  PublishedRule rule{.name = "adadelta", .config = OptimizerNamed("adadelta"), .slots = {0, 0}};
  if (!defaults) {
    rule.config.set_learning_rate(rate);
    rule.config.set_rho(rho);
    rule.config.set_epsilon(epsilon);
  }
  rule.update = [=](int64_t, double g, double* value, Slots* s) {
    (*s)[0] = rho * (*s)[0] + (1 - rho) * g * g;
    const double delta = std::sqrt((*s)[1] + epsilon) / std::sqrt((*s)[0] + epsilon) * g;
    (*s)[1] = rho * (*s)[1] + (1 - rho) * delta * delta;
    *value -= rate * delta;
  };
  return rule;
}

PublishedRule Rmsprop(double momentum, bool centered) {
  const bool defaults = momentum == 0 && !centered;
  const double rate = defaults ? 0.001 : 0.002, rho = defaults ? 0.9 : 0.8,
               epsilon = defaults ? 1e-7 : 1e-3;
  PublishedRule rule{.name = "rmsprop", .config = OptimizerNamed("RMSprop"), .slots = {0}};
  if (!defaults) {
    rule.config.set_learning_rate(rate);
    rule.config.set_rho(rho);
    rule.config.set_epsilon(epsilon);
    rule.config.set_momentum(momentum);
    rule.config.set_centered(centered);
  }
  if (centered) rule.slots.push_back(0);
  if (momentum > 0) rule.slots.push_back(0);
  rule.update = [=](int64_t, double g, double* value, Slots* s) {
    (*s)[0] = rho * (*s)[0] + (1 - rho) * g * g;
    double denominator = (*s)[0] + epsilon;
    if (centered) {
      (*s)[1] = rho * (*s)[1] + (1 - rho) * g;
      denominator -= (*s)[1] * (*s)[1];
    }
    double increment = rate * g / std::sqrt(denominator);
    if (momentum > 0) increment = s->back() = momentum * s->back() + increment;
    *value -= increment;
  };
  return rule;
}

PublishedRule Ftrl(bool defaults, double power) {
  const double rate = defaults ? 0.001 : 0.1, start = defaults ? 0.1 : 0.3;
  const double l1 = defaults ? 0 : 0.05, l2 = defaults ? 0 : 0.1, shrinkage = defaults ? 0 : 0.02,
               beta = defaults ? 0 : 0.5;
  PublishedRule rule{.name = "ftrl", .config = OptimizerNamed("ftrl"), .slots = {start, 0}};
  if (!defaults) {
    rule.config.set_learning_rate(rate);
    rule.config.set_initial_accumulator_value(start);
    rule.config.set_learning_rate_power(power);
    rule.config.set_l1_regularization_strength(l1);
    rule.config.set_l2_regularization_strength(l2);
    rule.config.set_l2_shrinkage_regularization_strength(shrinkage);
    rule.config.set_beta(beta);
  }
  rule.update = [=](int64_t, double g, double* value, Slots* s) {
    const double sum = (*s)[0] + g * g;
    const double all_l2 = l2 + beta / (2 * rate);
    (*s)[1] += g + 2 * shrinkage * *value -
               (std::pow(sum, -power) - std::pow((*s)[0], -power)) / rate * *value;
    const double quadratic = std::pow(sum, -power) / rate + 2 * all_l2;
    *value = (std::clamp((*s)[1], -l1, l1) - (*s)[1]) / quadratic;
    (*s)[0] = sum;
  };
  return rule;
}

PublishedRule Lion(bool defaults) {
  const double rate = defaults ? 0.001 : 0.01, b1 = defaults ? 0.9 : 0.5,
               b2 = defaults ? 0.99 : 0.8;
  PublishedRule rule{.name = "lion", .config = OptimizerNamed("lion"), .slots = {0}};
  if (!defaults) {
    rule.config.set_learning_rate(rate);
    rule.config.set_beta_1(b1);
    rule.config.set_beta_2(b2);
  }
  rule.update = [=](int64_t, double g, double* value, Slots* s) {
    *value -= rate * Sign(b1 * (*s)[0] + (1 - b1) * g);
    (*s)[0] = b2 * (*s)[0] + (1 - b2) * g;
  };
  return rule;
}

}  // namespace

std::vector<PublishedRule> PublishedRules() {
  return {
      Sgd(0.01, 0, false),
      Sgd(0.05, 0.9, false),
      Sgd(0.05, 0.9, true),
      Adam(true, false, 0),
      Adam(false, false, 0),
      Adam(true, true, 0),
      Adam(false, true, 0),
      Adam(true, false, 0.004),
      Adam(false, true, 0.3),
      Nadam(true),
      Nadam(false),
      Adamax(true),
      Adamax(false),
      Adagrad(true),
      Adagrad(false),
      Adadelta(true),
      Adadelta(false),
      Rmsprop(0, false),
      Rmsprop(0.9, false),
      Rmsprop(0, true),
      Rmsprop(0.9, true),
      Ftrl(true, -0.5),
      Ftrl(false, -0.5),
      Ftrl(false, -0.8),
      Lion(true),
      Lion(false),
  };
}

}  // namespace cairn::nn
