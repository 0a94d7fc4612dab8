"""What the verbs that talk to a server say themselves; sentences about decisions are in `reprieve.texts`."""

from collections.abc import Sequence

from reprieve.texts.parts import count

START_ONE = "start one with `reprieve up`, or name one with --server URL"
NO_SERVER = f"no control plane runs on this machine; {START_ONE}"
NOTHING_TO_APPLY = "the files hold no objects"
NO_EVENTS = "No events found."
NOTHING_NAMED = "nothing is named: say a kind and names, or files with -f"
MIXED_FORMS = "KIND/NAME cannot be mixed with other words: write either `pods a b` or `pod/a job/b`"
KINDS_OR_PATH = "say which kinds, such as `pods`; or with --raw a path of the server that begins with /"
ONE_KIND_TO_WATCH = "--watch follows one kind at a time"
CHANGE_OR_UNIT = "--for decides for one unit, --change and --delete compare all of them: give one or the other"
FILES_OR_LIVE = "nothing to decide over: give files with -f, or --live for what the control plane has"
SETTINGS_OF_THE_SERVER = "a server decides by its own settings: leave out --config and --feature-gates"
FILES_ONLY = "--now, --config and --feature-gates are for files: what a server decided is history"
NO_STRUCTURE = "-o json and yaml are for what a server answers; for files, `reprieve plan -o json` says it all"
ONE_OF_ATTEMPTS = "only one of --previous, --attempt and --all can be given"
OVER_AND_FOLLOWED = "--attempt and --all show what is kept: it cannot be followed"
NO_UID_IN_FILES = "--uid is for what a server remembers: in files there is one object of a name"
WHICH_UNIT = "say which unit: KIND/NAMESPACE/NAME, such as pod/default/a"
NAME_OR_SELECTOR = "names cannot be given together with -l or --all"
WHICH_ONES = "say which: names, -l SELECTOR, or --all for all of them"
TABLE_OR_JSON = "top prints tables, or with -o json their cells; --watch only tables"
QUEUES_OF_FILES = "-f is for `top queues`, over files alone: what else is there, a control plane or a cluster tells"
LOCAL_QUEUES_TOO = "there are LocalQueues, too: `reprieve get localqueues`"
PENDING = "waits for room"
QUEUED = "waits in its queue"
NO_COMMAND = "no command is given: write it behind `--`, such as `reprieve submit -- python train.py`"
NOT_BOTH = "--token-file and --insecure-no-token cannot be given together"
NOBODY_ASKED = "no token is wanted: every user and every program of this machine may do what its owner may"
GANG_OF_ONE = "--gang needs --replicas 2 or more: one pod is whole by itself"


TYPING = "reading from the keyboard; end with Ctrl-D, or stop with Ctrl-C"
_MB = 1_000_000


def reading(name: str, done: int, total: int) -> str:
    if total:
        return f"reading {name}: {done / _MB:.0f} of {total / _MB:.0f} MB"
    return f"reading {name}: {done / _MB:.1f} MB so far" if done else f"reading {name}: nothing has come yet"


def working(objects: int) -> str:
    return f"{objects} objects are read; working on them"


def parsing(name: str, done: int, total: int) -> str:
    return f"parsing {name}: {100 * done // max(total, 1)}%"


def no_gangs(gate: str) -> str:
    return (
        f"--gang: this control plane starts pods one by one, because the feature gate {gate} is off; "
        f"`reprieve up --feature-gates {gate}=true` turns it on"
    )


def unreachable(error: str) -> str:
    return f"{error}; {START_ONE}"


def somebody_elses(url: str) -> str:
    return f"{url} is a program of another user, which is not told your token; to tell it anyhow: --token TOKEN"


def bad_server(text: str) -> str:
    return f"--server: '{text}' is no address such as http://127.0.0.1:7410"


def unknown_kind(word: str, near: str) -> str:
    return f"'{word}' is not a kind that is stored" + (f"; did you mean '{near}'?" if near else "")


def no_such(what: str, text: str, right: str) -> str:
    return f"{what}: '{text}' cannot be used; {right}"


def no_such_amount(option: str, text: str, problem: str) -> str:
    return f"{option}: '{text}': {problem}"


def unusable(path: str, error: Exception) -> str:
    return f"{path}: {getattr(error, 'strerror', None) or error}"


def none_found(namespace: str) -> str:
    return f"No resources found in {namespace} namespace." if namespace else "No resources found."


def ignored_kind(name: str) -> str:
    return f"{name} is not a kind that is stored; nothing was changed"


def needs_a_name(kind: str, base: str) -> str:
    """For what would be made anew each time."""
    return f"{kind} has generateName {base} and no name: give it one, or it would be another one each time"


def queue_file(file: str) -> str:
    return f"{file}: a queue configuration is applied inside a ConfigMap, as its data of the name queues.yaml"


