"""Runs unittest cases, or those of a shard, and writes their results as Bazel's test.xml."""

import os
import sys
import time
import unittest
import xml.etree.ElementTree as ElementTree


class _Result(unittest.TextTestResult):
    def __init__(self, *arguments, **kwargs):
        super().__init__(*arguments, **kwargs)
        self.suite = ElementTree.Element("testsuite")

    def startTest(self, test):
        super().startTest(test)
        self._begin = time.monotonic()

    def _add(self, test, element=None, text=""):
        case = ElementTree.SubElement(self.suite, "testcase", classname=type(test).__name__,
                                      name=getattr(test, "_testMethodName", str(test)),
                                      time=f"{time.monotonic() - self._begin:.3f}")
        if element:
            print(f"{element}: {text}", flush=True)
            ElementTree.SubElement(case, element).text = text

    def addSuccess(self, test):
        super().addSuccess(test)
        self._add(test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._add(test, "failure", str(err[1]))

    def addError(self, test, err):
        super().addError(test, err)
        self._begin = getattr(self, "_begin", time.monotonic())  # setUpClass failed.
        self._add(test, "error", str(err[1]))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self._add(test, "failure", f"{subtest}: {err[1]}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._add(test, "skipped", reason)


class _ShardLoader(unittest.TestLoader):
    """Loads every n-th case of a module, if Bazel runs it in n shards."""

    def loadTestsFromModule(self, module, *arguments, **kwargs):
        cases = list(_cases(super().loadTestsFromModule(module, *arguments, **kwargs)))
        first = int(os.environ.get("TEST_SHARD_INDEX") or 0)
        return self.suiteClass(cases[first::int(os.environ.get("TEST_TOTAL_SHARDS") or 1)])


def _cases(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _cases(test)
        else:
            yield test


def main():
    program = unittest.main(module="__main__", exit=False, testLoader=_ShardLoader(),
                            testRunner=unittest.TextTestRunner(
                                resultclass=_Result, verbosity=2, stream=sys.stdout))
    path = os.environ.get("XML_OUTPUT_FILE")
    if path:
        ElementTree.ElementTree(program.result.suite).write(path, encoding="unicode")
    sys.exit(0 if program.result.wasSuccessful() else 1)
