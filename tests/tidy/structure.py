"""Rules for the shape of the C++ sources: sizes, dependencies, cycles, namespaces, and what pure folders may use."""

import collections
import csv
import dataclasses
import io
import re
import subprocess
import sys

from findings import Finding
from sources import is_script

_CALL = re.compile(r"^longshore_(folder|program|fuzzer)\(([^)]*)\)", re.MULTILINE)
_KEYWORDS = ("DEPS", "TEST_DEPS", "TEST_INSIDE", "SEPARATE", "MORE")
_OF_EVERY_TEST = {"tests_gtest_main", "tests_seeds", "tests_source_tree"}  # longshore_folder() links it with each test program.
_OF_EVERY_FUZZER = {"common_base", "common_os", "tests_source_tree"}  # longshore_fuzzer() links them.
_THREADED_FILE = "cmake/Longshore.cmake"
_THREADED_LISTS = re.compile(r"^set\((LONGSHORE_THREADED(?:_SHORT)?)\s+([^)]*)\)", re.MULTILINE)
_THREADS = re.compile(
    r"std::(?:jthread|thread|async|(?:recursive_|shared_|timed_)*mutex|condition_variable\w*|atomic\w*|call_once|once_flag"
    r"|counting_semaphore|binary_semaphore|latch|barrier)\b|\bthread_local\b"
)
_PROGRAMS_OF_TESTS = ("tests/load",)  # These are tested like what ships.
_NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.MULTILINE)
_ONLY_DECLARES = re.compile(r"(?=[^;]*;)(?:\s|//[^\n]*|(?:template\s*<[^>]*>\s*)?(?:class|struct|enum class)\s+\w+(?:\s*:\s*\w+)?;)*")


_LIMITS = "tests/tidy/limits.yaml"


def _superfluous(key, entry):
    return Finding(_LIMITS, 0, f"{key} has {entry}, which nothing needs", "remove it")


def check_functions(root, sources, limits):
    """Functions have at most `function_lines` lines; tables and other exceptions are in `function_exceptions`, as PATH:NAME."""
    needed = set()
    shipped = [source.path for source in sources if not source.is_test]
    if not shipped:
        return
    command = [sys.executable, "-m", "lizard", "-t2", "-l", "cpp", "--csv", "-f", "/dev/stdin"]
    listed = subprocess.run(command, cwd=root, input="\n".join(shipped), capture_output=True, text=True, check=True)
    for row in csv.reader(io.StringIO(listed.stdout)):
        length, path, name, line = int(row[4]), row[6], row[7], int(row[9])
        if length <= limits["function_lines"]:
            continue
        exception = f"{path}:{name.split('::')[-1]}"
        needed.add(exception)
        if exception not in limits["function_exceptions"]:
            yield Finding(
                path,
                line,
                f"{name} has {length} lines; the limit is {limits['function_lines']}",
                "split it into functions that can be understood separately",
            )
    for exception in limits["function_exceptions"]:
        path = exception.partition(":")[0]
        if exception not in needed and (path in shipped or not (root / path).exists()):
            yield _superfluous("function_exceptions", exception)


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


def check_scripts(root, paths, limits):
    """Python and shell files have at most `script_lines` lines."""
    for path in paths:
        if not is_script(root, path):
            continue
        lines = (root / path).read_text(encoding="utf-8").count("\n")
        if lines > limits["script_lines"]:
            problem = f"{lines} lines; the limit is {limits['script_lines']}"
            yield Finding(path, 0, problem, "move one topic into a file of its own")


