"""A figure as accessible inline SVG, in the font and colours of the page."""

from __future__ import annotations

import hashlib
import io
import re
import warnings
import xml.etree.ElementTree as ElementTree

from matplotlib import rc_context
from matplotlib.figure import Figure

from reticent.plots.style import PAGE_COLOURS, STYLE, SYSTEM_FONTS
from reticent.plots.text import readable


def svg(figure: Figure, alt: str, *, key: str = "") -> str:
    """Return the figure as one inline `<svg>` element: `alt` is its title, its ink the page's colour.

    The element scales with its container. Its ids are made from its content and `key`, so that
    many may share a page.

    >>> from reticent.plots import shares
    >>> svg(shares(["a<b"], [1.0], [0.9], [1.0]), "All said a").startswith("<svg")
    True
    """
    stream = io.BytesIO()
    with rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # the reader's fonts draw it, not ours
        figure.savefig(
            stream,
            format="svg",
            transparent=True,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    drawn = ElementTree.fromstring(stream.getvalue())  # our own output, not input
    _, _, width, height = (float(v) for v in drawn.get("viewBox", "0 0 1 1").split())
    name = "f" + hashlib.sha256(stream.getvalue() + key.encode()).hexdigest()[:10]
    uses = {v[1:] for e in drawn.iter() for k, v in e.items() if k.endswith("href")}
    uses |= {m for e in drawn.iter() for v in e.attrib.values() for m in re.findall(r"url\(#([^)]+)\)", v)}
    for parent in list(drawn.iter()):
        for child in list(parent):
            if child.tag.endswith(("metadata", "}style")):
                parent.remove(child)
    for element in drawn.iter():
        element.tag = element.tag.partition("}")[2] or element.tag
        element.attrib.update(page_attributes(element, name, uses))
        for unwanted in [k for k, v in element.items() if not v or k.startswith("{")]:
            del element.attrib[unwanted]
        if element.tag != "text" and element.text and not element.text.strip():
            element.text = None
        element.tail = None
    drawn.attrib.clear()
    drawn.attrib.update(
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {width:g} {height:g}",
            "role": "img",
            "preserveAspectRatio": "xMinYMin",
            "aria-labelledby": name,
            "style": f"width: 100%; height: auto; font-family: {SYSTEM_FONTS}",
            "stroke-linejoin": "round",
        }
    )
    title = ElementTree.Element("title", {"id": name})
    title.text = readable(alt)
    drawn.insert(0, title)
    return ElementTree.tostring(drawn, encoding="unicode")


def page_attributes(element: ElementTree.Element, name: str, uses: set[str]) -> dict[str, str]:
    """Return an element's attributes for a page: own ids, the page's colours and font, no namespaces."""
    new: dict[str, str] = {}
    for full, value in element.items():
        plain = full.partition("}")[2] or full
        if plain == "id":
            value = f"{name}-{value}" if value in uses else ""
        elif plain == "href":
            value = f"#{name}-{value[1:]}"
        elif plain == "style":
            value = re.sub(r"font-family: [^;]*;? ?", "", value)
            for colour, custom in PAGE_COLOURS.items():
                value = value.replace(colour, custom)
        elif plain == "transform":
            value = "" if value.startswith("rotate(-0 ") else value
        elif plain == "d":
            value = " ".join(value.split())
        value = re.sub(r"url\(#", f"url(#{name}-", value)
        new[plain] = value
    return new
