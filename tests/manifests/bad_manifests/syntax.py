"""What is no YAML or JSON at all."""

from __future__ import annotations

from tests.manifests.bad_manifests import Case

BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))


def documents_with_anchors() -> str:
    """Two pods; the second has its labels and its containers from the first."""
    return """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: a, labels: &labels {app: yes}}
  spec: &spec
    containers:
    - name: c
      image: off
- apiVersion: v1
  kind: Pod
  metadata: {name: b, labels: *labels}
  spec: {<<: *spec, priority: 0}
"""


CASES = [
    Case(
        "a tab indents a line",
        "apiVersion: v1\nkind: Pod\nmetadata:\n\tname: a\n",
        want="""
        error: bad.yaml: document 1, line 4: not YAML: while scanning for the next token, found character that
            cannot start any token; indent with spaces, and put text that starts with a special character in quotes
        """,
    ),
    Case(
        "a tab after a value",
        "a: b\n\tc: d\n",
        want="""
        error: bad.yaml: document 1, line 2: not YAML: while scanning a plain scalar, found a tab character that
            violates indentation; indent with spaces
        """,
    ),
    Case(
        "a key stands twice",
        "kind: Pod\nkind: Node\n",
        want="""
        error: bad.yaml: document 1, line 2: the key "kind" is named twice
        """,
    ),
    Case(
        "a key stands twice, deep inside",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n    app: x\n    app: y\n",
        want="""
        error: bad.yaml: document 1, line 6: the key "app" is named twice
        """,
    ),
    Case(
        "an alias of an anchor that nobody set",
        "spec: *defaults\n",
        want="""
        error: bad.yaml: document 1, line 1: *defaults is no known anchor
        """,
    ),
    Case(
        "mistakes that come by an alias and by a merge key",
        documents_with_anchors(),
        want="""
        error: bad.yaml: document 1, item 1, line 6: Pod/default/a: $.metadata.labels.app: found yes; it must be text;
            put it in quotes
        error: bad.yaml: document 1, item 1, line 10: Pod/default/a: $.spec.containers[0].image: found off; it must be
            text; put it in quotes
        error: bad.yaml: document 1, item 2, line 6: Pod/default/b: $.metadata.labels.app: found yes; it must be text;
            put it in quotes
        error: bad.yaml: document 1, item 2, line 10: Pod/default/b: $.spec.containers[0].image: found off; it must be
            text; put it in quotes
        """,
    ),
    Case(
        "an anchor that contains itself",
        "spec: &spec\n  template: *spec\n",
        want="""
        error: bad.yaml: document 1, line 2: *spec refers to itself
        """,
    ),
    Case(
        "aliases that would unfold to a hundred million values",
        BOMB,
        want="""
        error: bad.yaml: document 1, line 8: its aliases unfold to more than five million values
        """,
    ),
    Case(
        "lists nested deeper than any manifest",
        "spec: " + "[" * 500,
        want="""
        error: bad.yaml: document 1, line 1: nested more than 200 levels deep
        """,
    ),
    Case(
        "objects nested deeper than any manifest, in JSON",
        '{"spec": ' * 5000,
        want="""
        error: bad.json: document 1: nested too deeply
        """,
        file="bad.json",
    ),
    Case(
        "a JSON field that is nested too deeply beside one that is wrong",
        '{"apiVersion": "v1", "kind": "Node", "spec": {"taints": 5, "x": ' + "[" * 900 + "]" * 900 + "}}",
        want="""
        warning: bad.json: document 1, line 1: Node: $.spec.x: unknown field
        error: bad.json: document 1, line 1: nested too deeply
        """,
        file="bad.json",
    ),
    Case(
        "bytes that are not UTF-8",
        b"kind: Pod\nmetadata:\n  name: \xff\xfe\n",
        want="""
        error: bad.yaml, line 3: not UTF-8 text
        """,
    ),
    Case(
        "a control character",
        "kind: Pod\nname: a\x07b\n",
        want="""
        error: bad.yaml: document 1, line 2: not YAML: control characters are not allowed: '\\x07'
        """,
    ),
    Case(
        "text with a colon that is not in quotes",
        "description: value: 5\n",
        want="""
        error: bad.yaml: document 1, line 1: not YAML: mapping values are not allowed in this context; indent
            evenly, and put text with a colon in quotes
        """,
    ),
    Case(
        "quotes that are never closed",
        'kind: "Pod\nmetadata: {name: a}\n',
        want="""
        error: bad.yaml: document 1, line 3: not YAML: while scanning a quoted scalar, found unexpected end of
            stream; close the quotes
        """,
    ),
    Case(
        "a bracket that is never closed",
        "spec: {containers: [{name: c}\n",
        want="""
        error: bad.yaml: document 1, line 2: not YAML: while parsing a flow sequence, did not find expected ',' or
            ']'; close every [ and {, with commas between
        """,
    ),
    Case(
        "lines that are indented unevenly",
        "metadata:\n    name: a\n  labels: {}\n",
        want="""
        error: bad.yaml: document 1, line 3: not YAML: while parsing a block mapping, did not find expected key;
            indent evenly
        """,
    ),
    Case(
        "a list that goes on as an object",
        "- a\nb: c\n",
        want="""
        error: bad.yaml: document 1, line 2: not YAML: while parsing a block collection, did not find expected '-'
            indicator; indent evenly
        """,
    ),
    Case(
        "a value that starts with a special character",
        "image: @latest\n",
        want="""
        error: bad.yaml: document 1, line 1: not YAML: while scanning for the next token, found character that
            cannot start any token; indent with spaces, and put text that starts with a special character in quotes
        """,
    ),
    Case(
        "a tag that would make a Python object",
        "kind: !!python/object:os.system x\n",
        want="""
        error: bad.yaml: document 1, line 1: the tag tag:yaml.org,2002:python/object:os.system means nothing here
        """,
    ),
    Case(
        "a key that is a list",
        "? [a, b]\n: c\n",
        want="""
        error: bad.yaml: document 1, line 1: a key must be text
        """,
    ),
    Case(
        "a merge of what is no object",
        "<<: 5\nkind: Pod\n",
        want="""
        error: bad.yaml: document 1, line 1: << merges objects only
        """,
    ),
    Case(
        "a JSON object that ends early",
        '{"apiVersion": "v1",\n "kind": "Pod"',
        want="""
        error: bad.json: document 1, line 2: not JSON: Expecting ',' delimiter
        """,
        file="bad.json",
    ),
    Case(
        "a comma too many in JSON",
        '{"apiVersion": "v1",\n}',
        want="""
        error: bad.json: document 1, line 2: not JSON: Expecting property name enclosed in double quotes
        """,
        file="bad.json",
    ),
    Case(
        "JSON with single quotes",
        "{'kind': 'Pod'}",
        want="""
        error: bad.json: document 1, line 1: not JSON: Expecting property name enclosed in double quotes
        """,
        file="bad.json",
    ),
    Case(
        "a number that JSON does not have",
        '{"apiVersion": "v1", "kind": "Pod", "priority": NaN}',
        want="""
        error: bad.json: document 1: not JSON: NaN is no number
        """,
        file="bad.json",
    ),
    Case(
        "half of a surrogate pair in JSON",
        '{"apiVersion": "v1", "kind": "\\ud800"}',
        want="""
        error: bad.json: document 1, line 1: not JSON: text that is not UTF-8, or half of a surrogate pair
        """,
        file="bad.json",
    ),
    Case(
        "something after the JSON object",
        '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}\nthe end',
        want="""
        error: bad.json: document 2, line 2: not JSON: Expecting value
        """,
        file="bad.json",
    ),
]
