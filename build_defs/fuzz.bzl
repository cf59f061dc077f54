"""Fuzz tests: one source, two programs.

By default a fuzz test is an ordinary, deterministic test: it runs its seeds and some thousand
mutations of them (tests/fuzz/seeded_run.cc). With --config=fuzz it is a libFuzzer program with the
address sanitizer, which `bazel test` runs for a minute.
"""

load(":cairn.bzl", "COPTS")

def cairn_fuzz_test(name, mutations = 20000, deps = [], data = []):
    """NAME_fuzz.cc, which defines RunInput of fuzz_target.h, with the seeds in corpus/NAME."""
    corpus = "tests/fuzz/corpus/" + name
    native.cc_test(
        name = name + "_fuzz",
        srcs = [name + "_fuzz.cc"],
        args = select({
            "//build_defs:libfuzzer": [
                "-max_total_time=60",
                "-rss_limit_mb=4096",
                "-timeout=20",
                "-print_final_stats=1",
                corpus,
            ],
            "//conditions:default": [corpus, str(mutations)],
        }),
        copts = COPTS,
        data = data + native.glob(["corpus/" + name + "/*"]),
        linkopts = select({
            "//build_defs:libfuzzer": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        size = "medium",
        deps = deps + [
            "//build_defs:tsan_suppressions",
            ":fuzz_target",
            "//common:check",
        ] + select({
            "//build_defs:libfuzzer": [":libfuzzer_entry"],
            "//conditions:default": [":seeded_run"],
        }),
    )
