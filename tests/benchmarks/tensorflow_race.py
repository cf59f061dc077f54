#!/usr/bin/env python3
"""The original in a race: TensorFlow trains a Keras architecture in one of its ways.

Usage: tensorflow_race.py WAY MODEL.json sgd|adam:RATE BATCH THREADS FOLDER
       tensorflow_race.py null WORKERS | product THREADS

  parameter_server_1|_2  ParameterServerStrategy, 1 ps, with 1 or 2 workers, a ClusterCoordinator
  multi_worker           MultiWorkerMirroredStrategy, 2 processes
  fit                    Keras 3's fit, one process
  null                   schedules functions that do nothing to a ClusterCoordinator's workers, which
                         share one process here
  product                the speed of a matrix product, and whether oneDNN computes

Prints what it is as one JSON object, then answers each line "run SECONDS" of standard input with
another. It starts its other processes itself; memory is the sum of the peaks of all. Keras 3 has no
parameter servers, nor a distributed fit over processes: these two ways have tf_keras's model and
optimizer in a loop of their own. All are given their better side:

- batches are slices of tensors that TensorFlow already has, so reading costs nothing;
- a call runs several steps inside one tf.function; of some numbers of steps the fastest is taken;
- the optimizer's update is one fused operation, on the ps (tf_keras's legacy optimizers);
- fit compiles by XLA or does not (jit_compile), whichever is faster.
"""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
os.environ["KERAS_BACKEND"] = "tensorflow"
STEPS_IN_A_CALL = (1, 8, 32)
# In seconds: beside it what a call costs is nothing.
LONG_CALL = 1
SIDE = 512
children = []


def import_tensorflow(threads, workers=1):
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    # A worker that waits for another must not hold the thread that serves it.
    tf.config.threading.set_inter_op_parallelism_threads(max(threads, workers + 1))
    return tf


def free_ports(count):
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{probe.getsockname()[1]}" for probe in probes]
    finally:
        for probe in probes:
            probe.close()


def start_child(cluster, kind, index, *arguments):
    """Another process of this program, as a task of the cluster. It ends with its standard input."""
    task = {"cluster": cluster, "task": {"type": kind, "index": index}}
    children.append(subprocess.Popen([sys.executable, __file__, *map(str, arguments)],
                                     env=dict(os.environ, TF_CONFIG=json.dumps(task)), text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.DEVNULL))
    return children[-1]


def peak_mebibytes():
    total = 0
    for pid in [os.getpid()] + [child.pid for child in children]:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        total += int(re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE).group(1)) / 1024
    return total


def build(keras, file):
    """The model of a Sequential or functional architecture, by the layers of Keras 2 or 3. Its last
    layer gives logits, which the loss takes, as Cairn computes it too."""
    layers = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))["config"]["layers"]
    layers[-1]["config"]["activation"] = "linear"
    values, previous = {}, None
    for layer in layers:
        config, name = layer["config"], layer["config"]["name"]
        if layer["class_name"] == "InputLayer":
            shape = config.get("batch_shape", config.get("batch_input_shape"))[1:]
            inputs = values[name] = keras.Input(shape, dtype=config.get("dtype", "float32"))
        else:
            calls = layer.get("inbound_nodes")
            arguments = [values[call[0]] for call in calls[0]] if calls else [values[previous]]
            made = getattr(keras.layers, layer["class_name"]).from_config(config)
            values[name] = made(arguments if len(arguments) > 1 else arguments[0])
        previous = name
    return keras.Model(inputs, values[previous])


def batches(tf, folder, batch):
    import numpy
    x, y = (numpy.load(pathlib.Path(folder, file)) for file in ("x.npy", "y.npy"))
    x, y = (array.reshape(-1, batch, *array.shape[1:]) for array in (x, y))
    return tf.data.Dataset.from_tensor_slices((x, y)).repeat().prefetch(4)


def step_of(tf, model, optimizer, replicas):
    def step(batch):
        x, y = batch
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                y, model(x, training=True))) / replicas
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss * replicas
    return step


def many_steps(tf, strategy, step):
    @tf.function
    def steps(iterator, count):
        loss = 0.0
        for _ in tf.range(count):
            loss = strategy.run(step, args=(next(iterator),))
        return loss
    return steps


def rule_of(optimizers, optimizer):
    name, rate = optimizer.split(":")
    return {"sgd": optimizers.SGD, "adam": optimizers.Adam}[name](float(rate))


def make_model(file, optimizer):
    import tf_keras
    model = build(tf_keras, file)
    return model, rule_of(tf_keras.optimizers.legacy, optimizer)


