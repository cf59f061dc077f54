#include "parameters/blocks/replicated_state.h"

#include <gtest/gtest.h>

#include "tests/parameters/test_job.h"

namespace cairn::parameters {
namespace {

class ReplicatedStateTest : public ::testing::Test {
 protected:
  ReplicatedStateTest() {
    replicas_.state.values = Filled(&pool_, block().count, 2);
    replicas_.state.version = 1;
    replicas_.state.ledger = PushLedger::AllBelow(4);
  }

  const BlockSpec& block() const {
    return layout_->blocks()[PositionOf(*layout_, "hidden/kernel")];
  }
  float ValueAt(int64_t version) {
    const auto state = StateAt(block(), replicas_, version);
    if (!state.ok()) return -1;
    EXPECT_EQ(state->ledger, PushLedger::AllBelow(version));
    return state->values.data()[0];
  }
  VersionRange Versions() const { return VersionsOf(*layout_, block(), replicas_); }

  BufferPool pool_;
  // Updates of 4 batches; the last one of an epoch of 10 batches has 2.
  const std::shared_ptr<const JobLayout> layout_ =
      MakeLayout({.synchronous = true, .batches_per_update = 4});
  ReplicatedState replicas_;
};

TEST_F(ReplicatedStateTest, AlwaysHasTheCurrentVersion) {
  EXPECT_EQ(Versions().lowest, 4);
  EXPECT_EQ(Versions().newest, 4);
  EXPECT_EQ(ValueAt(4), 2);
  EXPECT_TRUE(absl::IsNotFound(StateAt(block(), replicas_, 8).status()));
}

TEST_F(ReplicatedStateTest, AnOwnerHasTheStateBefore) {
  replicas_.previous = BlockState{Filled(&pool_, block().count, 1), {}, 0, PushLedger()};
  EXPECT_EQ(Versions().lowest, 0);
  EXPECT_EQ(Versions().newest, 4);
  EXPECT_EQ(ValueAt(0), 1);
  EXPECT_EQ(ValueAt(4), 2);
}

TEST_F(ReplicatedStateTest, AReplicaHasTheStateAfterTheNextUpdate) {
  replicas_.next = BlockState{Filled(&pool_, block().count, 7), {}, 2, PushLedger::AllBelow(8)};
  EXPECT_EQ(Versions().lowest, 4);
  EXPECT_EQ(Versions().newest, 8);
  EXPECT_EQ(ValueAt(4), 2);
  EXPECT_EQ(ValueAt(8), 7);
}

TEST_F(ReplicatedStateTest, AFrozenBlockIsTheSameInAllVersions) {
  const BlockSpec& frozen = layout_->blocks()[PositionOf(*layout_, "frozen/kernel")];
  ReplicatedState replicas;
  replicas.state.values = Filled(&pool_, frozen.count, 5);
  const VersionRange versions = VersionsOf(*layout_, frozen, replicas);
  EXPECT_EQ(versions.lowest, 0);
  EXPECT_EQ(versions.newest, 100);
  EXPECT_EQ(StateAt(frozen, replicas, 48)->values.data()[0], 5);
}

}  // namespace
}  // namespace cairn::parameters
