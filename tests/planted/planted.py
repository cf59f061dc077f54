#!/usr/bin/env python3
"""Plants faults in a copy of the source tree, one at a time, and checks that the named test of each
fails: a test that cannot fail proves nothing.

Usage: planted.py [--list] [--scratch FOLDER] [NAME...]

Without NAME it plants all of them; each costs the build of a few files and a test. FOLDER (default:
a temporary one) gets the copy. Before the first fault all of the tests must pass. Fails if a test
does not find its fault, or if a fault cannot be planted because its source has changed: then adapt
FAULTS.
"""

import argparse
import dataclasses
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS_FAILED = 3  # Bazel's exit code: built, and a test failed.


@dataclasses.dataclass
class Fault:
    name: str
    file: str
    right: str  # Occurs once in the file.
    wrong: str
    checker: str


CUDA_DEVICE_TEST = "//tests/nn/cuda_on_host:cuda_device_test"
CUDA_STEPS_TEST = "//tests/nn/cuda_on_host:steps_test"
LOSS_KERNEL_TEST = "//tests/nn/cuda_on_host:loss_kernel_test"
CUDA_LAYERS_TEST = "//tests/nn/cuda_on_host:layers_seed_1_test"
CUDA_CONVOLUTION_TEST = "//tests/nn/cuda_on_host:convolution_test"