class ParameterServer:
    """Steps of a ParameterServerStrategy, from its coordinator."""

    def __init__(self, tf, workers, file, optimizer, batch, threads, folder):
        addresses = free_ports(workers + 2)
        cluster = {"chief": addresses[:1], "ps": addresses[1:2], "worker": addresses[2:]}
        for kind in ("ps", "worker"):
            for index in range(len(cluster[kind])):
                start_child(cluster, kind, index, "serve", threads)
        os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster,
                                              "task": {"type": "chief", "index": 0}})
        strategy = tf.distribute.ParameterServerStrategy(
            tf.distribute.cluster_resolver.TFConfigClusterResolver())
        self.coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        with strategy.scope():
            self.model, rule = make_model(file, optimizer)
        steps = many_steps(tf, strategy, step_of(tf, self.model, rule, 1))
        data = self.coordinator.create_per_worker_dataset(lambda: batches(tf, folder, batch))
        self.iterator = iter(data)
        self.steps = steps
        self.tf, self.workers, self.batch = tf, workers, batch

    def take(self, count, steps_in_a_call):
        """At least `count` steps, of all workers together. Returns how many, and the last loss."""
        calls = self.workers * max(1, -(-count // (steps_in_a_call * self.workers)))
        inside = self.tf.constant(steps_in_a_call)
        losses = [self.coordinator.schedule(self.steps, args=(self.iterator, inside))
                  for _ in range(calls)]
        self.coordinator.join()
        return calls * steps_in_a_call, float(losses[-1].fetch())


class MultiWorker:
    """Steps of a MultiWorkerMirroredStrategy. The first process tells the second how many."""

    PROCESSES = 2

    def __init__(self, tf, file, optimizer, batch, threads, folder):
        self.other = None
        if "TF_CONFIG" not in os.environ:
            cluster = {"worker": free_ports(self.PROCESSES)}
            self.other = start_child(cluster, "worker", 1, "multi_worker", file, optimizer, batch,
                                     threads, folder)
            os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster,
                                                  "task": {"type": "worker", "index": 0}})
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        with strategy.scope():
            self.model, rule = make_model(file, optimizer)
        self.steps = many_steps(tf, strategy, step_of(tf, self.model, rule, self.PROCESSES))
        rank = 0 if self.other else 1
        # The second starts in the middle: both see the same examples, but never the same batch.
        self.iterator = iter(batches(tf, folder, batch).skip(4 * rank))
        self.tf, self.batch = tf, batch

    def take(self, count, steps_in_a_call):
        calls = max(1, count // (steps_in_a_call * self.PROCESSES))
        if self.other:
            self.other.stdin.write(f"{calls} {steps_in_a_call}\n")
            self.other.stdin.flush()
        inside = self.tf.constant(steps_in_a_call)
        for _ in range(calls):
            loss = self.steps(self.iterator, inside)
        return calls * steps_in_a_call * self.PROCESSES, float(loss)

    def follow(self):
        for line in sys.stdin:
            calls, steps_in_a_call = map(int, line.split())
            self.take(calls * steps_in_a_call * self.PROCESSES, steps_in_a_call)


class Fit:
    """Steps of Keras 3's fit. A variant is (jit_compile, steps_per_execution)."""

    def __init__(self, tf, file, optimizer, batch, threads, folder):
        import keras
        self.keras, self.file, self.optimizer = keras, file, optimizer
        self.data, self.batch, self.models = batches(tf, folder, batch), batch, {}
        self.model = self.compiled(("auto", 1))

    def compiled(self, variant):
        if variant not in self.models:
            model = build(self.keras, self.file)
            model.compile(rule_of(self.keras.optimizers, self.optimizer),
                          self.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                          jit_compile=variant[0], steps_per_execution=variant[1])
            self.models[variant] = model
        return self.models[variant]

    def take(self, count, variant):
        count = max(1, count // variant[1]) * variant[1]
        history = self.compiled(variant).fit(self.data, steps_per_epoch=count, epochs=1, verbose=0)
        return count, history.history["loss"][-1]

    def forget_all_but(self, variant):
        self.models = {variant: self.models[variant]}


def rate_of(way, variant, seconds):
    """Steps a second and the loss at the end, of about `seconds`."""
    begin = time.perf_counter()
    count, loss = way.take(1, variant)
    each = (time.perf_counter() - begin) / count
    for _ in range(2):  # The first guess has the start of a call in it.
        begin = time.perf_counter()
        count, loss = way.take(int(seconds / each), variant)
        each = (time.perf_counter() - begin) / count
    return 1 / each, loss


def best_variant(way, variants):
    rates = {}
    for variant in variants:
        way.take(1, variant)  # Traces and compiles.
        begin = time.perf_counter()
        way.take(1, variant)
        took = time.perf_counter() - begin
        rates[variant] = rate_of(way, variant, 0.5)[0]
        if took > LONG_CALL:  # More steps in it would not show.
            break
    return max(rates, key=rates.get)


def race(tf, way, file, optimizer, batch, threads, folder):
    workers = {"parameter_server_1": 1, "parameter_server_2": 2}.get(way)
    if workers:
        made = ParameterServer(tf, workers, file, optimizer, batch, threads, folder)
    else:
        made = {"multi_worker": MultiWorker, "fit": Fit}[way](tf, file, optimizer, batch, threads,
                                                              folder)
    if way == "multi_worker" and not made.other:
        return made.follow()
    variants = STEPS_IN_A_CALL
    if way == "fit":
        variants = [("auto", 1), (False, 1), ("auto", 16), (False, 16)]
    first_loss = made.take(1, variants[0])[1]
    variant = best_variant(made, variants)
    if way == "fit":
        made.forget_all_but(variant)
    say({"parameters": made.model.count_params(), "first_loss": first_loss,
         "how": "jit_compile={}, steps_per_execution={}".format(*variant) if way == "fit"
                else f"{variant} steps in a call"})
    for line in sys.stdin:
        rate, loss = rate_of(made, variant, float(line.split()[1]))
        say({"examples_per_second": rate * batch, "loss": loss, "peak_mebibytes": peak_mebibytes()})


def serve(tf, threads, cluster, kind, index):
    config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=threads,
                                      inter_op_parallelism_threads=max(threads, 3))
    return tf.distribute.Server(tf.train.ClusterSpec(cluster), job_name=kind, task_index=index,
                                protocol="grpc", config=config, start=True)


def null(tf, workers):
    """Calls a second, of functions that do nothing."""
    addresses = free_ports(workers + 2)
    cluster = {"chief": addresses[:1], "ps": addresses[1:2], "worker": addresses[2:]}
    start_child(cluster, "all", 0, "serve_all")
    os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": {"type": "chief", "index": 0}})
    strategy = tf.distribute.ParameterServerStrategy(
        tf.distribute.cluster_resolver.TFConfigClusterResolver())
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)

    @tf.function
    def nothing():
        return tf.constant(0)

    def calls(count):
        begin = time.perf_counter()
        for _ in range(count):
            coordinator.schedule(nothing)
        coordinator.join()
        return count / (time.perf_counter() - begin)

    calls(100 * workers)
    say({"workers": workers})
    for line in sys.stdin:
        seconds = float(line.split()[1])
        say({"calls_per_second": calls(max(100, int(calls(100) * seconds)))})