def other_namespace(kind: str, name: str, own: str, asked: str) -> str:
    return f"{kind} {name} says namespace {own}, and the command says {asked}"


def waiting_for_deletion(left: Sequence[str]) -> str:
    return f"waiting for {left[0]} to go" + (f", and {len(left) - 1} more" if len(left) > 1 else "")


def still_there(names: Sequence[str], seconds: float) -> str:
    return f"still there after {seconds:g} seconds: {', '.join(names)}"


def several_pods(number: int, chosen: str) -> str:
    return f"There are {number} pods; this is {chosen}."


def waiting_for_start(pod: str) -> str:
    return f"waiting for {pod} to start"


def no_class(name: str, near: str) -> str:
    hint = f"; did you mean '{near}'?" if near else "; `reprieve get priorityclasses` lists them"
    return f"there is no PriorityClass '{name}'{hint}"


def class_differs(name: str, found: int, wanted: int) -> str:
    return f"PriorityClass '{name}' has the value {found}, not {wanted}: name another one"


def running(ready: int, succeeded: int, wanted: int) -> str:
    if not ready and not succeeded:
        return PENDING
    return f"{ready} running, {succeeded} of {wanted} done"


def none_of(name: str) -> str:
    if name == "queueTree":
        return "No queues are configured."
    return "Nothing waits." if name == "waiting" else f"There are no {name}."


def no_queue_of(name: str, known: Sequence[str]) -> str:
    return f"there is no queue {name}; there are {', '.join(known)}"


def is_parent_queue(name: str, leaves: Sequence[str]) -> str:
    below = f"pods belong in one below it: {', '.join(leaves)}" if leaves else "there is no queue for pods below it"
    return f"--queue: {name} is a parent queue; {below}"


def no_queue_to_wait_in(name: str, leaves: Sequence[str], local: Sequence[str], namespace: str) -> str:
    known = [f"there are {', '.join(leaves)}"] if leaves else []
    known += [f"{'and ' if leaves else 'there are '}the LocalQueues {', '.join(local)} in {namespace}"] if local else []
    return f"--queue: there is no queue {name}; {', '.join(known)}"


def job_failed(name: str, why: str) -> str:
    return f"{name} has failed" + (f": {why}" if why else "")


# reprieve up


def serving(url: str) -> str:
    return f"Reprieve listens on {url}"


def lease_timing(duration: float, deadline: float, retry: float) -> str:
    return (
        "a lease is asked for more often than it may be late, and is late before it runs out: "
        f"--leader-elect-retry-period {retry:g} < --leader-elect-renew-deadline {deadline:g} "
        f"< --leader-elect-lease-duration {duration:g} has to hold"
    )


def for_kubectl(file: str) -> str:
    return f"for kubectl: export KUBECONFIG={file}"


def keeps_data(directory: str) -> str:
    return f"data in {directory}"


def real_node(name: str) -> str:
    return f"node {name}: this machine; what is submitted runs here, as real processes"


def hollow_nodes(names: Sequence[str], amounts: str) -> str:
    shown = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    return f"{count(len(names), 'hollow node')}, {shown}: {amounts} each"


def surplus_kept(names: Sequence[str]) -> str:
    return f"{', '.join(names)} stay{'s' if len(names) == 1 else ''} until the pods there have gone"


def gates_on(names: Sequence[str]) -> str:
    return f"feature gates on: {', '.join(names) or 'none'}"


def gates_off(names: Sequence[str]) -> str:
    return f"feature gates off: {', '.join(names) or 'none'} (--feature-gates NAME=true turns one on)"


def gates_of_the_demo(names: Sequence[str]) -> str:
    return f"turned on for the demonstration: {', '.join(names)}"


IN_MEMORY = "data in memory: it is gone when this stops"
DEMO_OVER = "The demonstration is over; the control plane goes on."
IN_SHADOW = "in shadow: decides and records, and writes nothing"
HOW_TO_STOP = "Ctrl-C stops it; what is stored stays."
HOW_TO_STOP_IN_MEMORY = "Ctrl-C stops it."
HOW_TO_STOP_PROCESSES = "Ctrl-C stops it, and with it what runs here; what is stored stays."
STOPPING = "Stopping ..."
STOPPING_PROCESSES = "Stopping: what runs here gets a few seconds to end; Ctrl-C again stops at once."
STOPPED = "Stopped."
STOPPED_AT_ONCE = "Stopped at once."


def found_elsewhere(url: str, own: str) -> str:
    return f"other commands find {url} by default; for this one say --server {own}"


def more_decisions(number: int) -> str:
    return f"and {count(number, 'more decision')}"


def how_it_stands(running: int, waiting: int, leaving: int) -> str:
    return f"{running} running, {waiting} waiting, {leaving} leaving"
