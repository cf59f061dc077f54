"""A running job of `cairn run` on this machine, for benchmarks to observe."""

import json
import os
import pathlib
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("CAIRN_BIN", ROOT / "bazel-bin"))
DATA = "/usr/share/datasets/fashion-mnist/train-{}-ubyte.gz"
BATCH = 128
# More epochs than any benchmark trains.
EPOCHS = 1000
PATIENCE = 120


def fashion_job(model, optimizer, **more):
    """A job file for Fashion-MNIST. `model` is the path of a file; `more` are further fields."""
    job = {"name": "bench", "model": str(model),
           "train": {"idx": {"features": DATA.format("images-idx3"),
                             "labels": DATA.format("labels-idx1")}, "scale": 1 / 255},
           "loss": "sparse_categorical_crossentropy", "optimizer": optimizer,
           "batch_size": BATCH, "epochs": EPOCHS}
    return job | more


def dense_model(widths):
    """A Keras model of dense layers on 28x28 images; all but the last use relu."""
    layers = [{"class_name": "Flatten",
               "config": {"name": "flat", "batch_input_shape": [None, 28, 28]}}]
    for i, units in enumerate(widths):
        activation = "softmax" if i + 1 == len(widths) else "relu"
        layers.append({"class_name": "Dense", "config": {"name": f"dense{i}", "units": units,
                                                         "activation": activation}})
    return {"class_name": "Sequential", "config": {"name": "bench", "layers": layers}}


def pin(pid, cores):
    """Moves all threads of a process to these cores; later ones start there too."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), cores)


def prefer(pid):
    """Gives a process the highest priority, if this one may: other programs disturb it less."""
    try:
        os.setpriority(os.PRIO_PROCESS, pid, -20)
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.setpriority(os.PRIO_PROCESS, int(thread), -20)
        pathlib.Path(f"/proc/{pid}/autogroup").write_text("-20")
    except OSError:
        pass  # Not root, or a kernel without autogroups.


def cpu_seconds(pid):
    """The processor time that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def dense_parameters(widths):
    return sum((a + 1) * b for a, b in zip([784] + widths, widths))


class LocalRun:
    """`cairn run` of a job in a new folder. The end of the with statement stops it. `cores`: where all
    of it runs; `flags`: further ones."""

    def __init__(self, job, ps, workers, model=None, cores=None, flags=()):
        self._folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self._folder.name)
        self.state = str(folder / "state")
        if model is not None:
            (folder / "model.json").write_text(json.dumps(model))
            job = job | {"model": "model.json"}
        (folder / "job.json").write_text(json.dumps(job))
        self.name = job["name"]
        self.started_at = time.monotonic()
        self._log = open(folder / "run.log", "w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [BIN / "cli/cairn", "run", folder / "job.json", "--ps", str(ps), "--workers",
             str(workers), "--state", self.state, *flags], stdout=self._log, stderr=self._log,
            preexec_fn=None if cores is None else lambda: os.sched_setaffinity(0, cores))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()
        self._folder.cleanup()

    def ask(self, *command):
        """The JSON objects that a cairn command prints; none if it fails."""
        result = subprocess.run([BIN / "cli/cairn", *command, "--json", "--state", self.state],
                                capture_output=True, text=True, timeout=PATIENCE)
        return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]

    def status(self):
        answer = self.ask("status", self.name)
        return answer[-1] if answer else {}

    def wait_for_batches(self, batches, interval=0.1):
        end = time.monotonic() + PATIENCE
        while True:
            if (status := self.status()).get("batches_done", 0) >= batches:
                return status
            if time.monotonic() > end or self._process.poll() is not None:
                self._log.seek(0)
                raise RuntimeError(f"no {batches} batches in {PATIENCE} s; cairn run said:\n"
                                   f"{self._log.read()[-2000:]}")
            time.sleep(interval)

    def measure(self, seconds):
        """Measures batches per second and checkpoints per second from now on."""
        first, start = self.status(), time.monotonic()
        time.sleep(seconds)
        last, elapsed = self.status(), time.monotonic() - start
        return ((last["batches_done"] - first["batches_done"]) / elapsed,
                (last["last_checkpoint"] - first["last_checkpoint"]) / elapsed)

    def pids(self):
        """Of `cairn run` and its daemons."""
        state = json.loads(pathlib.Path(self.state, "cluster.json").read_text())
        return [self._process.pid, *state["pids"].values()]

    def pid(self, task):
        """The pid of a daemon, such as coordinator, ps-0 or worker-1."""
        return json.loads(pathlib.Path(self.state, "cluster.json").read_text())["pids"][task]
