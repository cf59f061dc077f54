"""The exceptions of this package."""


class CairnError(RuntimeError):
    """A job, or a command of the tool `cairn`, failed.

    job_file: the path of the job file, which stays for inspection; None if there is none.
    """

    def __init__(self, message, job_file=None):
        super().__init__(f"{message}\n  job file: {job_file}" if job_file else message)
        self.job_file = job_file


class NotSupported(CairnError, ValueError):
    """An argument of Keras that a job file cannot express, with the reason."""
