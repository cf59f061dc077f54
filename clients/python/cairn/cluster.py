"""Clusters: cairn.local, cairn.connect, and fit, evaluate and predict on them."""

import contextlib
import functools
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
import weakref

import keras

from cairn import compiled, inference, job_files, model_files, optimizer_state, structure, translation
from cairn.callbacks import Hook, RateSet, Stopped, checkpoints_to_keep, keep_rate
from cairn.data import DataFolder, as_arrays, from_batches, is_files, shape_of, split
from cairn.epochs import EpochLogs, needs_csv
from cairn.errors import CairnError, NotSupported
from cairn.job_data import class_weights, classes_of, examples_of, source_of, weights_of_classes
from cairn.objectives import Objectives
from cairn.optimizer_state import optimizer_of
from cairn.rate_plan import planned_rates
from cairn.sample_weights import are_for_elements, divided_weights, weights_of
from cairn.steps import step_of
from cairn.texts import Lookups
from cairn.tool import Tool

# Ends the local cluster when its standard input closes: at close(), or when this process is gone.
# The job files of failed jobs stay.
_GUARD = """
import os, shutil, subprocess, sys
tool, state, temporary = sys.argv[1:]
sys.stdin.read()
subprocess.run([tool, "down", "--state", state] + (["--now"] if temporary else []),
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
if temporary:
    data = os.path.join(temporary, "data")
    for name in os.listdir(temporary):
        if name != "data" or not os.listdir(data):
            shutil.rmtree(os.path.join(temporary, name), ignore_errors=True)
    if not os.listdir(temporary):
        os.rmdir(temporary)
"""


def local(ps=2, workers=2, state=None, devices=None):
    """Starts a cluster on this machine.

    ps: 0: the workers hold the parameters.
    devices: of each worker, for example ["cpu:0", "cpu:1"].
    state: the folder with checkpoints and logs; None: a temporary one, which is removed at the end.
    """
    temporary = None
    if state is None:
        temporary = tempfile.mkdtemp(prefix="cairn-")
        state = os.path.join(temporary, "state")
    # The newest `cairn up` of the user stays the one that other commands find.
    environment = {"XDG_STATE_HOME": temporary} if temporary else {}
    tool = Tool(["--state", os.path.abspath(state)], environment)
    try:
        tool.run("up", "--ps", str(ps), "--workers", str(workers),
                 *(["--device", ",".join(devices)] if devices else []))
    except BaseException:
        if temporary:
            shutil.rmtree(temporary, ignore_errors=True)
        raise
    guard = subprocess.Popen([sys.executable, "-c", _GUARD, tool.program, os.path.abspath(state),
                              temporary or ""], stdin=subprocess.PIPE, start_new_session=True)
    data = os.path.join(temporary or os.path.abspath(state), "data")
    return Cluster(tool, data, guard)


def connect(address, data=None):
    """Uses the cluster whose coordinator is at "host:port".

    data: a folder for the arrays that fit is given; the workers must see it under the same path.
    """
    cluster = Cluster(Tool(["--coordinator", address]), data)
    cluster.tool.run("cluster", "--json")  # Fails now if nobody answers there.
    return cluster


def _end(guard):
    guard.stdin.close()
    guard.wait()


def _count(optimizer, updates):
    """Sets optimizer.iterations. Keras counts the batches, of which an update may have several."""
    optimizer._iterations.assign(updates * (optimizer.gradient_accumulation_steps or 1))