def product(tf):
    from tensorflow.python.util import _pywrap_util_port
    a, b = (tf.random.uniform((SIDE, SIDE)) for _ in range(2))
    best, end = float("inf"), time.perf_counter() + 0.5
    while time.perf_counter() < end:
        begin = time.perf_counter()
        tf.linalg.matmul(a, b)
        best = min(best, time.perf_counter() - begin)
    onednn = _pywrap_util_port.IsMklEnabled() and os.environ.get("TF_ENABLE_ONEDNN_OPTS") != "0"
    say({"gflops": 2 * SIDE ** 3 / best / 1e9, "onednn": onednn, "version": tf.__version__})


def say(answer):
    print(json.dumps(answer), flush=True)


def main():
    way, arguments = sys.argv[1], sys.argv[2:]
    if way == "null":
        null(import_tensorflow(1), int(arguments[0]))
    elif way == "product":
        product(import_tensorflow(int(arguments[0])))
    elif way in ("serve", "serve_all"):
        threads = int(arguments[0]) if arguments else 1
        tf, config = import_tensorflow(threads, 2), json.loads(os.environ["TF_CONFIG"])
        tasks = ([(config["task"]["type"], config["task"]["index"])] if way == "serve" else
                 [(kind, i) for kind in ("ps", "worker") for i in range(len(config["cluster"][kind]))])
        servers = [serve(tf, threads, config["cluster"], *task) for task in tasks]
        sys.stdin.read()  # Until who started this has ended.
        del servers
    else:
        file, optimizer, batch, threads, folder = arguments
        race(import_tensorflow(int(threads), 2), way, file, optimizer, int(batch), int(threads), folder)
    sys.stdout.flush()
    for child in children:
        child.stdin.close()
    for child in children:
        try:
            child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    os._exit(0)  # A ClusterCoordinator's threads would keep the process for its failure handling.


if __name__ == "__main__":
    main()