FAULTS = [
    Fault("the ledger is off: a repeated push is applied again", "parameters/blocks/block.cc",
          "if (push.gradient && (is_new || options_.unsafe_disable_ledger)) {",
          "if (push.gradient) {", "//tests/schedules:schedule_test"),
    Fault("reports of an older generation are accepted", "coordinator/job.cc",
          "  if (report.generation() != journaled_.run().generation()) {\n"
          "    return KeepLateReport(worker, report);\n  }\n",
          "", "//tests/coordinator:job_test"),
    Fault("the fence is off: pushes of an older generation are applied",
          "parameters/parameter_store.cc",
          "if (job_->layout()->job_id() == job_id && job_->generation() == generation) {",
          "if (job_->layout()->job_id() == job_id) {", "//tests/parameters:parameter_store_test"),
    Fault("the journal is not synced", "storage/journal.cc",
          "options.sync = sync;", "options.sync = false;", "//tests/storage:journal_test"),
    Fault("two ps are swapped: requests for another ps are served",
          "parameters/parameter_service.cc",
          "if (envelope.receiver() != parts_.ps) {", "if (false) {",
          "//tests/parameters:parameter_service_test"),
    Fault("blocks of a snapshot are read without their checksums", "storage/snapshot_format.cc",
          "if (stored != entry.checksum || Checksum(rest) != entry.checksum) {",
          "if (false && stored != entry.checksum) {",
          "//tests/storage:snapshot_format_test"),
    Fault("a snapshot is renamed without the sync of its directory", "storage/snapshot_writer.cc",
          'if (synced.ok()) synced = SyncDirectory(env_, directory_, ErrorPrefix("rename"));', "",
          "//tests/storage:snapshot_store_test"),
    Fault("a snapshot is published without being read back", "storage/snapshot_writer.cc",
          "if (absl::Status read = ReadBack(); !read.ok()) return Fail(read);", "",
          "//tests/storage:snapshot_writer_test"),
    Fault("a damaged CLUSTER file counts as unknown", "storage/snapshot_store.cc",
          "if (!valid && has_snapshots_) {", "if (false) {",
          "//tests/storage:snapshot_store_test"),
    Fault("a stale pull may be older by one batch", "parameters/blocks/consistency.cc",
          "return ledger.AllBelowApplied(batch - window_) ?",
          "return ledger.AllBelowApplied(batch - window_ - 1) ?",
          "//tests/parameters/blocks:consistency_test"),
    Fault("a torn cut becomes a checkpoint", "coordinator/training/cut.cc",
          "return applied.half.empty() && !(", "return !(", "//tests/schedules:schedule_test"),
    Fault("the leases of a lost worker are given to nobody", "coordinator/training/split_queue.cc",
          "  ReturnAll(id, &it->second);\n  workers_.erase(it);\n",
          "  workers_.erase(it);\n",
          "//tests/coordinator/training:split_queue_test"),
    Fault("an epoch waits for its slowest worker", "coordinator/training/split_queue.cc",
          "    ReturnAll(id, &worker);\n    slow_.insert(id);\n", "    slow_.insert(id);\n",
          "//tests/coordinator/training:split_queue_test"),
    Fault("a slow worker gets the batches back that were taken from it",
          "coordinator/training/split_queue.cc",
          "    slow_.insert(id);\n", "", "//tests/coordinator/training:split_queue_test"),
    Fault("a worker that cannot do the job is tried again at once",
          "coordinator/eligible_workers.cc",
          "transient ? now + PauseAfter(unfit.tries) :", "transient ? now :",
          "//tests/coordinator:eligible_workers_test"),
    Fault("a resumed job stays cancelled", "coordinator/job.cc",
          "  journaled_.Reopen(outbox);\n", "", "//tests/coordinator:scheduler_test"),
    Fault("a rollback keeps the old values until they are written", "parameters/job_control.cc",
          "  CancelWrites();\n  // What is in memory may be the source.",
          "  // What is in memory may be the source.", "//tests/parameters:job_control_test"),
    Fault("all tasks that lost the coordinator come back at once", "cluster/rpc_channel.cc",
          "return delay * (0.5 + 0.5 * RandomUniform(seed_, draws_++));", "return delay;",
          "//tests/cluster:rpc_channel_test"),
    Fault("words of ledgers that are not aligned lose their last bits",
          "coordinator/training/applied_batches.cc",
          "if (shift > 0 && first + 8 < size) {", "if (false) {",
          "//tests/coordinator/training:applied_batches_test"),
    Fault("every start of the coordinator has the same term", "coordinator/scheduler.cc",
          "cluster.set_term(cluster.term() + 1);", "cluster.set_term(1);",
          "//tests/coordinator:scheduler_test"),
    Fault("a worker keeps leases that were given to others", "worker/work_state.cc",
          "if (!keep_leases) ForgetLeases();", "", "//tests/worker:work_state_test"),
    Fault("a batch that is reported twice counts twice in the means",
          "coordinator/training/history.cc",
          "if (sums.recorded.Contains(batch)) return false;", "",
          "//tests/coordinator/training:history_test"),
    Fault("the ledger forgets batches above its low-water mark", "parameters/blocks/push_ledger.cc",
          "    ++low_water_;\n    AdvanceLowWater();", "    ++low_water_;",
          "//tests/parameters/blocks:push_ledger_test"),
    Fault("a replicated update is visible before its replicas have it",
          "parameters/blocks/block.cc",
          "if (options_.replicate != nullptr && !layout_.clips_update_norms()) return Replicate(1);",
          "", "//tests/parameters:replica_set_test"),
    Fault("an owner of replicated blocks forgets the state before its last update",
          "parameters/blocks/block.cc", "if (!options_.is_replica && previous_values_) {",
          "if (false) {", "//tests/parameters:replica_set_test"),
    Fault("a replica refuses an update that comes again", "parameters/blocks/block.cc",
          "if (received.IsApplied(update.batch)) return absl::OkStatus();", "",
          "//tests/schedules:schedule_test"),
    Fault("a worker pulls early without a push that will be acknowledged",
          "worker/strategy/parameter_server_strategy.cc",
          "update > 0 && last_pushed_ == update - 1;", "update > 0;",
          "//tests/worker/strategy:parameter_server_strategy_test"),
    Fault("gradients of early values are not held back", "worker/strategy/gradient_pusher.cc",
          "if (!IsHeld(held_by)) return;", "return;",
          "//tests/worker/strategy:gradient_pusher_test"),
    Fault("a member offers a version of its replicas that some of them lack",
          "parameters/replica_set.cc",
          "versions_.newest = std::min(versions_.newest, of_block.newest);", "",
          "//tests/parameters:replica_set_test"),
    Fault("an update counts as replicated when one member has it",
          "parameters/update_replicator.cc",
          "std::make_shared<Answers>(static_cast<int>(peers_.size()), std::move(done));",
          "std::make_shared<Answers>(1, std::move(done));",
          "//tests/parameters:update_replicator_test"),
    Fault("a job continues from the replicas of any member, not of the newest",
          "coordinator/recovery/replica_survey.cc",
          "source->set_version(std::max(source->version(), ps.offer->newest()));",
          "source->set_version(ps.offer->newest());",
          "//tests/coordinator/recovery:replica_survey_test"),
    Fault("a job continues from replicas that have missed a rollback",
          "coordinator/recovery/replica_survey.cc",
          "return offer.complete() && offer.from_generation() >= since;",
          "return offer.complete();", "//tests/coordinator/recovery:replica_survey_test"),
    Fault("a member that has lost its disk leads to no new checkpoint",
          "coordinator/recovery/job_loader.cc", "job_.run().set_renew_checkpoint(true);", "",
          "//tests/coordinator/recovery:job_loader_test"),
    Fault("a checkpoint is the answer to requests that came after its cut",
          "coordinator/training/checkpoint_requests.cc",
          "if (request.kept && request.Awaits(manifest.reason())) request.made = manifest;",
          "if (request.Awaits(manifest.reason())) request.made = manifest;",
          "//tests/coordinator/training:checkpoint_requests_test"),
    Fault("two members that do not reach each other stop a replicated job",
          "coordinator/recovery/job_loader.cc",
          "cut_off_.Update(std::move(present), replicated(), may_leave, now.monotonic);",
          "cut_off_.Update({}, replicated(), may_leave, now.monotonic);",
          "//tests/coordinator:simulation_test"),
    Fault("a member that is cut off returns before it reaches the others",
          "coordinator/recovery/cut_off_members.cc",
          "const bool has_gap = lacking.contains(entry->first) ||", "const bool has_gap =",
          "//tests/coordinator/recovery:cut_off_members_test"),
    Fault("a worker that a live ps does not answer is not noticed", "coordinator/membership.cc",
          "return std::max(StuckInPhase(*member), CutOffFromPs(*member));",
          "return StuckInPhase(*member);", "//tests/coordinator:membership_test"),
    Fault("a parked request counts as the silence of its ps", "cluster/ps_client.cc",
          "connection.silent_since = absl::InfiniteFuture();\n    return;", "return;",
          "//tests/cluster:ps_client_test"),
    Fault("workers evaluate although an evaluator does", "coordinator/training/training.cc",
          "return evaluators_ == 0 || checkpointer_.EvaluationIsUrgent();", "return true;",
          "//tests/coordinator/training:training_test"),
    Fault("a worker that hangs in a read keeps its batches", "coordinator/job.cc",
          "const bool stuck = hangs_too_long || IsCutOff(worker);",
          "const bool stuck = IsCutOff(worker);", "//tests/coordinator:job_test"),
    Fault("a ps whose disk hangs is waited for at every checkpoint",
          "coordinator/training/checkpointer.cc",
          "if (write_ != nullptr && write_->begun_at(now.monotonic) < before) "
          "write_->GiveUp(hangs, why);", "",
          "//tests/coordinator/training:checkpointer_test"),
    Fault("a command of a ps may hang for ever", "cluster/task_session.cc",
          "return options_.on_stuck != nullptr && !was_stuck_ && seen_for_ > progress_timeout_;",
          "return false;", "//tests/cluster:task_session_test"),
    Fault("a read error is not tried again", "worker/data/files/read_at.cc",
          "if (!IsTransient(error) || !attempts.Again()) return -error;", "return -error;",
          "//tests/worker/data/files:read_at_test"),
    Fault("a job that is too large for a ps is accepted", "coordinator/job_sizes.cc",
          'verdict.refused = TooLarge(absl::StrCat("ps ", ps), sizes[ps], limit);', "",
          "//tests/coordinator:job_sizes_test"),
    Fault("rows of old batches stay in the journal", "coordinator/training/history.cc",
          "  DeleteOldRows(outbox);\n", "", "//tests/coordinator/training:history_test"),
    Fault("anybody's result of a batch counts", "coordinator/training/split_queue.cc",
          "if (!open_.Contains(batch) && !leased_.Contains(batch)) return true;", "return true;",
          "//tests/coordinator/training:split_queue_test"),
    Fault("states of metrics of any size are added up", "coordinator/training/history.cc",
          "no_metrics_.Fits(record.metric_states());", "true;",
          "//tests/coordinator/training:training_test"),
    Fault("a forged list of splits keeps the control loop busy",
          "coordinator/training/split_queue.cc",
          "    if (split.count() > left) return false;\n", "",
          "//tests/coordinator/training:split_queue_test"),
    Fault("a reply to an earlier inspection counts", "coordinator/job.cc",
          "if (!Inspecting() || reply.inspection() != inspection_.id()) return;",
          "if (!Inspecting()) return;", "//tests/coordinator:job_test"),
    Fault("a worker that still reads gets another part", "coordinator/data_inspection.h",
          "if (reader == worker) reader.reset();", "reader.reset();",
          "//tests/coordinator:data_inspection_test"),
    Fault("a renamed CLUSTER file may be lost with the power", "storage/snapshot_store.cc",
          "  CAIRN_RETURN_IF_ERROR(SyncDirectory(env_, directory_, action));\n", "",
          "//tests/storage:snapshot_store_test"),
    Fault("a task gets its plan again at every join", "coordinator/task_stream.cc",
          "return std::exchange(known_plan_, plan->fingerprint) != plan->fingerprint;",
          "return true;", "//tests/coordinator:task_stream_test"),
    Fault("commands for a task that does not read pile up", "coordinator/task_stream.cc",
          "if (unsent_bytes_ >= kUnsentBytesMax) {", "if (false) {",
          "//tests/coordinator:task_stream_test"),
    Fault("pulls of clients that have given up keep their places",
          "parameters/parameter_service.cc",
          "[raw] { return raw->cancelled(); }", "[raw] { return false && raw->cancelled(); }",
          "//tests/parameters:parameter_service_test"),
    Fault("a worker that is alone keeps the gradients of a whole update",
          "worker/strategy/gradient_pusher.cc",
          "return std::max(kCopiesMin, options.gradient_memory / bytes);",
          "return std::max(int64_t{1000}, options.gradient_memory / bytes);",
          "//tests/worker/strategy:gradient_pusher_test"),
    Fault("a worker that believes its generation to be over is silent", "worker/work_state.cc",
          "if (now < *report_over_at_) return;", "return;", "//tests/worker:work_state_test"),
    Fault("jobs that are over are visited at every event", "coordinator/job_table.cc",
          "  std::erase_if(open_, [](const auto& entry) { return entry.second->over(); });\n", "",
          "//tests/coordinator:job_table_test"),
    Fault("requests that are found invalid on other threads are not counted",
          "parameters/parameter_service.cc",
          "  if (absl::IsInvalidArgument(frame.status())) "
          "++parts_.store->counters().invalid_requests;\n",
          "", "//tests/parameters:parameter_service_test"),
    Fault("cuda: a sum of a block reads values before they are written", "nn/cuda/loops.h",
          "    shared_[threadIdx.x] = value;\n    __syncthreads();\n",
          "    shared_[threadIdx.x] = value;\n", CUDA_STEPS_TEST),
    Fault("cuda: a sum of a block is overwritten before all have read it", "nn/cuda/loops.h",
          "    // The next call overwrites the memory.\n    __syncthreads();\n",
          "", CUDA_STEPS_TEST),
    Fault("cuda: a sum of columns reads values before they are written", "nn/cuda/loops.h",
          "    __syncthreads();\n    if (threadIdx.y >= half) continue;",
          "    if (threadIdx.y >= half) continue;", CUDA_STEPS_TEST),
    Fault("cuda: a loop leaves out its last element", "nn/cuda/loops.h",
          "i < count; i += step) body(i);",
          "i + 1 < count; i += step) body(i);", CUDA_STEPS_TEST),
    Fault("cuda: the last piece of a sum of columns runs over the end", "nn/cuda/loops.h",
          "const int64_t end = begin + length < rows ? begin + length : rows;",
          "const int64_t end = begin + length;", CUDA_STEPS_TEST),
    Fault("cuda: a transposed product has the wrong stride", "nn/cuda/product.cc",
          "p.b_transposed ? p.inner : p.columns)",
          "p.columns)", CUDA_STEPS_TEST),
    Fault("cuda: a convolution's gradient ignores the strides", "nn/cuda/convolution.cu",
          "y * stride_y != top || ",
          "", CUDA_LAYERS_TEST),
    Fault("cuda: the planes of all volumes are those of the first", "nn/cuda/convolution.cu",
          "plane = example * g.depth + z;",
          "plane = z;", CUDA_LAYERS_TEST),
    Fault("cuda: the heads of attention have the distance of steps", "nn/cuda/product.cc",
          "i % options.heads * matrices->head",
          "i % options.heads * matrices->step", CUDA_LAYERS_TEST),
    Fault("cuda: the key's gradient replaces the value's", "nn/cuda/product.cc",
          "p.adds ? 1 : 0",
          "0", CUDA_LAYERS_TEST),
    Fault("cuda: a causal mask leaves out the step itself", "nn/cuda/attention_weights.cu",
          "step < of.positions ? step + 1",
          "step < of.positions ? step", CUDA_LAYERS_TEST),
    Fault("cuda: a convolution reads before the image", "nn/cuda/convolution.cu",
          "row >= 0 && row < g.height",
          "row < g.height", CUDA_STEPS_TEST),
    Fault("cuda: a piece of a batch replaces the kernel's gradient of the pieces before",
          "nn/cuda/convolution.cu", ".adds = piece.begin > 0}", ".adds = false}",
          CUDA_CONVOLUTION_TEST),
    Fault("cuda: a depthwise convolution's gradient ignores the strides",
          "nn/cuda/depthwise_convolution.cu", "y * stride_y != top || ", "",
          CUDA_CONVOLUTION_TEST),
    Fault("cuda: a depthwise kernel's gradient has the first nine places only",
          "nn/cuda/depthwise_convolution.cu",
          "first < places; first += kPlaces", "first < kPlaces; first += kPlaces",
          CUDA_CONVOLUTION_TEST),
    Fault("cuda: channels of a spatial dropout have the draws of others",
          "nn/cuda/dropout_kernel.cu",
          "element / per_example * channels + element % channels",
          "element / channels * channels + element % channels", CUDA_LAYERS_TEST),
    Fault("cuda: a pixel outside of a moved image has the value of one inside",
          "nn/cuda/random_affine_kernel.cu",
          "source < 0 ? images.fill_value", "source < 0 ? image[0]", CUDA_LAYERS_TEST),
    Fault("cuda: a pixel between two adaptive windows belongs to one",
          "nn/cuda/adaptive_pooling_kernel.cu",
          "((at + 1) * output[axis] - 1) / input[axis] + 1",
          "at * output[axis] / input[axis] + 1", CUDA_LAYERS_TEST),
    Fault("cuda: an orthogonal penalty's gradient has a part along the vector",
          "nn/cuda/orthogonal_penalty.cu",
          "scratch.unit_sums[element] - scratch.cosine_sums[i] * scratch.units[element]",
          "scratch.unit_sums[element]", CUDA_STEPS_TEST),
    Fault("cuda: an id that occurs twice gets one gradient", "nn/cuda/embedding_kernel.cu",
          "k < end && IdOf(keys[k]) == id; ++k",
          "k < first + 1 && IdOf(keys[k]) == id; ++k", CUDA_LAYERS_TEST),
    Fault("cuda: runs of one id are added up to the first one", "nn/cuda/embedding_kernel.cu",
          "k < count && IdOf(keys[k]) == id; k = (k / kRun + 1) * kRun",
          "k < first + 1; k = (k / kRun + 1) * kRun", CUDA_STEPS_TEST),
    Fault("cuda: a wrong id is not reported", "nn/cuda/embedding_kernel.cu",
          "if (id < 0) *invalid = 1;",
          "if (id < 0) *invalid = 0;", CUDA_STEPS_TEST),
    Fault("cuda: teams of rows share one sum", "nn/cuda/row_sums.h",
          "const double result = own[-int64_t{threadIdx.x}];",
          "const double result = shared_[0];", LOSS_KERNEL_TEST),
    Fault("cuda: items are counted before they are there", "nn/cuda/row_sums.h",
          "    if (row < rows) items[threadIdx.x] = make_item(row);\n    __syncthreads();\n",
          "    if (row < rows) items[threadIdx.x] = make_item(row);\n", LOSS_KERNEL_TEST),
    Fault("cuda: the gradient of a clipped probability is not 0", "nn/cuda/loss_terms.cu",
          "slope = (is_live(c) && y != 0 ? -y / row.output[c] : 0) +",
          "slope = (y != 0 ? -y / row.output[c] : 0) +", LOSS_KERNEL_TEST),
    Fault("cuda: the output is taken for its logits", "nn/cuda/loss_terms.cu",
          "    task.output = task.logits;\n",
          "", LOSS_KERNEL_TEST),
    Fault("cuda: the logits of a softmax lack the bias", "nn/cuda/activation_function.cu",
          "float* const kept = sum != nullptr ? sum + row * width : to;",
          "float* const kept = to;", "//tests/nn/cuda_on_host:logits_test"),
    Fault("the loss of a softmax with other consumers has no gradient", "nn/cpu/activation_tail.cc",
          "if (arguments.logits_gradient != nullptr) {",
          "if (false) {", "//tests/nn/layers:logits_test"),
    Fault("the gradient of a sum depends on the batch size", "nn/loss.cc",
          "static_cast<float>(positions * batch.examples);",
          "static_cast<float>(positions * batch.gradient_divisor);", "//tests/nn:executor_test"),
    Fault("the loss takes the outputs of a layer for its logits", "nn/cpu/activation_tail.cc",
          "  if (logits != nullptr) return logits;\n",
          "", "//tests/nn/layers:logits_test"),
    Fault("cuda: a gradient is copied before it is computed", "nn/cuda/downloads.cc",
          "  CAIRN_RETURN_IF_ERROR(CudaStatus(cudaStreamWaitEvent(stream_.get(), computed_.get(), 0),\n"
          "                                   \"ordering a copy after an event\"));\n",
          "", CUDA_STEPS_TEST),
    Fault("cuda: a difference's second gradient has the first one's sign",
          "nn/cuda/merge_kernel.cu",
          "    if (kind_ == Kind::kSubtract && i > 0) factor = -1;\n",
          "", CUDA_LAYERS_TEST),
    Fault("cuda: each thread of a layer normalization has a sum of its own",
          "nn/cuda/layer_normalization_kernel.cu",
          "               product = block.Sum(product);\n",
          "", CUDA_STEPS_TEST),
    Fault("cuda: the gradient through a batch's mean is left out",
          "nn/cuda/batch_normalization_kernel.cu",
          "(from[1] - means[c] - deviation",
          "(from[1] - deviation", CUDA_STEPS_TEST),
    Fault("cuda: a pooling window behind the last one gets a gradient",
          "nn/cuda/pooling_kernel.cu",
          "last < output[axis] ? last + 1 : int64_t{output[axis]}",
          "last + 1", CUDA_LAYERS_TEST),
    Fault("cuda: the loss is not scaled in float16", "nn/executor.cc",
          "return is_scaled ? kFirstLossScale : 1;", "return 1;", CUDA_STEPS_TEST),
    Fault("cuda: a gradient that overflows is not computed again", "nn/executor.cc",
          "    if (finite) break;\n", "    break;\n", CUDA_STEPS_TEST),
    Fault("cuda: a penalty lacks its L1 part", "nn/cuda/operations.cu",
          "sum += l1 * fabs(value) + l2 * value * value;",
          "sum += l2 * value * value;", CUDA_STEPS_TEST),
    Fault("cuda: the blocks of a penalty race for one sum", "nn/cuda/operations.cu",
          "if (block.first() == 0) sums[piece] = sum;",
          "if (block.first() == 0) sums[0] = sum;", CUDA_STEPS_TEST),
    Fault("cuda: a pinned buffer is written while it is copied", "nn/cuda/staged_copies.cc",
          "      CAIRN_RETURN_IF_ERROR(Wait(buffers_[turn_]));\n",
          "", CUDA_DEVICE_TEST),
    Fault("cuda: a copy to the host is read before it is there", "nn/cuda/staged_copies.cc",
          "    CAIRN_RETURN_IF_ERROR(Wait(buffers_[current]));\n",
          "", CUDA_DEVICE_TEST),
    Fault("cuda: each thread of a softmax has a maximum of its own",
          "nn/cuda/activation_function.cu",
          "static_cast<float>(block.Maximum(maximum));",
          "static_cast<float>(maximum);", CUDA_STEPS_TEST),
    Fault("cuda: a global maximum's gradient goes to the first example",
          "nn/cuda/global_pooling_kernel.cu",
          "winners[output] == p - e * length",
          "winners[output] == p", CUDA_LAYERS_TEST),
    Fault("cuda: a concatenation writes with the input's stride", "nn/cuda/concatenate_kernel.cu",
          "to[row * to_step + column]",
          "to[row * from_step + column]", CUDA_LAYERS_TEST),
    Fault("cuda: a masked step of an LSTM changes its state", "nn/cuda/recurrent_cell.cu",
          "      c = c_before;\n",
          "", CUDA_LAYERS_TEST),
    Fault("cuda: a sequence shows the states before the steps", "nn/cuda/recurrent_output.h",
          "Position(from, steps, step + 1)",
          "Position(from, steps, step)", CUDA_LAYERS_TEST),
    Fault("cuda: the second pass of a Bidirectional overwrites the input's gradient",
          "nn/cuda/recurrent_kernel.cu",
          ".adds_to_input = pass > 0,",
          ".adds_to_input = false,", CUDA_LAYERS_TEST),
    Fault("cuda: an error of a backward pass is forgotten", "nn/cuda/cuda_device.cc",
          "  return context_ == nullptr ? absl::OkStatus() : context_->TakeError();",
          "  return absl::OkStatus();", CUDA_DEVICE_TEST),
]


