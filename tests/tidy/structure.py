"""Rules for the shape of the C++ sources: sizes, dependencies, cycles, namespaces, and what pure folders may use."""

import collections
import csv
import io
import re
import subprocess
import sys

from findings import Finding

_FOLDER_CALL = re.compile(r"longshore_folder\(([^)]*)\)")
_OF_EVERY_TEST = {"tests_gtest_main", "tests_seeds", "tests_source_tree"}  # longshore_folder() links it with each test program.
_THREADED_FILE = "cmake/Longshore.cmake"
_THREADED_LIST = re.compile(r"set\(LONGSHORE_THREADED\s+([^)]*)\)")
_THREADS = re.compile(r"std::(jthread|thread|async|mutex|shared_mutex|recursive_mutex|condition_variable\w*|atomic)\b")
_NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.MULTILINE)


def check_functions(root, sources, limits):
    """Functions have at most `function_lines` lines; tables and other exceptions are in `function_exceptions`."""
    shipped = [source.path for source in sources if not source.is_test]
    if not shipped:
        return
    command = [sys.executable, "-m", "lizard", "-t2", "-l", "cpp", "--csv", "-f", "/dev/stdin"]
    listed = subprocess.run(command, cwd=root, input="\n".join(shipped), capture_output=True, text=True, check=True)
    for row in csv.reader(io.StringIO(listed.stdout)):
        length, path, name, line = int(row[4]), row[6], row[7], int(row[9])
        if length > limits["function_lines"] and name.split("::")[-1] not in limits["function_exceptions"]:
            yield Finding(
                path,
                line,
                f"{name} has {length} lines; the limit is {limits['function_lines']}",
                "split it into functions that can be understood separately",
            )


def check_files(sources, limits):
    for source in sources:
        lines = source.content.count("\n")
        limit = limits["test_file_lines" if source.is_test else "file_lines"]
        if lines > limit:
            yield Finding(
                source.path,
                0,
                f"{lines} lines; the limit is {limit}",
                "move one concept into its own pair of files",
            )


def check_folders(sources, limits):
    """Folders have at most `folder_sources` .cc files, without tests."""
    counts = collections.Counter(
        source.folder for source in sources if source.path.endswith(".cc") and not source.is_test
    )
    for folder, count in sorted(counts.items()):
        limit = limits["folder_exceptions"].get(folder, limits["folder_sources"])
        if count > limit:
            yield Finding(folder, 0, f"{count} sources; the limit is {limit}", "make subfolders by topic")


def declared_dependencies(root, folders):
    """Returns folder -> (the targets that its sources may use, the targets that its tests may use)."""
    declared = {}
    for folder in folders:
        path = root / folder / "CMakeLists.txt"
        call = _FOLDER_CALL.search(path.read_text(encoding="utf-8")) if path.exists() else None
        if call is None:
            continue
        lists = {"DEPS": [], "TEST_DEPS": []}
        into = None
        for word in call[1].split():
            if word in ("DEPS", "TEST_DEPS", "TEST_INSIDE"):
                into = lists.get(word)
            elif into is not None:
                into.append(word)
        declared[folder] = (set(lists["DEPS"]), {*lists["DEPS"], *lists["TEST_DEPS"], *_OF_EVERY_TEST})
    return declared


def test_paths(sources):
    """The test sources, and the headers that nothing but tests includes."""
    includers = collections.defaultdict(set)
    for source in sources:
        for _, included in source.includes:
            includers[included].add(source.path)
    found = {source.path for source in sources if source.is_test}
    while True:
        headers = {path for path, by in includers.items() if by <= found} - found
        if not headers:
            return found
        found |= headers


def target_of(folder):
    return re.sub(r"[/-]", "_", folder)


def check_declared(root, sources):
    """A source includes headers only of folders that its CMakeLists.txt names."""
    declared = declared_dependencies(root, {source.folder for source in sources})
    tests = test_paths(sources)
    for source in sources:
        if source.folder not in declared or source.path.endswith("/main.cc"):
            continue
        is_test = source.path in tests
        allowed = declared[source.folder][1 if is_test else 0]
        for line, included in source.includes:
            folder = included.rpartition("/")[0]
            if folder == source.folder or folder not in declared or target_of(folder) in allowed:
                continue
            where = "TEST_DEPS" if is_test else "DEPS"
            yield Finding(
                source.path,
                line,
                f"includes {included}, but {source.folder}/CMakeLists.txt does not name {target_of(folder)}",
                f"add {target_of(folder)} to {where}, or remove the include",
            )