def check_script_limit(root, everything, limits):
    """`script_lines` may only fall: it is the length of the longest script, rounded up to ten."""
    longest = max((root / path).read_text(encoding="utf-8").count("\n") for path in everything if is_script(root, path))
    wanted = -(-longest // 10) * 10
    if wanted < limits["script_lines"]:
        yield Finding(_LIMITS, 0, f"script_lines is {limits['script_lines']}, but the longest script has {longest} lines", f"write {wanted}")


def check_folders(sources, limits):
    """Folders have at most `folder_sources` .cc files, without tests."""
    counts = collections.Counter(
        source.folder for source in sources if source.path.endswith(".cc") and not source.is_test
    )
    for folder, count in sorted(counts.items()):
        if count > limits["folder_sources"]:
            yield Finding(folder, 0, f"{count} sources; the limit is {limits['folder_sources']}", "make subfolders by topic")


@dataclasses.dataclass(frozen=True)
class Call:
    """A call of longshore_folder(), longshore_program() or longshore_fuzzer(): its words by keyword, each with its line."""

    function: str
    name: str
    words: dict

    def targets(self, *keywords):
        return {word for keyword in keywords for word, _ in self.words.get(keyword, [])}


def calls(root, folder):
    path = root / folder / "CMakeLists.txt"
    content = path.read_text(encoding="utf-8") if path.exists() else ""
    found = []
    for match in _CALL.finditer(content):
        words = {}
        keyword = "NAME"
        for word in re.finditer(r"\S+", match[2]):
            if word[0] in _KEYWORDS:
                keyword = word[0]
            else:
                line = content.count("\n", 0, match.start(2) + word.start()) + 1
                words.setdefault(keyword, []).append((word[0], line))
        found.append(Call(match[1], words.get("NAME", [("", 0)])[0][0], words))
    return found


@dataclasses.dataclass(frozen=True)
class Declared:
    """The targets that the CMakeLists.txt of a folder names, by the sources that may use them."""

    sources: frozenset
    tests: frozenset
    programs: frozenset  # main.cc
    fuzzers: dict  # The path of a fuzzer's source -> its targets.

    def allowed(self, path, is_test):
        if path in self.fuzzers:
            return self.fuzzers[path]
        if path.endswith("/main.cc"):
            return self.programs
        return self.tests if is_test else self.sources


def declared_dependencies(root, folders):
    """Returns folder -> Declared, for folders that are a library or have fuzzers."""
    declared = {}
    for folder in folders:
        found = calls(root, folder)
        own = next((call for call in found if call.function == "folder"), None)
        fuzzers = {
            f"{folder}/{call.name}_fuzz.cc": call.targets("DEPS") | _OF_EVERY_FUZZER for call in found if call.function == "fuzzer"
        }
        if own is None and not fuzzers:
            continue
        deps = own.targets("DEPS") if own else set()
        programs = [call.targets("DEPS") for call in found if call.function == "program"]
        declared[folder] = Declared(
            frozenset(deps),
            frozenset(deps | (own.targets("TEST_DEPS") if own else set()) | _OF_EVERY_TEST),
            frozenset(deps.union(*programs)),
            fuzzers,
        )
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
    """A source includes headers only of folders that its CMakeLists.txt names; main.cc and fuzzers too."""
    declared = declared_dependencies(root, {source.folder for source in sources})
    tests = test_paths(sources)
    for source in sources:
        if source.folder not in declared:
            continue
        has_fuzzers = bool(declared[source.folder].fuzzers)
        if has_fuzzers and source.path not in declared[source.folder].fuzzers:
            continue  # Parts of the driver, and headers that fuzzers share.
        is_test = source.path in tests
        allowed = declared[source.folder].allowed(source.path, is_test)
        for line, included in source.includes:
            folder = included.rpartition("/")[0]
            if folder == source.folder or folder not in declared or target_of(folder) in allowed:
                continue
            where = "TEST_DEPS" if is_test and not has_fuzzers else "DEPS"
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
    """Returns the cycles, each with the includes that close it: (names, [(path, line, included)])."""
    known = {source.path: key(source) for source in sources}
    graph = {key(source): set() for source in sources}
    includes = collections.defaultdict(list)
    for source in sources:
        for line, included in source.includes:
            edge = (key(source), known.get(included))
            if edge[1] is not None and edge[0] != edge[1]:
                graph[edge[0]].add(edge[1])
                includes[edge].append((source.path, line, included))
    for group in strongly_connected({node: sorted(edges) for node, edges in graph.items()}):
        inside = (places for (start, end), places in sorted(includes.items()) if start in group and end in group)
        yield group, [place for places in inside for place in places]


def check_cycles(sources, limits):
    """Folders must not include each other in a cycle. Components (x.h with x.cc) may have at most `component_cycles` cycles.

    Each include inside a cycle is a finding: removing some of them breaks it.
    """
    shipped = [source for source in sources if not source.is_test and not source.path.startswith("tests/")]
    for group, includes in _cycles(shipped, lambda source: source.folder):
        for path, line, included in includes:
            problem = f"includes {included}; folders include each other: {', '.join(group)}"
            yield Finding(path, line, problem, "move what both folders need into a folder below them")
    cycles = list(_cycles(shipped, lambda source: source.component))
    if len(cycles) <= limits["component_cycles"]:
        return
    for group, includes in cycles:
        for path, line, included in includes:
            yield Finding(
                path,
                line,
                f"includes {included}; components include each other: {', '.join(group)} ({len(cycles)} such groups; "
                f"the limit is {limits['component_cycles']})",
                "move the types that both need into a separate header",
            )


def namespaces(source):
    """Returns pairs of offset and name of each namespace at the left margin that defines something.

    A block that only declares types of another library or folder belongs to them: `namespace CLI { class App; }`.
    """
    found = []
    for match in _NAMESPACE.finditer(source.content):
        end = source.content.find(f"}}  // namespace {match[1]}\n", match.end())
        body = source.content[match.end() : end] if end >= 0 else source.content[match.end() :].partition("}")[0]
        if not _ONLY_DECLARES.fullmatch(body):
            found.append((match.start(), match[1]))
    return found


def _expected_namespace(folder, groups):
    parts = folder.split("/")
    names = [name for depth, name in enumerate(parts) if depth > 0 and "/".join(parts[: depth + 1]) not in groups]
    return "::".join(["longshore", *names]).replace("-", "_")


def _is_inside(name, namespace):
    return name == namespace or name.startswith(namespace + "::")


def check_namespaces(sources, limits):
    """The namespaces of a file are the path of its folder below the program's folder, without the names of groups."""
    groups = set(limits["namespace_groups"])
    for source in sources:
        expected = _expected_namespace(source.folder, groups)
        allowed = {expected, *limits["namespace_exceptions"].get(source.folder, [])}
        for start, name in namespaces(source):
            if any(_is_inside(name, other) for other in allowed):
                continue
            problem = f"namespace {name} in folder {source.folder}"
            yield Finding(source.path, source.line_of(start), problem, f"name it {expected}")


def check_exceptions(sources, limits):
    """Each namespace and each file that limits.yaml excepts, and each folder that it names, is needed."""
    groups = set(limits["namespace_groups"])
    used = collections.defaultdict(set)
    for source in sources:
        used[source.folder].update(name for _, name in namespaces(source))
    for group in limits["namespace_groups"]:
        if not any(folder == group or folder.startswith(group + "/") for folder in used):
            yield _superfluous("namespace_groups", group)
    for folder, excepted in limits["namespace_exceptions"].items():
        others = [name for name in used[folder] if not _is_inside(name, _expected_namespace(folder, groups))]
        for namespace in excepted:
            if not any(_is_inside(name, namespace) for name in others):
                yield _superfluous("namespace_exceptions", f"{namespace} for {folder}")
    for folder in limits["pure_folders"]:
        if not used[folder]:
            yield _superfluous("pure_folders", folder)
    banned = re.compile(limits["banned_in_pure"])
    impure = {source.path for source in sources if any(banned.search(line.split("//")[0]) for line in source.content.split("\n"))}
    for path in limits["pure_exceptions"]:
        if path not in impure or path.rpartition("/")[0] not in limits["pure_folders"]:
            yield _superfluous("pure_exceptions", path)


def _first_thread(source):
    """The line number and the text of the first use of threads, or of what threads share; None if there is none."""
    for number, line in enumerate(source.content.split("\n"), 1):
        match = _THREADS.search(line.split("//")[0])
        if match:
            return number, match[0]
    return None


def check_threaded(root, sources):
    """The tests of folders that use threads are on the list of those that run under the thread sanitizer, and no others are."""
    lists = {name: set(folders.split()) for name, folders in _THREADED_LISTS.findall((root / _THREADED_FILE).read_text(encoding="utf-8"))}
    listed, short = lists["LONGSHORE_THREADED"], lists["LONGSHORE_THREADED_SHORT"]
    tested = {source.folder for source in sources if source.is_test}
    threaded = {source.folder for source in sources if _first_thread(source)}
    for folder in sorted(listed - tested):
        yield Finding(_THREADED_FILE, 0, f"LONGSHORE_THREADED has {folder}, which has no unit tests", f"remove {folder}")
    for folder in sorted(listed & tested - threaded):
        yield Finding(_THREADED_FILE, 0, f"LONGSHORE_THREADED has {folder}, which uses no threads", f"remove {folder}")
    for folder in sorted(short - listed):
        yield Finding(_THREADED_FILE, 0, f"LONGSHORE_THREADED_SHORT has {folder}, which LONGSHORE_THREADED has not", f"add {folder} to LONGSHORE_THREADED")
    found = set()
    for source in sources:
        folder = source.folder
        is_exempt = folder.startswith("tests") and folder not in _PROGRAMS_OF_TESTS
        if source.is_test or is_exempt or folder not in tested - listed - found:
            continue
        first = _first_thread(source)
        if first:
            found.add(folder)
            yield Finding(
                source.path,
                first[0],
                f"{first[1]} in a folder whose tests do not run under the thread sanitizer",
                f"add {folder} to LONGSHORE_THREADED in {_THREADED_FILE}",
            )


def check_pure(sources, limits, tests=frozenset()):
    """Pure folders compute: they do not read clocks, files or the environment, start threads, lock or log.

    `tests`: the paths of tests and of their headers, which may.
    """
    banned = re.compile(limits["banned_in_pure"])
    for source in sources:
        if source.folder not in limits["pure_folders"] or source.path in tests or source.path in limits["pure_exceptions"]:
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


def check_pure_links(root, limits):
    """A pure folder links only pure folders and the libraries of `pure_libraries`, so it links nothing that does I/O."""
    allowed = {target_of(folder) for folder in limits["pure_folders"]} | set(limits["pure_libraries"])
    linked = set()
    for folder in limits["pure_folders"]:
        for call in calls(root, folder):
            for target, line in call.words.get("DEPS", []):
                linked.add(target)
                if target not in allowed:
                    yield Finding(
                        f"{folder}/CMakeLists.txt",
                        line,
                        f"the pure folder {folder} links {target}",
                        "move the code that needs it to a folder that calls this one; pure folders are in limits.yaml",
                    )
    for library in limits["pure_libraries"]:
        if library not in linked:
            yield _superfluous("pure_libraries", library)
