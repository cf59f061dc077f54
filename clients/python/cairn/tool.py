"""Finds and runs the command line tool `cairn`."""

import json
import os
import shutil
import subprocess

from cairn.errors import CairnError

_PREFIX = "cairn: "


def find_tool():
    """The path of the tool: CAIRN_BIN (the tool, or a folder with it), else `cairn` on the PATH."""
    named = os.environ.get("CAIRN_BIN")
    if not named:
        found = shutil.which("cairn")
        if found:
            return found
        raise CairnError("the tool `cairn` is not on the PATH: install Cairn (deploy/install.sh), or "
                         "set CAIRN_BIN to the tool of a build (bazel-bin/cli/cairn)")
    for path in (named, os.path.join(named, "cairn"), os.path.join(named, "cli", "cairn")):
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.abspath(path)
    raise CairnError(f"CAIRN_BIN is {named}: there is no program `cairn`")


def _message(text):
    """The tool's error, without its prefix."""
    lines = [line[len(_PREFIX):] if line.startswith(_PREFIX) else line
             for line in text.strip().splitlines()]
    return "\n".join(lines)


class Tool:
    """The tool with the flags that name one cluster."""

    def __init__(self, flags, environment=None):
        self._program = find_tool()
        self._flags = list(flags)
        self._environment = {**os.environ, **(environment or {})}

    @property
    def program(self):
        return self._program

    def _start(self, arguments):
        # A new session: Ctrl-C is for this process, which decides what happens to the job.
        return subprocess.Popen([self._program, *arguments, *self._flags], text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=self._environment,
                                start_new_session=True)

    def run(self, *arguments, job_file=None):
        """Runs a command; returns its standard output. CairnError with its message if it fails."""
        process = self._start(arguments)
        try:
            output, errors = process.communicate()
        except BaseException:
            process.kill()
            process.wait()
            raise
        if process.returncode != 0:
            raise CairnError(_message(errors) or f"cairn {arguments[0]} ended with "
                             f"{process.returncode}", job_file)
        return output

    def lines(self, *arguments):
        """Runs a command with --json; yields its objects. Returns (exit code, message)."""
        process = self._start([*arguments, "--json"])
        try:
            for line in process.stdout:
                yield json.loads(line)
            errors = process.stderr.read()
            return process.wait(), _message(errors)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            process.stdout.close()
            process.stderr.close()

    def objects(self, *arguments, job_file=None):
        """Runs a command with --json; returns the list of its objects."""
        return [json.loads(line) for line in self.run(*arguments, "--json",
                                                      job_file=job_file).splitlines()]