def copy_tree(to):
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True,
                           capture_output=True, check=True).stdout.splitlines()
    for name in [*names, ".bazelrc.user"]:
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


def run_tests(tree, targets):
    """Returns Bazel's exit code, and its output."""
    result = subprocess.run(["bazel", "test", "--jobs=2", "--test_output=errors", *targets],
                            cwd=tree, text=True, errors="replace", stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)
    return result.returncode, result.stdout


def plant(tree, fault):
    """Returns what became of the fault: FOUND, MISSED, or why it was not planted."""
    source = tree / fault.file
    text = source.read_text()
    if text.count(fault.right) != 1:
        return f"{fault.file} has changed"
    source.write_text(text.replace(fault.right, fault.wrong))
    try:
        code, output = run_tests(tree, [fault.checker])
    finally:
        source.write_text(text)
    if code == TESTS_FAILED:
        return "FOUND"
    return "MISSED" if code == 0 else "does not build: " + output[-2000:]


def main():
    parser = argparse.ArgumentParser(prog="planted.py")
    parser.add_argument("--list", action="store_true", help="print the faults and their tests")
    parser.add_argument("--scratch", help="the folder of the copy")
    parser.add_argument("name", nargs="*", help="a part of a fault's name; default: all")
    chosen = parser.parse_args()
    faults = [fault for fault in FAULTS
              if not chosen.name or any(name in fault.name for name in chosen.name)]
    if chosen.list or not faults:
        for fault in faults or FAULTS:
            print(f"{fault.name:70} {fault.checker}")
        return 0 if chosen.list else 2
    with tempfile.TemporaryDirectory() as temporary:
        tree = pathlib.Path(chosen.scratch or temporary)
        copy_tree(tree)
        code, output = run_tests(tree, sorted({fault.checker for fault in faults}))
        if code != 0:
            sys.exit(f"without a fault the tests do not pass:\n{output[-4000:]}")
        bad = 0
        for fault in faults:
            begin = time.monotonic()
            verdict = plant(tree, fault)
            bad += verdict != "FOUND"
            print(f"{fault.name:70} {fault.checker:45} {verdict} "
                  f"({time.monotonic() - begin:.0f} s)", flush=True)
        if not chosen.scratch:
            subprocess.run(["bazel", "clean", "--expunge"], cwd=tree, check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
