"""The bytes of every generated file, from the templates beside this module."""

from __future__ import annotations

import functools
import json
import os

from slipway_lite.hosts.registry import CAPABILITIES, GeneratedFile, Host, generated_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    import jinja2

_DESCRIPTIONS = dict(CAPABILITIES)


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(os.path.join(os.path.dirname(__file__), "templates")),
        autoescape=False,  # Markdown, YAML and JSON for local files; nothing of it is served as HTML
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # A JSON string is also a double-quoted YAML scalar; the built-in `tojson` would escape for HTML.
    environment.filters["quoted"] = lambda text: json.dumps(text, ensure_ascii=False)
    return environment


def rendered(host: Host, surface: str) -> dict[str, bytes]:
    """Path and content of everything generated for ``host``, in the order of :func:`generated_files`."""
    return {file.path: _render(host, file) for file in generated_files(host, surface)}


def _render(host: Host, file: GeneratedFile) -> bytes:
    text = (
        _environment()
        .get_template(file.template)
        .render(
            capability=file.capability,
            description=_DESCRIPTIONS[file.capability],
            body=host.body.format(capability=file.capability) if host.body else None,
        )
    )
    return text.encode()
