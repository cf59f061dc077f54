#include "parameters/snapshots/snapshot.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"

namespace cairn::parameters {

namespace {

std::string_view BytesOf(const BlockBuffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()),
          static_cast<size_t>(buffer.count()) * sizeof(float)};
}

proto::BlockHeader HeaderOf(const JobLayout& layout, const BlockSpec& block,
                            const BlockState& state) {
  const nn::VariableSpec& variable = layout.variables()[block.variable];
  proto::BlockHeader header;
  header.set_variable(variable.name);
  header.mutable_variable_shape()->Assign(variable.shape.begin(), variable.shape.end());
  header.set_row_begin(block.row_begin);
  header.set_row_end(block.row_end);
  header.set_version(state.version);
  for (int slot = 0; slot < layout.slot_count(block); ++slot) {
    header.add_slots(layout.optimizer(block).slot_names()[slot]);
  }
  if (block.pushed()) *header.mutable_ledger() = state.ledger.ToProto();
  return header;
}

absl::Status CheckSlots(const JobLayout& layout, const BlockSpec& block,
                        const StoredBlock& stored) {
  const auto names = layout.optimizer(block).slot_names().first(layout.slot_count(block));
  const auto& slots = stored.header().slots();
  if (std::equal(names.begin(), names.end(), slots.begin(), slots.end())) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the snapshot's ", block.name, " has the slots (", absl::StrJoin(slots, ", "),
      "), expected (", absl::StrJoin(names, ", "), "): it was written with another optimizer"));
}

absl::StatusOr<BlockState> ToState(const JobLayout& layout, const BlockSpec& block,
                                   const StoredBlock& stored, BufferPool* pool) {
  CAIRN_RETURN_IF_ERROR(CheckStoredBlock(layout, block, stored));
  CAIRN_RETURN_IF_ERROR(CheckSlots(layout, block, stored));
  BlockState state;
  state.values = pool->Allocate(block.count);
  if (!state.values) return NoMemoryFor(block.name, block.count);
  stored.CopyValues(state.values.data());
  if (layout.slot_count(block) > 0) {
    const int64_t count = block.count * layout.slot_count(block);
    state.slots = pool->Allocate(count);
    if (!state.slots) return NoMemoryFor(block.name, count);
    stored.CopySlots(state.slots.data());
  }
  if (stored.header().version() < 0) {
    return absl::DataLossError(
        absl::StrCat("the snapshot's ", block.name, " has version ", stored.header().version()));
  }
  state.version = stored.header().version();
  if (!block.pushed()) return state;
  absl::StatusOr<PushLedger> ledger = PushLedger::FromProto(stored.header().ledger());
  if (!ledger.ok()) {
    return absl::DataLossError(
        absl::StrCat("the snapshot's ", block.name, ": ", std::string(ledger.status().message())));
  }
  state.ledger = *std::move(ledger);
  return state;
}

}  // namespace

std::string EncodeBlockHeader(const JobLayout& layout, const BlockSpec& block,
                              const BlockState& state) {
  return HeaderOf(layout, block, state).SerializeAsString();
}

absl::StatusOr<storage::SnapshotSummary> WriteSnapshot(const Cut& cut,
                                                       const std::atomic<bool>& stop,
                                                       storage::SnapshotStore* store) {
  const JobLayout& layout = *cut.layout;
  CAIRN_ASSIGN_OR_RETURN(const std::unique_ptr<storage::SnapshotWriter> writer,
                         store->BeginSnapshot(layout.job_id(), cut.id));
  for (size_t position = 0; position < cut.states.size(); ++position) {
    if (stop) return absl::CancelledError("the generation of the job ends");
    const BlockSpec& block = layout.blocks()[position];
    const BlockState& state = cut.states[position];
    std::vector<std::string_view> pieces = {BytesOf(state.values)};
    if (state.slots) pieces.push_back(BytesOf(state.slots));
    const std::string header = EncodeBlockHeader(layout, block, state);
    CAIRN_RETURN_IF_ERROR(writer->Add(block.id, header, pieces));
  }
  return writer->Finish();
}

absl::StatusOr<BlockState> ReadState(const JobLayout& layout, const BlockSpec& block,
                                     storage::BlockRecord record, BufferPool* pool) {
  CAIRN_ASSIGN_OR_RETURN(const StoredBlock stored, StoredBlock::Parse(block.id, std::move(record)));
  return ToState(layout, block, stored, pool);
}

absl::Status CopyUploaded(const JobLayout& layout, const BlockSpec& block,
                          const StoredBlock& stored, BlockState* state) {
  CAIRN_RETURN_IF_ERROR(CheckStoredBlock(layout, block, stored));
  stored.CopyValues(state->values.data());
  const proto::BlockHeader& header = stored.header();
  if (header.version() == 0 && header.slots().empty()) return absl::OkStatus();
  CAIRN_RETURN_IF_ERROR(CheckSlots(layout, block, stored));
  if (state->slots) stored.CopySlots(state->slots.data());
  state->version = header.version();
  return absl::OkStatus();
}

absl::Status CheckStoredBlock(const JobLayout& layout, const BlockSpec& block,
                              const StoredBlock& stored) {
  const nn::VariableSpec& variable = layout.variables()[block.variable];
  const proto::BlockHeader& header = stored.header();
  const auto& shape = header.variable_shape();
  if (header.variable() == variable.name && header.row_begin() == block.row_begin &&
      header.row_end() == block.row_end &&
      std::equal(shape.begin(), shape.end(), variable.shape.begin(), variable.shape.end())) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("expected ", block.name, " of shape (", absl::StrJoin(variable.shape, ", "),
                   "), found ", header.variable(), " rows ", header.row_begin(), " to ",
                   header.row_end() - 1, " of shape (", absl::StrJoin(shape, ", "), ")"));
}

}  // namespace cairn::parameters