class Cluster:
    """A cluster; a context manager. Made by cairn.local or cairn.connect."""

    def __init__(self, tool, data, guard=None):
        self.tool = tool
        self._data = DataFolder(data)
        self._end = weakref.finalize(self, _end, guard) if guard else None
        self._folders = []
        if data:
            os.makedirs(data, exist_ok=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends a local cluster; others stay."""
        if self._end:
            self._end()

    # ----------------------------------------------------------------------------------------- fit

    def fit(self, model, x, y=None, batch_size=None, epochs=1, verbose="auto", callbacks=None,
            validation_split=0.0, validation_data=None, shuffle=True, class_weight=None,
            sample_weight=None, initial_epoch=0, steps_per_epoch=None, validation_steps=None,
            validation_batch_size=None, validation_freq=1, *, strategy="sync", window=None,
            batches_per_update=None, seed=0, name=None):
        """Trains a compiled Keras model and sets its weights; returns Keras's History.

        Arguments are Keras's, and:
        strategy: "sync": an update is the mean over one batch of `batch_size` examples, which the
            workers share. "async": each worker applies batches of its own as they are done.
            "stale": like async, but at most `window` batches ahead of the oldest one.
        batches_per_update: (sync) the number of parts of a batch [the number of workers; 1 if the
            loss is one of whole batches].
        seed: of shuffling and dropout.
        name: of the job [the model's].
        The optimizer continues with its state, as in Keras's fit, and has its new state at the end
        (except with use_ema, with which it starts anew).
        """
        arguments = compiled.compiled_arguments(model)
        if initial_epoch >= epochs:
            raise NotSupported(f"initial_epoch is {initial_epoch}, epochs is {epochs}: there is "
                               f"nothing to train")
        if isinstance(callbacks, keras.callbacks.Callback):
            callbacks = [callbacks]
        dataset = from_batches(
            "x", x, steps_per_epoch and steps_per_epoch * (epochs - initial_epoch), "steps_per_epoch")
        validation_batch_size = validation_batch_size or batch_size
        step = step_of(model)
        if dataset is not None:
            for argument, value in (("y", y), ("sample_weight", sample_weight),
                                    ("batch_size", batch_size)):
                if value is not None:
                    raise NotSupported(f"{argument} is given, and x is a dataset, which has it")
            # A tf.data.Dataset and a generator have their own order.
            shuffle = shuffle and isinstance(x, keras.utils.PyDataset) or dataset.shuffled
            x, y, sample_weight, batch_size = dataset[:4]
            three = len(getattr(model, "inputs", None) or dataset[:3]) == 3
            if step is not None and step.has_train_step and three and sample_weight is not None and \
                    are_for_elements(sample_weight):
                # A train_step gets what the dataset yields: three inputs, of a triplet loss.
                x, y, sample_weight = (x, y, sample_weight), None, None
                step.takes_inputs = True
        structure.check(model)
        lookups = Lookups(model)
        inputs = as_arrays("x", x, structure.input_names(model, x), lookups.takes_text)
        lookups.adapt(_training_rows(inputs, validation_split if validation_data is None else 0))
        texts, inputs = inputs, lookups.look_up("x", inputs)
        validation = None
        if validation_data is not None:
            validation = _validation(validation_data, model, lookups, validation_steps)
        precision = translation.precision_of(model)
        element_weights = None
        if sample_weight is not None and are_for_elements(sample_weight):
            element_weights, sample_weight = sample_weight, None
            if class_weight is not None:
                raise NotSupported("class_weight is given, and sample_weight is not one number for each "
                                   "example: multiply it by the weights of the classes")
        objectives = Objectives(arguments, y, element_weights, step)
        lookups.cut(texts, inputs, x, objectives, validation[0] if validation else ())
        if validation_data is not None or validation_split:
            structure.check(model, ("test_step",))
            objectives.check_validation()
        if not model.built:
            compiled.build(model, texts)
        output_names = lookups.output_names
        job = {"name": job_files.job_name(name or model.name)}
        job.update(objectives.fields(output_names, lookups.output_shapes))
        job["optimizer"] = translation.optimizer_field(
            optimizer_of(model), model_files.named_weights(lookups.model, lookups.rebuilt))
        job_callbacks, local_callbacks = translation.callback_fields(
            callbacks, objectives.is_computed_here)
        if job_callbacks:
            job["callbacks"] = [
                {**each, "monitor": objectives.monitored(each["monitor"])} if "monitor" in each
                else each for each in job_callbacks]
        if any(isinstance(each, Hook) for each in local_callbacks):
            job["checkpoint"] = {"keep": checkpoints_to_keep(model, epochs - initial_epoch)}
        if step is None or any(isinstance(each, Hook) and each.needs_metrics for each in local_callbacks):
            compiled.build_metrics(model, x, texts, y)
        examples = shape_of(inputs[0])[0]
        if validation_data is None and validation_split:
            examples = int(math.floor(examples * (1.0 - validation_split)))
        # As in Keras, the batches of an epoch divide the data.
        batch_size = int(batch_size or (math.ceil(examples / steps_per_epoch) if steps_per_epoch else 32))
        batch_size, accumulated = translation.accumulated(
            optimizer_of(model), batch_size, examples, strategy, (steps_per_epoch, batches_per_update))
        parts = self._strategy(job, strategy, window, batches_per_update or accumulated, batch_size,
                               examples if steps_per_epoch else None)
        rates = translation.scheduled_rates(callbacks, job["optimizer"]["learning_rate"],
                                            range(initial_epoch, epochs))
        if precision != "float32":
            job["precision"] = precision
        objectives.batch_size = batch_size
        job.update(epochs=int(epochs), shuffle=bool(shuffle), seed=int(seed))
        if initial_epoch:
            job["initial_epoch"] = int(initial_epoch)
        steps = math.ceil(examples / batch_size)
        if steps_per_epoch:
            steps = int(steps_per_epoch)
            job["steps_per_epoch"] = steps * parts

        if getattr(optimizer_of(model), "use_ema", False):
            keep_rate(local_callbacks, "and the optimizer has use_ema=True: another job, with that "
                                       "rate, cannot continue an average")
        if steps_per_epoch and steps * parts % math.ceil(examples / job["batch_size"]):
            keep_rate(local_callbacks, f"and an epoch of steps_per_epoch={steps} ends within a pass over "
                                       f"the data: another job, with that rate, cannot begin there")
        optimizer = None  # Its state if it continues.
        if optimizer_state.has_state(optimizer_of(model)):
            optimizer = optimizer_state.tensors_of(
                optimizer_of(model), model_files.named_weights(lookups.model, lookups.rebuilt))
        counted = int(optimizer_of(model).iterations)
        updates = counted if optimizer else 0  # That the job's optimizer has done.
        schedule = translation.own_schedule(optimizer_of(model))
        planned = planned_rates(callbacks, local_callbacks, model, range(initial_epoch, epochs), steps)
        rates_of_updates = functools.partial(translation.rates_of_updates, schedule) if schedule else None
        if planned:
            def rates_of_updates(first, count):
                return planned
        folder = self._make_folder(job["name"])
        job_file = os.path.join(folder, "job.json")
        csv_file = None
        try:
            if self._end and needs_csv(job, objectives.job_outputs):  # The coordinator is on this machine.
                job.setdefault("callbacks", []).append({"name": "csv_logger"})
                csv_file = job_files.log_to(job, folder, "0")
            with translation.serializable(optimizer_of(model)):
                job["model"] = model_files.write_model(lookups.model, lookups.rebuilt, folder,
                                                       optimizer)
            self._write_data(job, folder, lookups, objectives, inputs, y, sample_weight, element_weights,
                             validation_split, validation, class_weight, validation_steps,
                             validation_batch_size)
            if "validation" in job or "validation_fraction" in job:
                job["validation_freq"] = validation_freq if isinstance(validation_freq, int) \
                    else list(validation_freq)
            job_files.write_job(job, job_file, rates, steps, updates, rates_of_updates)
            run = keras.callbacks.CallbackList(
                local_callbacks, add_history=True, add_progbar=verbose != 0, model=model,
                epochs=epochs, verbose=1 if verbose == "auto" else verbose, steps=steps)
        except BaseException:
            self._remove(folder)  # It stays if the job fails, for inspection.
            raise

        model.stop_training = False
        try:
            identifier = self._submit(job_file)
        except CairnError as error:
            if not updates or "leave with_optimizer out" not in str(error):
                raise
            warnings.warn(f"the optimizer starts anew: {error}", stacklevel=2)
            updates = 0
            job_files.write_job(job, job_file, rates, steps, updates, rates_of_updates)
            identifier = self._submit(job_file)
        uncounted = counted - updates
        has_begun = False
        while True:
            logs = EpochLogs(self.tool, job, objectives, parts, examples, run, csv_file,
                             has_begun=has_begun, rates=planned)
            has_begun = True
            status = self._train(identifier, job, job_file, logs, lookups, uncounted + updates)
            if "rate_set_at" not in status:
                break
            updates += job_files.go_on(job, identifier, status, parts)
            job["optimizer"]["learning_rate"] = float(optimizer_of(model).learning_rate)
            csv_file = csv_file and job_files.log_to(job, folder, identifier)
            job_files.dump(job, job_file)
            identifier = self._submit(job_file)
        if "stopped_at" not in status:  # Else it has that of the last epoch, and what a callback has set.
            self._set_state(model, lookups, status["job"], job_file, [])
        _count(optimizer_of(model), counted + len(model.history.epoch) *
               math.ceil(status.get("batches_per_epoch", 0) / parts))
        if rates is not None:
            # As Keras's callback leaves it.
            optimizer_of(model).learning_rate = rates[len(model.history.epoch) - 1]
        run.on_train_end(status["logs"])
        model.history.job = status["job"]  # For commands of the tool: cairn history JOB.
        self._remove(folder)
        return model.history

    def _submit(self, job_file):
        return str(self.tool.objects("submit", job_file, job_file=job_file)[0]["job"])

    def _strategy(self, job, strategy, window, batches_per_update, batch_size, examples):
        """Sets `strategy` and `batch_size`; returns the number of parts of one batch.

        examples: with steps_per_epoch, the number of training examples: the last batch of a pass
            over the data, too, must have all its parts, or an update would go on with the next one.
        """
        def divides(parts):
            part = batch_size // parts
            return batch_size % parts == 0 and (
                examples is None or
                math.ceil(examples / part) == parts * math.ceil(examples / batch_size))
        if window is not None and strategy != "stale":
            raise NotSupported(f"window is an argument of strategy='stale', not of {strategy!r}")
        if batches_per_update is not None and strategy != "sync":
            raise NotSupported(f"batches_per_update is an argument of strategy='sync', not of "
                               f"{strategy!r}")
        fields = {"mode": strategy}
        parts = 1
        if strategy == "sync":
            parts = batches_per_update
            if parts is None:
                whole = translation.needs_whole_batches(job["loss"])
                parts = 1 if whole else max(1, self._workers())
                while not divides(parts):
                    parts -= 1
            elif batch_size % parts != 0:
                raise NotSupported(f"batches_per_update={parts} does not divide "
                                   f"batch_size={batch_size}")
            elif not divides(parts):
                raise NotSupported(f"batches_per_update={parts} does not divide the last batch of "
                                   f"{examples} examples, as steps_per_epoch needs it")
            fields["batches_per_update"] = parts
        elif strategy == "stale":
            if window is None:
                raise NotSupported("strategy='stale' needs a window")
            fields["window"] = int(window)
        elif strategy != "async":
            raise NotSupported(f"strategy is {strategy!r}; there are 'sync', 'async' and 'stale'")
        if self._has_ps():
            job["strategy"] = {"parameter_server": fields}
        elif strategy == "sync":
            del fields["mode"]
            job["strategy"] = {"multi_worker_mirrored": fields}
        else:
            raise NotSupported(f"strategy={strategy!r} needs parameter servers, and this cluster "
                               f"has none: its workers hold the parameters")
        job["batch_size"] = batch_size // parts
        return parts

    def _workers(self):
        members = self.tool.objects("cluster")
        return sum(1 for each in members if each.get("role") == "worker" and each.get("live"))

    def _has_ps(self):
        """False if the workers hold the parameters: each is then a ps too, in one process."""
        members = self.tool.objects("cluster")
        workers = {(each.get("host"), each.get("pid")) for each in members
                   if each.get("role") == "worker" and each.get("pid")}
        return any((each.get("host"), each.get("pid")) not in workers for each in members
                   if each.get("role") == "ps")

    def _make_folder(self, name):
        folder = tempfile.mkdtemp(prefix=name[:40] + "-", dir=self._data.folder)
        os.chmod(folder, 0o755)  # The workers may belong to another user.
        return folder

    def _remove(self, folder):
        shutil.rmtree(folder, ignore_errors=True)

    def _write_data(self, job, folder, lookups, objectives, inputs, y, sample_weight, element_weights,
                    validation_split, validation_data, class_weight, validation_steps,
                    validation_batch_size):
        """Sets the job's data fields.

        validation_batch_size: None: validation_steps batches divide the validation data, as in Keras.
        """
        inputs, labels = examples_of(lookups, objectives, inputs, "y", y, element_weights)
        weights = [] if sample_weight is None else weights_of(sample_weight)
        classes = None
        if class_weight is not None:
            if len(objectives.output_names) > 1:
                raise NotSupported("class_weight is given, and the model has several outputs: give "
                                   "sample_weight")
            # A job has class weights only if its model has one output.
            if objectives.are_computed:
                classes = classes_of("y", y, inputs + weights)
        if weights or class_weight is not None:
            objectives.check_weights()
        validation = None
        if validation_data is not None:
            x, y, weights_of_validation, size = validation_data
            weights_of_validation, elements = divided_weights(objectives, weights_of_validation)
            if weights_of_validation:
                objectives.check_weights()
            validation = (*examples_of(lookups, objectives, x, "validation_data[1]", y, elements),
                          weights_of_validation)
            validation_batch_size = size or validation_batch_size
        elif validation_split:
            if any(map(is_files, inputs + labels + weights)):
                job["validation_fraction"] = float(validation_split)
            else:
                every, last = split(inputs + labels + weights, validation_split)
                cut, end = len(inputs), len(inputs) + len(labels)
                inputs, labels, weights = every[:cut], every[cut:end], every[end:]
                validation = last[:cut], last[cut:end], last[end:]
        if classes is not None:  # Of the training only.
            weights = weights_of_classes(class_weight, classes[:shape_of(inputs[0])[0]], weights)
        job["train"] = source_of(self._data, folder, "train", inputs, labels, weights)
        if validation is not None:
            job["validation"] = source_of(self._data, folder, "validation", *validation)
        if class_weight is not None and classes is None:
            job["class_weight"] = class_weights(class_weight, lookups.model, labels)
        if validation_steps and validation_batch_size and (
                validation is not None or "validation_fraction" in job):
            count = int(validation_steps) * validation_batch_size
            if count % job["batch_size"] == 0:
                job["validation_steps"] = count // job["batch_size"]
            elif validation is not None:
                job["validation"]["rows"] = [0, min(count, shape_of(validation[0][0])[0])]
            else:
                raise NotSupported(f"validation_steps={validation_steps} with "
                                   f"validation_batch_size={validation_batch_size} and "
                                   f"validation_split is not supported for files")

    def _train(self, identifier, job, job_file, logs, lookups, updates):
        """Shows a submitted job until it ends; returns its last status, with its logs.

        updates: those that the optimizer has counted before this job.
        If a callback has stopped the job, "stopped_at" is the checkpoint of that epoch, whose weights
        the model has got. If one has set the learning rate of an epoch that is to be trained, this is
        "rate_set_at", and "stopped_at" is of the epoch before, if this job had one.
        """
        status, ended = {}, {}

        def set_weights(epoch):
            epochs = epoch + 1 - job.get("initial_epoch", 0)
            checkpoint = self._checkpoint_of(identifier, epochs * status["batches_per_epoch"])
            self._set_state(logs.run.model, lookups, identifier, job_file, ["--checkpoint", str(checkpoint)])
            _count(optimizer_of(logs.run.model),
                   updates + epochs * math.ceil(status["batches_per_epoch"] / logs.parts))
            ended.update(stopped_at=checkpoint)

        logs.begin(identifier, set_weights)
        try:
            if not logs.has_begun:
                logs.run.on_train_begin()
            follow = self.tool.lines("follow", identifier)
            while True:
                try:
                    status = next(follow)
                except StopIteration as end:
                    code, message = end.value
                    break
                logs.show(status)
            if status.get("state") != "finished":
                raise CairnError(message + self._where_data(message), job_file)
            if code != 0:
                warnings.warn(message, stacklevel=4)
            logs.finish(status)
        except Stopped:
            self._cancel(identifier)
            return {**status, "logs": logs.last, **ended}
        except RateSet as rate_set:
            self._cancel(identifier)
            return {**status, "rate_set_at": rate_set.epoch, **ended}
        except BaseException:
            self._cancel(identifier)
            raise
        return {**status, "logs": logs.last}

    def _cancel(self, job):
        """Cancels the job if it has not ended."""
        with contextlib.suppress(CairnError):
            self.tool.run("cancel", job)

    def _checkpoint_of(self, job, applied):
        """The checkpoint with this many batches; waits for it."""
        while True:
            state = self.tool.objects("status", job)[0]["state"]
            checkpoints = self.tool.objects("checkpoints", job)
            for each in checkpoints:
                if each["applied_batches"] == applied:
                    return each["checkpoint"]
            if state in ("finished", "failed", "cancelled") or \
                    checkpoints and checkpoints[-1]["applied_batches"] > applied:
                raise CairnError(f"job {job} has no checkpoint after {applied} batches any more: the "
                                 f"callbacks are slower than its epochs; give them less work, or "
                                 f"use larger epochs (steps_per_epoch)")
            time.sleep(0.05)

    def _where_data(self, message):
        if self._data.folder is None or self._data.folder not in message:
            return ""
        return (f"\n  the workers read the arrays from {self._data.folder}: they must see this "
                f"folder under the same path")

    # -------------------------------------------------------------------------------- the result

    def _set_state(self, model, lookups, job, job_file, choice):
        """Sets the weights of the model, and the moments of its optimizer, from a checkpoint."""
        averages = optimizer_of(model).use_ema
        weights = self._export(job, os.path.dirname(job_file), job_file, *choice,
                               *([] if averages else ["--with-optimizer"]))
        model_files.set_weights(lookups.model, lookups.rebuilt, weights)
        if not averages:
            optimizer_state.set_state(
                model, model_files.named_weights(lookups.model, lookups.rebuilt), weights)

    def _export(self, job, folder, job_file, *choice):
        path = os.path.join(folder, "trained.safetensors")
        self.tool.run("export", str(job), "--output", path, *choice, job_file=job_file)
        return model_files.read_safetensors(path)

    # ----------------------------------------------------------------------- evaluate and predict

    def evaluate(self, model, x, y=None, batch_size=None, verbose="auto", sample_weight=None,
                 steps=None, callbacks=None, return_dict=False):
        """Loss and metrics of a compiled model, as Keras's evaluate."""
        _refuse_callbacks("evaluate", callbacks)
        result = inference.evaluate(model, x, y, batch_size, sample_weight, steps, self._data.folder)
        if verbose:
            bar = keras.utils.Progbar(1, verbose=1 if verbose == "auto" else verbose)
            bar.update(1, list(result.items()), finalize=True)
        return result if return_dict else model._flatten_metrics_in_order(result)

    def predict(self, model, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        """The outputs of a model, as Keras's predict."""
        _refuse_callbacks("predict", callbacks)
        return inference.predict(model, x, batch_size, steps, self._data.folder)


def _refuse_callbacks(what, callbacks):
    if callbacks:
        raise NotSupported(f"{what}(callbacks=...) is not supported: its batches are not observed")


def _training_rows(inputs, validation_split):
    """The rows that are no validation rows, which nothing adapts to."""
    if not validation_split or any(map(is_files, inputs)):
        return inputs
    return split(inputs, validation_split)[0]


def _validation(validation_data, model, lookups, steps):
    """(inputs, y, weights, size of a batch if it is a dataset)"""
    dataset = from_batches("validation_data", validation_data, steps, "validation_steps")
    if dataset is not None:
        validation_data = [each for each in dataset[:3] if each is not None]
    if not isinstance(validation_data, (list, tuple)) or len(validation_data) not in (2, 3):
        raise NotSupported("validation_data is not (x, y) or (x, y, sample_weight): the workers "
                           "read the data themselves; give arrays, or the names of .npy files")
    x, y = validation_data[:2]
    weights = validation_data[2] if len(validation_data) == 3 else None
    inputs = as_arrays("validation_data[0]", x, structure.input_names(model, x), lookups.takes_text)
    return (lookups.look_up("validation_data[0]", inputs), y, weights,
            dataset.batch_size if dataset is not None else None)