def strongly_connected(graph):
    """Returns the groups of two or more nodes that reach each other. Tarjan's algorithm without recursion."""
    index, low, on_stack, stack, groups = {}, {}, set(), [], []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, edges = work[-1]
            following = next((edge for edge in edges if edge not in index or edge in on_stack), None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = set()
                    while node not in group:
                        group.add(stack.pop())
                    on_stack -= group
                    groups.append(group)
            elif following in index:
                low[node] = min(low[node], index[following])
            else:
                index[following] = low[following] = len(index)
                stack.append(following)
                on_stack.add(following)
                work.append((following, iter(graph[following])))
    return sorted((sorted(group) for group in groups if len(group) > 1), key=lambda group: (-len(group), group))


def _cycles(sources, key):
    known = {source.path: key(source) for source in sources}
    graph = collections.defaultdict(set)
    for source in sources:
        graph[key(source)].update(
            known[included] for _, included in source.includes if included in known and known[included] != key(source)
        )
    return strongly_connected({node: sorted(edges) for node, edges in graph.items()})


def check_cycles(sources, limits):
    """Folders must not include each other in a cycle. Components (x.h with x.cc) may have at most `component_cycles` cycles."""
    shipped = [source for source in sources if not source.is_test and not source.path.startswith("tests/")]
    for group in _cycles(shipped, lambda source: source.folder):
        yield Finding(group[0], 0, f"folders include each other: {', '.join(group)}", "move what they share below both")
    groups = _cycles(shipped, lambda source: source.component)
    if len(groups) > limits["component_cycles"]:
        for group in groups:
            yield Finding(
                group[0] + ".h",
                0,
                f"components include each other: {', '.join(group)} ({len(groups)} such groups; the limit is "
                f"{limits['component_cycles']})",
                "move the types that both need into a separate header",
            )


def check_namespaces(sources, limits):
    """The namespace of a file is the path of its folder below the program's folder, without the names of groups."""
    groups = set(limits["namespace_groups"])
    for source in sources:
        parts = source.folder.split("/")
        names = [name for depth, name in enumerate(parts) if depth > 0 and "/".join(parts[: depth + 1]) not in groups]
        expected = "::".join(["longshore", *names]).replace("-", "_")
        allowed = {expected, *limits["namespace_exceptions"].get(source.folder, [])}
        match = _NAMESPACE.search(source.content)
        if match and not any(match[1] == name or match[1].startswith(name + "::") for name in allowed):
            yield Finding(
                source.path,
                source.line_of(match.start()),
                f"namespace {match[1]} in folder {source.folder}",
                f"name it {expected}",
            )


def check_threaded(root, sources):
    """The tests of folders that use threads are on the list of those that run under the thread sanitizer."""
    definition = _THREADED_LIST.search((root / _THREADED_FILE).read_text(encoding="utf-8"))
    listed = set(definition[1].split())
    tested = {source.folder for source in sources if source.is_test}
    for folder in sorted(listed - tested):
        yield Finding(_THREADED_FILE, 0, f"LONGSHORE_THREADED has {folder}, which has no unit tests", f"remove {folder}")
    found = set()
    for source in sources:
        folder = source.folder
        if source.is_test or folder.startswith("tests") or folder not in tested - listed - found:
            continue
        for number, line in enumerate(source.content.split("\n"), 1):
            match = _THREADS.search(line.split("//")[0])
            if match:
                found.add(folder)
                yield Finding(
                    source.path,
                    number,
                    f"{match[0]} in a folder whose tests do not run under the thread sanitizer",
                    f"add {folder} to LONGSHORE_THREADED in {_THREADED_FILE}",
                )
                break


def check_pure(sources, limits):
    """Pure folders decide: they do not read clocks, files or the environment, start threads, lock or log."""
    banned = re.compile(limits["banned_in_pure"])
    for source in sources:
        if source.folder not in limits["pure_folders"] or source.is_test:
            continue
        for number, line in enumerate(source.content.split("\n"), 1):
            match = banned.search(line.split("//")[0])
            if match:
                yield Finding(
                    source.path,
                    number,
                    f"{match[0]} in a pure folder",
                    "take the value as an argument; the caller reads clocks, files and the environment",
                )
