# SPDX-License-Identifier: Apache-2.0
"""Makes pages of the repository's files outside of docs/ that pages link to.

A page may link to a README or a source file beside docs/, as it would on a forge. The site has no
forge behind it and opens without a network, so MkDocs calls these hooks, which put such a file into
the site, under `source/`: a Markdown file as it is, any other text as a listing. The files that a
Markdown file links to follow.
"""

import os
import posixpath
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

# [text](target#anchor), with an anchor or without; the end of a picture looks the same.
LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?(\))")
LANGUAGES = {".py": "python", ".pyi": "python", ".proto": "protobuf", ".p4": "c", ".rs": "rust"}
FOLDER = "source"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds a page for each file outside of docs/ that a page, or an added page, links to."""
    repository = Path(config.config_file_path).parent
    waiting = [
        (_place(file.src_uri), file.content_string)
        for file in list(files)
        if file.is_documentation_page()
    ]
    seen: set[str] = set()
    while waiting:
        place, text = waiting.pop()
        for target in _outside(place, text):
            path = repository / target
            if target in seen or not path.is_file():
                continue
            seen.add(target)
            content = path.read_text("utf-8")
            if path.suffix == ".md":
                waiting.append((target, content))
            else:
                content = _listing(target, content)
            page = File.generated(
                config, _page(target), content=content, inclusion=InclusionLevel.NOT_IN_NAV
            )
            files.append(page)
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Returns the page's text with its links to files outside of docs/ leading to their pages."""
    here = page.file.src_uri
    place = _place(here)

    def rewritten(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(place), match[2]))
        uri = target.removeprefix("docs/") if target.startswith("docs/") else _page(target)
        if files.get_file_from_path(uri) is None:
            return match[0]  # MkDocs says what is wrong with it
        link = os.path.relpath(uri, posixpath.dirname(here) or ".")
        return f"{match[1]}{link}{match[3] or ''}{match[4]}"

    if place.startswith("docs/") and not any(_outside(place, markdown)):
        return markdown
    return LINK.sub(rewritten, markdown)


def _place(uri: str) -> str:
    """Returns where in the repository the page's text stands."""
    if uri.startswith(FOLDER + "/"):
        return uri.removeprefix(FOLDER + "/").removesuffix(".listing.md")
    return f"docs/{uri}"


def _page(target: str) -> str:
    """Returns the page's address in the site of a file of the repository."""
    return f"{FOLDER}/{target}" if target.endswith(".md") else f"{FOLDER}/{target}.listing.md"


def _outside(place: str, text: str) -> list[str]:
    """Returns the files outside of docs/, from the repository's root, that the text links to."""
    folder = posixpath.dirname(place)
    targets = (posixpath.normpath(posixpath.join(folder, link[2])) for link in LINK.finditer(text))
    return [target for target in targets if not target.startswith(("docs/", "../", "/"))]


def _listing(target: str, content: str) -> str:
    language = LANGUAGES.get(PurePosixPath(target).suffix, "")
    # The search is for pages, not for sources.
    return (
        "---\nsearch:\n  exclude: true\n---\n\n"
        f"# {target}\n\n~~~~~~{language}\n{content.rstrip()}\n~~~~~~\n"
    )
